//! Readers with the same choice and rights. Their part of a window is selected once. Readers whose
//! windows begin and end together share one encoded answer.

use crate::ask::{Answer, AnswerRef};
use crate::server::visibility::Visibility;
use exactop_model::on_demand::{Choice, SubjectWindow};
use exactop_recording::stream::{answer, LONGEST_ANSWER};
use std::iter::repeat_n;
use std::sync::Arc;

/// A reader is disconnected if its pending rows exceed two windows by this many bytes.
const PENDING_BYTES: usize = 64 << 20;

/// Reply to a reader.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An encoded answer.
    Bytes(Arc<[u8]>),
    /// Why there will be no more answers.
    Refusal(String),
}

/// An on-demand reader.
#[derive(Debug)]
pub struct Looker {
    number: u64,
    /// When it came: earlier windows do not count for it.
    came_ns: u64,
    has_begun: bool,
    /// Beginning of its pending figures; `None` if there are none.
    since_ns: Option<u64>,
    /// It waits for an end at or after this instant.
    wants_ns: Option<u64>,
    /// Since when the daemon waits for its next request. The time of a slow answer does not count.
    silent_since_ns: u64,
    /// Idle timeout, ns.
    patience_ns: u64,
}

impl Looker {
    /// A new reader.
    pub fn new(number: u64, came_ns: u64, patience_ns: u64) -> Looker {
        let (has_begun, since_ns, wants_ns) = (false, None, None);
        let silent_since_ns = came_ns;
        Looker { number, came_ns, has_begun, since_ns, wants_ns, silent_since_ns, patience_ns }
    }

    /// Tells the reader that counting began at this instant, if it was already there.
    fn begin(&mut self, at_ns: u64) -> Option<Reply> {
        if self.has_begun || at_ns < self.came_ns {
            return None;
        }
        self.has_begun = true;
        self.wants_ns = None;
        self.silent_since_ns = at_ns;
        Some(written(&Answer::Begun(at_ns)))
    }

    fn is_idle(&self, at_ns: u64) -> bool {
        let is_silent = at_ns.saturating_sub(self.silent_since_ns) > self.patience_ns;
        self.has_begun && self.wants_ns.is_none() && is_silent
    }

    fn awaits(&self, sum: &Sum) -> bool {
        let (t0_ns, t1_ns) = sum.window.span_ns();
        self.since_ns == Some(t0_ns) && self.wants_ns.is_some_and(|wants_ns| wants_ns <= t1_ns)
    }
}

/// Pending figures since an instant, for readers that have all before it.
#[derive(Debug)]
struct Sum {
    window: SubjectWindow,
    /// The encoded answer, once a reader was sent it.
    reply: Option<Reply>,
}

impl Sum {
    fn then(&mut self, part: SubjectWindow) {
        self.window.then(part);
        self.reply = None;
    }

    fn is_for(&self, looker: &Looker) -> bool {
        looker.since_ns == Some(self.window.span_ns().0)
    }

    fn reply(&mut self) -> Reply {
        self.reply.get_or_insert_with(|| within(&self.window, LONGEST_ANSWER)).clone()
    }
}

/// Readers of the same part.
#[derive(Debug)]
pub struct View {
    choice: Choice,
    /// User whose processes they may see; `None` for all users.
    uid: Option<u32>,
    lookers: Vec<Looker>,
    sums: Vec<Sum>,
    /// [`PENDING_BYTES`]; less in a test.
    pending_bytes: usize,
}

impl View {
    /// A view without readers.
    pub fn new(choice: Choice, visibility: &Visibility) -> View {
        View {
            choice,
            uid: visibility.uid(),
            lookers: Vec::new(),
            sums: Vec::new(),
            pending_bytes: PENDING_BYTES,
        }
    }

    /// True if the view has this choice.
    pub fn is_of(&self, choice: &Choice) -> bool {
        self.choice == *choice
    }

    /// True if the view has these rights.
    pub fn sees(&self, visibility: &Visibility) -> bool {
        self.uid == visibility.uid()
    }

