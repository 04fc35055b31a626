//! Fuzz targets: user input (filters, limits, weights) and hostile names (escaping).

use exactop_fuzzing::{corpus, Choices, Target};
use exactop_model::cgroups::limits::{shares_of_weight, weight, weight_of_shares, Max};
use exactop_model::columns::filter::Filter;
use exactop_model::columns::{Context, COLUMNS};
use exactop_model::text::escape::{escape, escape_str, unescape};
use exactop_model::words::units;
use exactop_model::{
    AccountId, Activity, Comm, Counter, Counters, Detail, Ident, MicroState, Missing, Row, RowKind,
    TaskKey,
};

/// True if a terminal, table or log may show the text: no character moves a cursor or changes the
/// order of a line.
fn is_harmless(text: &str) -> bool {
    let hidden = |c: char| matches!(c as u32, 0xad | 0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff);
    !text.chars().any(|c| c.is_control() || hidden(c))
}

#[test]
fn fuzz_escaping() {
    Target::new(corpus!("escaping"))
        .examples([&b"plain"[..], b"a\x1b]0;x\x07\n\xff", "naïve 日本 \u{202e}txt".as_bytes()])
        .words(["\\x1b", "\\", "\\u{202e}", "\u{85}", "\u{2028}", "\u{e0001}"])
        .run(|bytes| {
            let shown = escape(bytes);
            assert!(is_harmless(&shown), "{shown:?}");
            assert_eq!(unescape(&shown).as_deref(), Some(bytes), "{shown:?}");
            if let Ok(text) = std::str::from_utf8(bytes) {
                assert_eq!(shown, escape_str(text));
                let plain = text.chars().all(|c| c.is_ascii_graphic() && c != '\\');
                assert!(!plain || shown == text, "{text:?} became {shown:?}");
            }
        });
}

#[test]
fn fuzz_filters() {
    let names = COLUMNS.iter().flat_map(|column| [column.name, column.title]);
    let words: Vec<&str> = names.chain(["<=", ">=", "!=", "==", "<", ">", "=", "!", "%"]).collect();
    Target::new(corpus!("filters"))
        .examples([
            "%CPU>5",
            "!COMMAND=sh",
            "user==root",
            "cpu_pct<=1e3%",
            "pid!=1",
            "! comm = x y",
        ])
        .words(&words)
        .run(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            let filter = match Filter::parse(&text) {
                Ok(filter) => filter,
                Err(error) => return assert!(!error.to_string().is_empty()),
            };
            assert_eq!(filter.text(), text.trim());
            let mut choices = Choices::new(bytes);
            let (row, context) = (row(&mut choices), context(&mut choices));
            let kept = filter.keeps(&row, &context);
            // A `!` in front negates a filter; two do not parse.
            if !filter.text().starts_with('!') {
                let opposite = Filter::parse(&format!("!{}", filter.text())).expect("the opposite");
                assert_eq!(opposite.keeps(&row, &context), !kept, "{text:?}");
            }
        });
}

#[test]
fn fuzz_rows() {
    let seeds: Vec<Vec<u8>> =
        (0..4u8).map(|seed| (0..600u32).map(|at| (at * 37) as u8 ^ seed).collect()).collect();
    Target::new(corpus!("rows")).examples(&seeds).cases(500).run(|bytes| {
        let mut choices = Choices::new(bytes);
        let (row, context) = (row(&mut choices), context(&mut choices));
        for column in COLUMNS {
            let value = (column.value)(&row, &context);
            let cell = units::cell(&value, column.unit);
            assert!(is_harmless(&cell), "{}: {cell:?}", column.name);
            assert!(value.number().is_none_or(f64::is_finite), "{}: {value:?}", column.name);
        }
    });
}

#[test]
fn fuzz_limits() {
    Target::new(corpus!("limits"))
        .examples([
            "40%",
            "40000",
            "400000/1000000",
            "max",
            "max/5000",
            "max 100000",
            "40000 100000",
            "100",
        ])
        .words(["%", "/", "max", " "])
        .run(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            match text.parse::<Max>() {
                // The value written to the kernel's file parses back to the same limit.
                Ok(max) => assert_eq!(Max::from_file(&max.to_string()), Some(max)),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            if let Some(max) = Max::from_file(&text) {
                assert!(max.cpus().is_none_or(f64::is_finite), "{max:?}");
            }
            if let Ok(weight) = weight(&text) {
                assert!(shares_of_weight(weight) >= 2);
            }
            if let Ok(shares) = text.trim().parse() {
                assert!((1..=10_000).contains(&weight_of_shares(shares)));
            }
        });
}

/// A row with figures that a machine can reach: below 2^54 ns, half a year of a CPU.
fn row(choices: &mut Choices) -> Row {
    Row {
        kind: *choices.pick(&[RowKind::Process, RowKind::Task, RowKind::Exited]),
        account: Some(AccountId(choices.number())),
        key: TaskKey {
            tgid: choices.number() as u32,
            tid: choices.number() as u32,
            start_ns: figure(choices),
        },
        ident: Ident {
            ppid: choices.number() as u32,
            comm: Comm::new(choices.bytes(16)),
            uid: choices.number() as u32,
            session: choices.once_in(2).then(|| choices.number() as u32),
            cgroup_id: Some(choices.number()),
            nice: choices.number() as i32,
            prio: choices.number() as i32,
            policy: choices.number() as u32,
            kthread: choices.once_in(3),
        },
        exited_uid: choices.once_in(2).then(|| choices.number() as u32),
        letter: *choices.pick(&['R', 'S', 'X']),
        doing: Activity {
            state: *choices.pick(&[MicroState::Run, MicroState::Lat]),
            cpu: Some(choices.byte().into()),
        },
        last_cpu: Some(choices.byte().into()),
        threads: Some(choices.number() as u32),
        exited_processes: figure(choices),
        exited_tasks: figure(choices),
        repairs: choices.once_in(2).then(|| figure(choices)),
        life_ns: figure(choices),
        delta: counters(choices),
        total: counters(choices),
        children: choices.once_in(2).then(|| counters(choices)),
        detail: detail(choices),
    }
}

fn detail(choices: &mut Choices) -> Detail {
    Detail {
        virt: Ok(choices.number()),
        res: Ok(choices.number()),
        shr: Err(*choices.pick(&[Missing::NotRead, Missing::Source])),
        time_ns: Ok(figure(choices)),
        cmdline: Ok(choices.bytes(40).to_vec()),
        user: Ok(String::from_utf8_lossy(choices.bytes(10)).into_owned()),
        cgroup: Ok(choices.bytes(20).to_vec()),
        named: Err(Missing::NotRead),
        disk: Err(Missing::NotRead),
    }
}

fn counters(choices: &mut Choices) -> Counters {
    let mut counters = Counters::unknown();
    for &counter in Counter::ALL {
        if !choices.once_in(4) {
            counters.set(counter, figure(choices));
        }
    }
    counters
}

fn figure(choices: &mut Choices) -> u64 {
    choices.number() >> (10 + choices.below(50))
}

fn context(choices: &mut Choices) -> Context {
    Context {
        window_ns: figure(choices),
        cpus: choices.byte().into(),
        of_machine: choices.once_in(2),
        command_line: choices.once_in(2),
        memory_total: Some(choices.number()),
        boottime_ns: Some(figure(choices)),
    }
}
