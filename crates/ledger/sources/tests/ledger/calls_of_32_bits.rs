//! 32-bit system calls have their own numbers and arguments: their futex also counts as a lock.

use crate::books::Books;
use crate::microstates::{exact, ns, row_of};
use exactop_model::on_demand::waits::WaitKind;
use exactop_model::on_demand::Choice;
use exactop_model::{Counter, SyscallNr};
use exactop_sources::on_demand::waits::Waits;
use exactop_sources::on_demand::Counts;
use std::time::Duration;

/// futex(2) of i386, and FUTEX_WAIT_PRIVATE.
const NR_FUTEX_32: u32 = 240;
const WAIT: u64 = 128;
/// `EX_NR_COMPAT`: flag of a 32-bit call.
const COMPAT: i32 = 0x2000_0000;

/// A futex and a timeout at an address below 4 GiB.
#[repr(C)]
struct Low {
    word: u32,
    seconds: i32,
    nanoseconds: i32,
}

/// Waits in a futex by int 0x80. Returns true if the timeout ended the wait, which means that the
/// kernel has 32-bit calls.
fn waits_for(limit: Duration) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new memory.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    let low = page.cast::<Low>();
    // SAFETY: the page belongs to this test.
    unsafe {
        *low = Low { word: 0, seconds: 0, nanoseconds: limit.subsec_nanos() as i32 };
    }
    let mut answer = u64::from(NR_FUTEX_32);
    let (word, limit) = (page as u64, page as u64 + 4);
    // SAFETY: the call reads the word and the timeout, and what it overwrites is declared. rbx
    // belongs to the compiler, so it is saved and restored.
    unsafe {
        std::arch::asm!(
            "xchg {word}, rbx",
            "int 0x80",
            "xchg {word}, rbx",
            word = inout(reg) word => _,
            inout("rax") answer,
            in("rcx") WAIT,
            in("rdx") 0u64,
            in("rsi") limit,
            in("rdi") 0u64,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    answer as i32 == -libc::ETIMEDOUT
}

#[test]
fn a_32_bit_futex_is_a_lock() {
    let Some(_machine) = crate::machine() else { return };
    let limit = Duration::from_millis(300);
    if !waits_for(Duration::from_millis(1)) {
        return eprintln!("not measured: this kernel knows no 32-bit system calls");
    }
    let mut books = Books::open(&exact());
    let mut source =
        Waits::open(&Choice::of_processes(&[std::process::id()])).expect("the waits' programs");
    let (row, _) = row_of(&mut books, move || assert!(waits_for(limit)));
    let window = source.window().expect("a window");
    let asked = limit.as_nanos() as u64;
    let by_ledger = ns(&row, Counter::LockNs);
    let waits =
        window.rows.iter().find(|waits| waits.who.tid == Some(row.key.tid)).expect("its row");
    let nr = SyscallNr(COMPAT | NR_FUTEX_32 as i32);
    assert_eq!(nr.to_string(), "futex(32-bit)");
    let sleep = waits.sleeps.iter().find(|sleep| sleep.nr == nr).expect("a 32-bit futex");
    // The timeout begins at the call; the thread may wait for a CPU before it leaves its own.
    let awake = ns(&row, Counter::RunNs) + ns(&row, Counter::LatNs);
    println!("{by_ledger} ns LCK by the ledger, {awake} ns awake, {sleep:?}");
    assert!(by_ledger + awake >= asked && sleep.ns + awake >= asked);
    assert_eq!(sleep.kind, WaitKind::Lock);
}