    pub fn come(&mut self, looker: Looker) {
        self.lookers.push(looker);
    }

    pub fn leave(&mut self, number: u64) {
        self.lookers.retain(|looker| looker.number != number);
        self.forget();
    }

    pub fn has(&self, number: u64) -> bool {
        self.lookers.iter().any(|looker| looker.number == number)
    }

    /// Numbers of the readers.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.lookers.iter().map(|looker| looker.number)
    }

    /// A reader asks for an end at or after `after_ns`. Returns the earliest end that serves, and
    /// the reply if it is ready.
    pub fn ask(&mut self, number: u64, after_ns: u64, now_ns: u64) -> (u64, Option<Reply>) {
        let asking = self.lookers.iter_mut().find(|looker| looker.number == number);
        let Some(looker) = asking else { return (after_ns, None) };
        let after_ns = if looker.has_begun { after_ns } else { looker.came_ns };
        looker.wants_ns = Some(after_ns);
        let reply = self.answers(now_ns).into_iter().find(|(answered, _)| *answered == number);
        (after_ns, reply.map(|(_, reply)| reply))
    }

    /// Programs count from this instant; returns the replies to readers whose counting begins.
    pub fn begin(&mut self, at_ns: u64) -> Vec<(u64, Reply)> {
        let begun = |looker: &mut Looker| Some((looker.number, looker.begin(at_ns)?));
        self.lookers.iter_mut().filter_map(begun).collect()
    }

    /// Adds an ended window; returns the replies to readers that wait for it.
    pub fn take(&mut self, window: &SubjectWindow, visibility: &Visibility) -> Vec<(u64, Reply)> {
        let (_, t1_ns) = window.span_ns();
        let mut replies =
            self.refuse("no request for too long: connect again", |looker| looker.is_idle(t1_ns));
        replies.extend(self.add(window, visibility));
        replies.extend(self.answers(t1_ns));
        replies.extend(self.begin(t1_ns));
        replies
    }

    /// Adds a window to the pending figures.
    fn add(&mut self, window: &SubjectWindow, visibility: &Visibility) -> Vec<(u64, Reply)> {
        let (t0_ns, _) = window.span_ns();
        let mut begins = false;
        for looker in self.lookers.iter_mut().filter(|looker| looker.has_begun) {
            begins |= looker.since_ns.is_none();
            looker.since_ns.get_or_insert(t0_ns);
        }
        let sums = self.sums.len() + usize::from(begins);
        if sums == 0 {
            return Vec::new();
        }
        let part = window.visible_to(&self.choice, &|tgid| visibility.has(tgid));
        let most = 2 * part.bytes() + self.pending_bytes;
        let mut parts = repeat_n(part, sums);
        self.sums.iter_mut().zip(&mut parts).for_each(|(sum, part)| sum.then(part));
        self.sums.extend(parts.map(|window| Sum { window, reply: None }));
        self.bound(most)
    }

    /// Disconnects readers whose pending figures exceed `most` bytes.
    fn bound(&mut self, most: usize) -> Vec<(u64, Reply)> {
        let mut replies = Vec::new();
        while let Some(at) = self.sums.iter().position(|sum| sum.window.bytes() > most) {
            let large = self.sums.swap_remove(at);
            let mib = large.window.bytes() >> 20;
            let why = format!("{mib} MiB of rows are pending: ask more often, or for fewer rows");
            replies.extend(self.refuse(&why, |looker| large.is_for(looker)));
        }
        replies
    }

    /// Disconnects the readers for which `whom` is true.
    fn refuse(&mut self, why: &str, whom: impl Fn(&Looker) -> bool) -> Vec<(u64, Reply)> {
        let gone = self.lookers.iter().filter(|looker| whom(looker));
        let gone = gone.map(|looker| (looker.number, Reply::Refusal(why.into()))).collect();
        self.lookers.retain(|looker| !whom(looker));
        self.forget();
        gone
    }

    /// Replies to the readers whose window is ready.
    fn answers(&mut self, at_ns: u64) -> Vec<(u64, Reply)> {
        let mut replies = Vec::new();
        for looker in &mut self.lookers {
            let Some(sum) = self.sums.iter_mut().find(|sum| looker.awaits(sum)) else { continue };
            replies.push((looker.number, sum.reply()));
            (looker.since_ns, looker.wants_ns) = (None, None);
            looker.silent_since_ns = at_ns;
        }
        self.forget();
        replies
    }

    /// Drops figures that no reader waits for.
    fn forget(&mut self) {
        self.sums.retain(|sum| self.lookers.iter().any(|looker| sum.is_for(looker)));
    }
}

