//! Names of the functions in stacks of moves; the kernel resolves each stack once.

use super::skel::types::{ex_migration_key, ex_move_facts};
use exactop_model::on_demand::moves::{cause, Cause, Facts};
use rustc_hash::FxHashMap;

/// Functions that several causes have in common; the cause is behind them.
const IN_THE_WAY: [&str; 8] = [
    "set_task_cpu",
    "detach_task",
    "detach_tasks",
    "__migrate_task",
    "move_queued_task",
    "deactivate_task",
    "load_balance",
    "sched_balance_rq",
];

/// Functions of stacks by number, innermost first.
#[derive(Default)]
pub struct Stacks {
    names: FxHashMap<u32, Vec<Box<str>>>,
    /// All stacks up to this number are known. Numbers are assigned before stacks are stored, and
    /// some have no stack.
    known: u32,
}

impl Stacks {
    /// True if the names of a stack are missing.
    pub fn lacks(&self, key: &ex_migration_key) -> bool {
        [key.stack, key.own].iter().any(|number| *number != 0 && !self.names.contains_key(number))
    }

    /// Adds the kernel's lines: `#7`, then lines such as `set_task_cpu+0x1a/0x40`, or `0xffff`
    /// without a name. Returns the number up to which all stacks are known.
    pub fn learn(&mut self, told: &str) -> u32 {
        let mut fresh = None;
        for line in told.lines() {
            if let Some(number) = line.strip_prefix('#') {
                let number = number.parse().ok().filter(|number| !self.names.contains_key(number));
                fresh = number.map(|number| self.names.entry(number).or_default());
            } else if let Some(names) = &mut fresh {
                names.extend(name(line).map(Box::from));
            }
        }
        while self.names.contains_key(&(self.known + 1)) {
            self.known += 1;
        }
        self.known
    }

    fn frames(&self, number: u32) -> Vec<&str> {
        self.names.get(&number).into_iter().flatten().map(|name| &**name).collect()
    }

    /// The cause of a move, or the reason why it is unknown.
    pub fn cause(&self, key: &ex_migration_key) -> Result<Cause, String> {
        let stack = self.frames(key.stack);
        match cause(facts(key), &stack, &self.frames(key.own)) {
            Cause::Unknown => Err(why(key, &stack)),
            cause => Ok(cause),
        }
    }
}

/// A function's name without its offset and without the compiler's suffix.
fn name(line: &str) -> Option<&str> {
    let name = line.split_once('+')?.0;
    Some(name.split_once('.').map_or(name, |(name, _)| name))
}

fn why(key: &ex_migration_key, stack: &[&str]) -> String {
    if has(key, ex_move_facts::EX_NO_STACK) {
        return "there was no room for another stack".into();
    }
    if has(key, ex_move_facts::EX_STACK_REFUSED) {
        return "the kernel gave no stack".into();
    }
    // The first functions are the program's own and its callers.
    let moved = stack.iter().position(|name| *name == "set_task_cpu");
    let callers = &stack[moved.map_or(0, |at| at + 1)..];
    let told = callers.iter().find(|name| !IN_THE_WAY.contains(name));
    told.map_or("the kernel's stack has no name".into(), |name| format!("moved by {name}"))
}

fn has(key: &ex_migration_key, fact: ex_move_facts) -> bool {
    key.facts.0 & fact.0 != 0
}

fn facts(key: &ex_migration_key) -> Facts {
    Facts {
        waking: has(key, ex_move_facts::EX_WAKING),
        born: has(key, ex_move_facts::EX_BORN),
        was_offline: has(key, ex_move_facts::EX_WAS_OFFLINE),
        not_allowed: has(key, ex_move_facts::EX_NOT_ALLOWED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "#7
bpf_prog_6deef7357e7b4530_on_migrate+0x12/0x400
set_task_cpu+0x1a/0x40
push_rt_task.part.0+0x5/0x100
0x0
#9
set_task_cpu+0x1a/0x40
detach_tasks+0x1a/0x40
someone_new+0x1/0x2 [module]
#10
";

    fn key(stack: u32, own: u32) -> ex_migration_key {
        let facts = ex_move_facts(0);
        ex_migration_key { tgid: 1, tid: 1, from: 0, to: 1, stack, own, facts }
    }

    #[test]
    fn names_are_read_once_and_give_the_cause() {
        let mut stacks = Stacks::default();
        assert!(stacks.lacks(&key(7, 0)) && !stacks.lacks(&key(0, 0)));
        assert_eq!(stacks.learn(TOLD), 0);
        assert!(!stacks.lacks(&key(7, 9)) && stacks.lacks(&key(7, 11)));
        assert_eq!(stacks.cause(&key(7, 0)), Ok(Cause::RtPush));
        assert_eq!(stacks.cause(&key(9, 0)), Err("moved by someone_new".into()));
        assert_eq!(stacks.cause(&key(10, 0)), Err("the kernel's stack has no name".into()));
        let full = ex_migration_key { facts: ex_move_facts::EX_NO_STACK, ..key(0, 0) };
        assert_eq!(stacks.cause(&full), Err("there was no room for another stack".into()));
        let refused = ex_migration_key { facts: ex_move_facts::EX_STACK_REFUSED, ..key(0, 0) };
        assert_eq!(stacks.cause(&refused), Err("the kernel gave no stack".into()));
        assert_eq!(
            stacks.learn("set_task_cpu+0x1/0x2\n#x\nno+0x1/0x2\n#1\n#2\n#7\nno+0x1/0x2\n"),
            2
        );
        assert_eq!(stacks.cause(&key(7, 0)), Ok(Cause::RtPush), "told again");
        assert_eq!(stacks.learn("#3\n#4\n#5\n#6\n#8\n"), 10);
    }
}
