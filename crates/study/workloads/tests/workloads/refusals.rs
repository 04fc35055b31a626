//! A load that cannot be started gives the reason.

use exactop_workloads::error::{Error, Refusal};
use exactop_workloads::herd::Wake;
use exactop_workloads::workloads::{Herd, PipePingPong, Spin};

#[test]
fn too_many_files() {
    // More than the kernel allows for any process of any user.
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

#[test]
fn no_such_rate() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Herd::start(1, Wake::One, rate).unwrap_err();
        assert!(matches!(error, Error::Refused(Refusal::Other(_))), "{error:?}");
    }
}
