//! The counters of a task in one table; delta, sum, storage and export loop over it.

/// Unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    /// Nanoseconds.
    Ns,
    /// Events.
    Count,
}

/// A row of the counter table.
#[derive(Clone, Copy, Debug)]
pub struct CounterInfo {
    /// Name in JSON and in recordings; its last word is the unit.
    pub id: &'static str,
    /// Nanoseconds or events.
    pub unit: CounterUnit,
    /// Explanation in one sentence.
    pub meaning: &'static str,
}

macro_rules! counters {
    ($($name:ident, $id:literal, $unit:ident, $meaning:literal;)*) => {
        /// A cumulative counter of one task. The order is that of the table and no file format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Counter {
            $(#[doc = $meaning] $name,)*
        }

        impl Counter {
            /// All counters, in table order.
            pub const ALL: &'static [Counter] = &[$(Counter::$name,)*];
            /// Number of counters.
            pub const COUNT: usize = Counter::ALL.len();

            /// The table's entry of this counter.
            pub const fn info(self) -> &'static CounterInfo {
                const TABLE: &[CounterInfo] = &[
                    $(CounterInfo { id: $id, unit: CounterUnit::$unit, meaning: $meaning },)*
                ];
                &TABLE[self as usize]
            }
        }
    };
}

counters! {
    RunNs, "run_ns", Ns, "Time on a CPU, without steal.";
    UserNs, "user_ns", Ns, "The part of run_ns in user mode, from system call entry and exit.";
    SystemNs, "system_ns", Ns, "The part of run_ns in the kernel, from system call entry and exit.";
    StealNs, "steal_ns", Ns, "Time on a virtual CPU while the hypervisor ran something else on it.";
    IrqNs, "irq_ns", Ns, "Time on a CPU that was taken by interrupts.";
    LatNs, "lat_ns", Ns, "Time runnable and waiting for a CPU (run-queue latency).";
    LatPreemptNs, "lat_preempt_ns", Ns, "Part of lat_ns after a preemption, not after a wake-up.";
    ThrottleNs, "throttle_ns", Ns, "Time runnable while the cgroup's CPU quota was used up.";
    SleepNs, "sleep_ns", Ns, "Time asleep, interruptibly, without locks and page faults.";
    LockNs, "lock_ns", Ns, "Time asleep on a user-level lock (futex wait).";
    TextFaultNs, "text_fault_ns", Ns, "Time asleep in a page fault on an instruction.";
    DataFaultNs, "data_fault_ns", Ns, "Time asleep in any other page fault.";
    BlockNs, "block_ns", Ns, "Time asleep, uninterruptibly (disk and other D).";
    StopNs, "stop_ns", Ns, "Time stopped or traced.";
    UtimeNs, "utime_tick_ns", Ns, "User time as the kernel's tick samples it (task_struct.utime).";
    StimeNs, "stime_tick_ns", Ns, "System time as the kernel's tick samples it (task_struct.stime).";
    Dispatches, "dispatches", Count, "Times put on a CPU.";
    Vcx, "vcx", Count, "Voluntary context switches: gave up the CPU to wait.";
    Icx, "icx", Count, "Involuntary context switches: preempted or out of its slice.";
    Wakeups, "wakeups", Count, "Wake-ups received while asleep.";
    WakeupsGiven, "wakeups_given", Count, "Wake-ups given to others.";
    Migrations, "migrations", Count, "Times put on another CPU than the last time.";
    Syscalls, "syscalls", Count, "System calls entered.";
    Signals, "signals", Count, "Signals delivered.";
    MinorFaults, "minor_faults", Count, "Page faults without I/O (task_struct.min_flt).";
    MajorFaults, "major_faults", Count, "Page faults with I/O (task_struct.maj_flt).";
    CutimeNs, "cutime_tick_ns", Ns, "User time of the process's children that it waited for, whole lives (signal_struct.cutime).";
    CstimeNs, "cstime_tick_ns", Ns, "System time of the process's children that it waited for, whole lives (signal_struct.cstime).";
    BlkioDelayNs, "blkio_delay_ns", Ns, "Time waiting for synchronous block I/O (delay accounting).";
    SwapinDelayNs, "swapin_delay_ns", Ns, "Time waiting for pages to be swapped in (delay accounting).";
    ReclaimDelayNs, "reclaim_delay_ns", Ns, "Time waiting for memory to be reclaimed (delay accounting).";
    ThrashingDelayNs, "thrashing_delay_ns", Ns, "Time waiting for pages that were evicted a moment ago (delay accounting).";
    CompactDelayNs, "compact_delay_ns", Ns, "Time waiting for memory to be compacted (delay accounting).";
    WpcopyDelayNs, "wpcopy_delay_ns", Ns, "Time waiting for pages to be copied on write (delay accounting).";
    IrqDelayNs, "irq_delay_ns", Ns, "Time taken by interrupts (delay accounting, with CONFIG_IRQ_TIME_ACCOUNTING).";
    MissedSwitches, "missed_switches", Count, "Switches off a CPU that the kernel counted (task_struct.nvcsw and nivcsw) and did not show.";
}

impl Counter {
    /// Counters that only the kernel's delay accounting provides.
    pub const DELAYS: [Counter; 7] = [
        Counter::BlkioDelayNs,
        Counter::SwapinDelayNs,
        Counter::ReclaimDelayNs,
        Counter::ThrashingDelayNs,
        Counter::CompactDelayNs,
        Counter::WpcopyDelayNs,
        Counter::IrqDelayNs,
    ];
}

