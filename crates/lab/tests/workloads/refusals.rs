//! A load that can't be had says why.

use exactop_lab::error::{Error, Refusal};
use exactop_lab::workloads::{PipePingPong, Spin};

#[test]
fn too_many_files() {
    // More than the kernel lets any process have open, whoever asks.
    let error = PipePingPong::start(4_000_000_000).unwrap_err();
    let Error::Refused(Refusal::TooFewFiles { found, needed }) = error else {
        panic!("{error:?}");
    };
    assert!(needed >= 8_000_000_000 && found < needed);
}

#[test]
fn no_such_cpu() {
    let error = Spin::start(1, Some(&[1_000_000])).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::Other(_))), "{error:?}");
}
