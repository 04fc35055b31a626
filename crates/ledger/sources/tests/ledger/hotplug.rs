//! CPUs that go offline and come back. Only on an emulated machine, so that no real CPU is taken
//! away.

use crate::books::Books;
use exactop_workloads::workloads::Spin;
use std::fs;
use std::time::Duration;

const SWITCH: &str = "/sys/devices/system/cpu/cpu3/online";

fn online(on: bool) {
    fs::write(SWITCH, if on { "1" } else { "0" }).expect("cpu3 can be switched");
}

#[test]
fn hotplug_moves_time_to_offline_and_back() {
    let Some(_machine) = crate::machine() else { return };
    if !crate::emulated() || !fs::exists(SWITCH).unwrap_or(false) {
        eprintln!("left out: only in an emulated machine with four CPUs");
        return;
    }
    let mut books = crate::blame::open();
    let _load = Spin::start(4, None).expect("a load on every CPU");
    let check = |books: &mut Books, what: &str| {
        let window = books.window(Duration::from_millis(300));
        let faults = books.faults(&window);
        assert!(faults.is_empty(), "{what}: {faults:?}");
        crate::blame::closed(books, &window);
        let cpu = window.cpus.iter().find(|c| c.time.cpu == 3).map(|c| c.time);
        println!("{what}: {} {cpu:?}", window.state().name());
        // A task that lost its CPU was repaired, and the window also reports this as an event.
        let told = window.errors.repaired() > 0;
        assert!(told || window.repaired_tasks == Some(0), "{what}: {window:?}");
        cpu
    };
    assert_eq!(check(&mut books, "before").map(|c| c.offline_ns), Some(0));
    online(false);
    let going = check(&mut books, "going").expect("it was there for a part");
    assert!(going.offline_ns > 0 && !going.online);
    assert!(check(&mut books, "gone").is_none(), "a CPU that is off all the time is not counted");
    online(true);
    let coming = check(&mut books, "coming").expect("it is back");
    assert!(coming.online);
    let back = check(&mut books, "back").expect("it is there");
    assert_eq!(back.offline_ns, 0);
}
