//! What the daemon attaches for those who look at system calls, wake-ups, waits and moves: of everyone, by
//! thread, so that one set of programs has what each of them may choose.

use exactop_model::on_demand::syscalls::SyscallsBy;
use exactop_model::on_demand::Looked;
use exactop_service::ask::What;
use exactop_service::{Attach, Programs};
use exactop_sources::on_demand::moves::Moves;
use exactop_sources::on_demand::syscalls::{Options, Syscalls};
use exactop_sources::on_demand::waits::WaitTimes;
use exactop_sources::on_demand::wakeups::{self, Wakeups};

enum Attached {
    Syscalls(Syscalls),
    Wakeups(Wakeups),
    Waits(WaitTimes),
    Moves(Box<Moves>),
}

impl Programs for Attached {
    fn began_ns(&self) -> u64 {
        match self {
            Attached::Syscalls(source) => source.began_ns(),
            Attached::Wakeups(source) => source.began_ns(),
            Attached::Waits(source) => source.began_ns(),
            Attached::Moves(source) => source.began_ns(),
        }
    }

    fn window(&mut self) -> Result<Looked, String> {
        let looked = match self {
            Attached::Syscalls(source) => source.window().map(Looked::Syscalls),
            Attached::Wakeups(source) => source.window().map(Looked::Wakeups),
            Attached::Waits(source) => source.window().map(Looked::Waits),
            Attached::Moves(source) => source.window().map(Looked::Moves),
        };
        looked.map_err(|error| error.to_string())
    }
}

/// With the rights that the daemon has kept.
pub fn attach() -> Attach {
    Attach::by(|what| {
        // In a thread of its own: whoever looks is no reason to go before others.
        crate::priority::lower();
        let attached = match what {
            What::Syscalls => {
                let options = Options { by: SyscallsBy::Thread, ..Options::default() };
                Syscalls::open(&options).map(Attached::Syscalls)
            }
            What::Wakeups => Wakeups::open(&wakeups::Options::default()).map(Attached::Wakeups),
            What::Waits => WaitTimes::open(&[]).map(Attached::Waits),
            What::Moves => Moves::open(&[]).map(|moves| Attached::Moves(Box::new(moves))),
        };
        match attached {
            Ok(attached) => Ok(Box::new(attached)),
            Err(error) => Err(error.to_string()),
        }
    })
}