impl Counter {
    /// The counters that are states: a thread is in exactly one of them at any instant. User and
    /// system time are parts of `RunNs`.
    pub const STATES: &'static [Counter] = &[
        Counter::RunNs,
        Counter::StealNs,
        Counter::IrqNs,
        Counter::LatNs,
        Counter::ThrottleNs,
        Counter::SleepNs,
        Counter::LockNs,
        Counter::TextFaultNs,
        Counter::DataFaultNs,
        Counter::BlockNs,
        Counter::StopNs,
    ];
}

/// A set of counters; each is known or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    known: u64,
    values: [u64; Counter::COUNT],
}

impl Default for Counters {
    fn default() -> Self {
        Counters::unknown()
    }
}

impl Counters {
    /// All counters unknown.
    pub const fn unknown() -> Counters {
        Counters { known: 0, values: [0; Counter::COUNT] }
    }

    /// All counters known to be 0; the start of a sum.
    pub const fn zero() -> Counters {
        Counters { known: (1 << Counter::COUNT) - 1, values: [0; Counter::COUNT] }
    }

    /// User and system time, ns, if all run time was split at the system calls.
    pub fn exact_split_ns(&self) -> Option<(u64, u64)> {
        let (user, system) = self.get(Counter::UserNs).zip(self.get(Counter::SystemNs))?;
        (self.get(Counter::RunNs) == Some(user + system)).then_some((user, system))
    }

    /// True if the CPU time is known and this counter is not: a sum of it would lack a part.
    pub fn lacks(&self, counter: Counter) -> bool {
        self.get(Counter::RunNs).is_some() && self.get(counter).is_none()
    }

    /// The value, if known.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        (self.known & (1 << counter as u64) != 0).then_some(self.values[counter as usize])
    }

    /// Sets a counter and makes it known.
    pub fn set(&mut self, counter: Counter, value: u64) {
        self.known |= 1 << counter as u32;
        self.values[counter as usize] = value;
    }

    /// Makes a counter unknown.
    pub fn forget(&mut self, counter: Counter) {
        self.known &= !(1 << counter as u64);
        self.values[counter as usize] = 0;
    }

    /// Adds to a known counter. An unknown counter stays unknown.
    pub fn bump(&mut self, counter: Counter, by: u64) {
        if self.known & (1 << counter as u64) != 0 {
            self.values[counter as usize] = self.values[counter as usize].wrapping_add(by);
        }
    }

    /// Adds a counter to another and makes the first unknown. Used where their time was not
    /// measured separately after all.
    pub fn fold(&mut self, from: Counter, into: Counter) {
        if let Some(part) = self.get(from) {
            self.bump(into, part);
            self.forget(from);
        }
    }

    /// Adds another set. A counter that is unknown in either becomes unknown.
    pub fn add(&mut self, other: &Counters) {
        self.known &= other.known;
        for i in 0..Counter::COUNT {
            let known = self.known & (1 << i) != 0;
            self.values[i] = if known { self.values[i].wrapping_add(other.values[i]) } else { 0 };
        }
    }

    /// `self - earlier`; a counter is known if both are. The second value is the number of counters
    /// that ran backwards: those become unknown, never wrapped and never 0.
    pub fn since(&self, earlier: &Counters) -> (Counters, u64) {
        let mut delta = Counters::unknown();
        let mut backwards = 0;
        for &c in Counter::ALL {
            if let (Some(now), Some(then)) = (self.get(c), earlier.get(c)) {
                match now.checked_sub(then) {
                    Some(d) => delta.set(c, d),
                    None => backwards += 1,
                }
            }
        }
        (delta, backwards)
    }

    /// The known counters.
    pub fn known(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        Counter::ALL.iter().filter_map(|&counter| Some((counter, self.get(counter)?)))
    }

    /// True if no counter is known to be above 0.
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(|&value| value == 0)
    }

    /// Sum of the states, ns; it equals the thread's life (identity 2). `None` if the source does
    /// not know them.
    pub fn states_ns(&self) -> Option<u64> {
        self.get(Counter::LatNs)?;
        self.get(Counter::SleepNs)?;
        Some(Counter::STATES.iter().filter_map(|&c| self.get(c)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_are_unique_and_end_in_their_unit() {
        let mut seen = std::collections::HashSet::new();
        for c in Counter::ALL {
            let info = c.info();
            assert!(seen.insert(info.id), "{} twice", info.id);
            assert_eq!(info.id.ends_with("_ns"), info.unit == CounterUnit::Ns, "{}", info.id);
            assert!(info.meaning.ends_with('.'), "{}", info.id);
        }
    }

    #[test]
    fn backwards_is_counted_and_unknown() {
        let (mut a, mut b) = (Counters::unknown(), Counters::unknown());
        a.set(Counter::RunNs, 10);
        b.set(Counter::RunNs, 9);
        let (delta, backwards) = b.since(&a);
        assert_eq!((delta.get(Counter::RunNs), backwards), (None, 1));
    }

    proptest! {
        #[test]
        fn since_undoes_add(base in any::<[u32; Counter::COUNT]>(), more in any::<[u32; Counter::COUNT]>()) {
            let (mut a, mut d) = (Counters::zero(), Counters::zero());
            for &c in Counter::ALL {
                a.set(c, base[c as usize].into());
                d.set(c, more[c as usize].into());
            }
            let mut sum = a;
            sum.add(&d);
            prop_assert_eq!(sum.since(&a), (d, 0));
        }
    }
}