/// Encodes an answer, with as many rows as fit into `most` bytes.
fn within(window: &SubjectWindow, most: usize) -> Reply {
    let long = match json(&AnswerRef::Looked(window)) {
        Ok(json) if json.len() <= most => return framed(Ok(json)),
        Ok(json) => json.len(),
        Err(why) => return Reply::Refusal(why),
    };
    let (mut shorter, mut long) = (window.clone(), long);
    loop {
        // The remaining rows are longer than the average.
        shorter.cut(most - most / 8, long);
        match json(&AnswerRef::Looked(&shorter)) {
            Ok(json) if json.len() > most && shorter.rows() > 0 => long = json.len(),
            json => return framed(json),
        }
    }
}

fn written(said: &Answer) -> Reply {
    framed(json(said))
}

fn json(said: &impl serde::Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(said).map_err(|error| format!("cannot send an answer: {error}"))
}

fn framed(json: Result<Vec<u8>, String>) -> Reply {
    let bytes =
        json.and_then(|json| answer(json).map_err(|bad| format!("cannot send an answer: {bad}")));
    match bytes {
        Ok(bytes) => Reply::Bytes(bytes.into()),
        Err(why) => Reply::Refusal(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::on_demand::waits::{OtherShare, WaitRow, WaitWindow};
    use exactop_model::{Comm, TaskRef};
    use exactop_recording::stream::{Incoming, StreamItem};

    fn who(tid: u32) -> TaskRef {
        TaskRef::thread(5, tid, Comm::new(b"x"), Comm::new(b"x"))
    }

    /// `threads` threads for 1 ns from `n` on, each woken by `others`.
    fn waits(n: u64, threads: u32, others: std::ops::Range<u32>) -> SubjectWindow {
        let row = |tid| WaitRow {
            woken_by: others.clone().map(|n| OtherShare { who: who(n), amount: 1 }).collect(),
            ..WaitRow::new(who(tid))
        };
        let (rows, losses) = ((0..threads).map(row).collect(), Losses::default());
        SubjectWindow::Waits(WaitWindow { t0_ns: n, t1_ns: n + 1, rows, losses })
    }

    fn own_processes() -> Visibility {
        Visibility::by(0)
    }

    /// A view with these readers, counting from 1 on.
    fn view(lookers: &[u64]) -> View {
        let mut view = View::new(Choice::default(), &own_processes());
        lookers.iter().for_each(|&number| view.come(Looker::new(number, 0, u64::MAX)));
        assert_eq!(view.begin(1).len(), lookers.len());
        view
    }

    fn bytes(reply: &Reply) -> &Arc<[u8]> {
        match reply {
            Reply::Bytes(bytes) => bytes,
            Reply::Refusal(why) => panic!("{why}"),
        }
    }

    fn read(reply: &Reply) -> SubjectWindow {
        let mut incoming = Incoming::new();
        incoming.push(bytes(reply));
        let Some(StreamItem::Answer(json)) = incoming.next_item().unwrap() else {
            panic!("no answer")
        };
        match serde_json::from_slice(&json).unwrap() {
            Answer::Looked(looked) => looked,
            Answer::Begun(at_ns) => panic!("begun at {at_ns}"),
            Answer::Follows(tree) | Answer::Followed(tree) => panic!("followed as tree {tree}"),
        }
    }

    #[test]
    fn readers_with_the_same_choice_share_one_encoded_answer() {
        let mut view = view(&[1, 2, 3]);
        assert!(view.ask(1, 2, 2).1.is_none() && view.ask(2, 2, 2).1.is_none());
        let replies = view.take(&waits(1, 3, 0..1), &own_processes());
        assert_eq!(replies.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2]);
        assert!(Arc::ptr_eq(bytes(&replies[0].1), bytes(&replies[1].1)));
        // The third asks later, and gets the same bytes.
        let late = view.ask(3, 2, 2).1.unwrap();
        assert!(Arc::ptr_eq(bytes(&late), bytes(&replies[0].1)));
        assert_eq!(read(&late), waits(1, 3, 0..1));
        assert!(view.sums.is_empty(), "everyone has it");
        // The first asks for each window, the others for two at once.
        view.ask(1, 3, 3);
        assert_eq!(view.take(&waits(2, 3, 0..1), &own_processes()).len(), 1);
        (1..=3).for_each(|number| drop(view.ask(number, 4, 4)));
        let replies = view.take(&waits(3, 3, 0..1), &own_processes());
        let spans: Vec<_> = replies.iter().map(|(_, reply)| read(reply).span_ns()).collect();
        assert_eq!(spans, [(3, 4), (2, 4), (2, 4)]);
        assert!(Arc::ptr_eq(bytes(&replies[1].1), bytes(&replies[2].1)));
    }

    #[test]
    fn only_a_reader_with_too_many_pending_bytes_is_disconnected() {
        let mut view = view(&[1, 2]);
        view.pending_bytes = 8 << 20;
        for n in 1.. {
            assert!(n < 100, "no reader was disconnected");
            assert!(view.ask(2, n + 1, n).1.is_none());
            // New threads wake them in each window: the rows become longer, not more.
            let others = n as u32 * 40..(n as u32 + 1) * 40;
            let replies = view.take(&waits(n, 500, others), &own_processes());
            if let Some((number, Reply::Refusal(why))) = replies.first() {
                assert_eq!((*number, replies.len()), (1, 2));
                assert!(why.contains("MiB of rows are pending: ask more often"), "{why}");
                break;
            }
            assert_eq!(replies.len(), 1);
        }
        assert!(!view.has(1) && view.has(2));
    }

    #[test]
    fn the_time_of_a_slow_answer_is_not_idle_time() {
        let patience_ns = 10;
        let mut view = View::new(Choice::default(), &own_processes());
        view.come(Looker::new(1, 0, patience_ns));
        // The programs took longer to load than a reader may be idle, and the first window took as
        // long.
        assert_eq!(view.begin(100).len(), 1);
        assert!(view.take(&waits(101, 1, 0..1), &own_processes()).is_empty());
        assert!(view.ask(1, 150, 103).1.is_none());
        assert_eq!(view.take(&waits(200, 1, 0..1), &own_processes()).len(), 1);
        assert!(view.take(&waits(201, 1, 0..1), &own_processes()).is_empty());
        assert!(view.has(1));
        // The reader has not asked since.
        let replies = view.take(&waits(220, 1, 0..1), &own_processes());
        assert!(matches!(&replies[..], [(1, Reply::Refusal(_))]));
        assert!(!view.has(1));
    }

    #[test]
    fn an_answer_that_is_too_long_is_cut_and_says_so() {
        let all = waits(1, 1000, 0..1);
        let whole = json(&AnswerRef::Looked(&all)).unwrap().len();
        assert_eq!(read(&within(&all, whole)), all);
        for most in [whole - 1, whole / 2, whole / 100] {
            let left = read(&within(&all, most));
            assert!(json(&AnswerRef::Looked(&left)).unwrap().len() <= most);
            assert_eq!(left.rows() as u64 + left.losses().left_out, 1000);
            assert!(left.rows() * whole > 700 * most, "{} rows in {most} bytes", left.rows());
        }
    }

    #[test]
    fn the_borrowed_answer_encodes_like_the_owned_one() {
        let looked = waits(1, 2, 0..1);
        let told = json(&AnswerRef::Looked(&looked)).unwrap();
        assert_eq!(told, json(&Answer::Looked(looked)).unwrap());
    }
}
