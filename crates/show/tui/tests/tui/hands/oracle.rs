//! Reads the marked row from the drawn screen, and checks that every offer and every action is
//! about that row.

use super::world::{Done, Machine, Shared, Who};
use crossterm::event::{Event, KeyCode, MouseEventKind};
use exactop_model::cgroups::GroupRow;
use exactop_tui::app::arrange::RowId;
use exactop_tui::app::placement::Placement;
use exactop_tui::app::question::Question;
use exactop_tui::app::Page;
use exactop_tui::canvas::Canvas;
use exactop_tui::desk::Desk;
use exactop_tui::layout::{screen, Cpus, LayoutNeeds};
use exactop_tui::{App, ProcessAction, Target};
use ratatui_core::style::Modifier;

/// Content of a line of the drawn screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    /// A task, by serial number.
    Task(u64),
    /// An exited group.
    Exited,
    /// The name is missing or cut.
    Unreadable,
}

/// The last drawn screen.
#[derive(Debug, Default)]
struct Screen {
    /// The reversed line.
    marked: Option<Drawn>,
    /// The first line of a task.
    first: Option<Drawn>,
    /// The view's own selection.
    selected: Option<RowId>,
    /// Lines of the table, counted from the first line of the screen.
    rows: Vec<Option<Drawn>>,
}

/// Checks the view from outside.
pub struct Oracle {
    machine: Shared,
    seen: Screen,
    /// The target of the open question.
    about: Option<Target>,
    limit: Option<(String, Option<u64>)>,
    /// True if there was a selection that no key dropped.
    held: bool,
    /// True if the palette or completions stood over the rows, or did something since the drawing:
    /// the screen does not tell the marked row.
    palette: bool,
    pub tally: Tally,
}

/// Counts that prove the test's coverage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub keys: u64,
    pub asked: u64,
    pub offered: u64,
    /// Offers that were compared with a name on the screen.
    pub read_off: u64,
    pub clicked: u64,
    pub done: u64,
    pub gone: u64,
    pub frames: u64,
    /// Windows through which a row stayed selected.
    pub followed: u64,
}

impl Oracle {
    pub fn new(machine: Shared) -> Oracle {
        let (seen, tally) = (Screen::default(), Tally::default());
        Oracle { machine, seen, about: None, limit: None, held: false, palette: false, tally }
    }

    /// A window ended, and perhaps the screen was prepared. Without a key the selection stays on its
    /// task or is dropped: it never goes to another.
    pub fn passed(&mut self, before: Option<RowId>, now: Option<RowId>) {
        assert!(now.is_none() || now == before, "{before:?} became {now:?} without a key");
        self.tally.followed += u64::from(now.is_some());
    }

    pub fn frame_came(&mut self) {
        self.tally.frames += 1;
    }

    /// Reads the screen that was just drawn.
    pub fn drawn(&mut self, app: &App, canvas: &mut Canvas) {
        let question = app.prompt().map(|prompt| &prompt.question);
        self.palette = matches!(question, Some(Question::Command | Question::Filter));
        self.held = app.selected().is_some();
        self.seen = Screen { selected: app.selected(), ..Screen::default() };
        let (width, height) = canvas.size();
        let (cpus, per_cpu) = (Cpus::without_gaps(2), app.settings().per_cpu);
        let findings = app.frame().is_some_and(|frame| !frame.findings.is_empty());
        let reserved = app.settings().findings;
        let footer = app.settings().footer;
        let wants = LayoutNeeds { cpus, per_cpu, findings, reserved, recorded: false, footer };
        let Some(place) = screen(width, height, wants) else { return };
        if *app.page() != Page::Table || app.help().is_some() {
            return;
        }
        self.seen.rows = vec![None; place.body_y.into()];
        for y in place.body_y..place.body_y + place.body_rows {
            let cells = canvas.cells();
            let reversed = cells[(0, y)].modifier.contains(Modifier::REVERSED);
            let text: String = (0..width).map(|x| cells[(x, y)].symbol()).collect();
            let drawn = read(&text);
            self.seen.rows.push((!text.trim().is_empty()).then_some(drawn));
            if reversed {
                self.seen.marked = Some(drawn);
            }
        }
        // A name may be scrolled away, which leaves its row blank.
        let rows = &self.seen.rows[place.body_y.into()..];
        let last = rows.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let rows = rows[..last].iter().map(|drawn| drawn.unwrap_or(Drawn::Unreadable));
        let hidden = (app.line_count() > last).then_some(Drawn::Unreadable);
        self.seen.first = rows.chain(hidden).find(|drawn| *drawn != Drawn::Exited);
    }

    /// Gives the desk an event and checks the effect.
    pub fn take(&mut self, desk: &mut Desk, event: &Event) {
        self.tally.keys += u64::from(matches!(event, Event::Key(_)));
        let before = desk.app().prompt().map(|p| p.question.clone());
        let typed = desk.app().prompt().map(|p| p.editor.text().trim().to_string());
        let was_table = *desk.app().page() == Page::Table && desk.app().help().is_none();
        desk.take(event);
        let app = desk.app();
        if before.is_none() && was_table {
            self.held &= !matches!(event, Event::Key(key) if key.code == KeyCode::Esc);
            self.check_click(app, event);
        }
        // A set begins at its first row, unless it is refused.
        let of_set = matches!(event, Event::Key(key) if matches!(key.code, KeyCode::Char('1' | '2' | '5' | '6')));
        let refused = app.message().is_some_and(|message| message.is_error);
        self.held &= before.is_some() || app.help().is_some() || !of_set || refused;
        self.held |= app.selected().is_some();
        let now = app.prompt().map(|p| p.question.clone());
        // The palette does what a key would do on the page below it.
        self.palette |= before == Some(Question::Command) && now != before;
        let asked = before.clone().filter(|question| *question != Question::Command);
        match (&asked, &now) {
            (None, Some(Question::Pid(deed, offered))) => {
                self.check_offer(app, *deed, offered.as_ref());
                self.about = offered.clone();
            }
            (None, Some(q)) if target_of(q).is_some() => {
                let (deed, target) = target_of(q).expect("a question about someone");
                // A single tagged row need not be the marked one.
                let is_tagged = matches!(q, Question::Placement(..)) && app.has_tags();
                if !is_tagged {
                    self.check_offer(app, deed, Some(target));
                }
                self.about = Some(target.clone());
            }
            (Some(Question::Pid(..)), Some(q)) if before != now => {
                let (deed, target) = target_of(q).expect("a question about someone");
                self.check_typed(&typed.unwrap_or_default(), deed, target);
                self.about = Some(target.clone());
            }
            (None, Some(Question::GroupWeight(name, id) | Question::GroupMax(name, id))) => {
                self.check_group(app, name, *id);
            }
            _ => {}
        }
        if let Some((_, target)) = now.as_ref().and_then(target_of) {
            assert_eq!(Some(target), self.about.as_ref(), "asks about another task by now");
        }
        self.check_done(before.as_ref());
    }

    /// A click selects the row that was drawn there.
    fn check_click(&mut self, app: &App, event: &Event) {
        let Event::Mouse(mouse) = event else { return };
        let drawn = self.seen.rows.get(usize::from(mouse.row)).copied().flatten();
        let clicked = matches!(mouse.kind, MouseEventKind::Down(_));
        if !clicked || *app.page() != Page::Table {
            return;
        }
        // A row that has exited still counts as selected: no other row takes its place.
        self.held |= drawn.is_some();
        if let Some(Drawn::Task(serial)) = drawn {
            let key = self.machine.borrow().ever[&serial].key;
            let selected = app.selected();
            // The row may be gone, or be its leader's by now.
            assert!(
                selected.is_none() || selected == Some(RowId::Task(key)),
                "not the row clicked"
            );
            self.tally.clicked += u64::from(selected.is_some());
        }
    }

    /// The offered target must be the row marked on the screen, or one that keys selected since.
    fn check_offer(&mut self, app: &App, deed: ProcessAction, offered: Option<&Target>) {
        if self.palette {
            return;
        }
        self.tally.asked += 1;
        if let Page::Process(page) = app.page() {
            if let Some(target) = offered {
                assert_eq!(target.key.tgid, page.key.tgid, "not the process of this page");
            }
            return;
        }
        let moved = app.selected() != self.seen.selected && app.selected().is_some();
        let expected = match (app.selected(), moved) {
            (Some(RowId::Exited(..)), true) => Some(Drawn::Exited),
            (Some(RowId::Task(key)), true) => {
                let machine = self.machine.borrow();
                let serial = machine.ever.iter().find(|(_, who)| who.key == key).map(|(s, _)| *s);
                Some(Drawn::Task(serial.expect("someone who was")))
            }
            (Some(_), false) => self.seen.marked.or(Some(Drawn::Unreadable)),
            // The row was lost since the drawing: no other row takes its place.
            (None, _) if self.held => None,
            (None, _) => self.seen.first,
        };
        let machine = self.machine.borrow();
        let who = |serial: u64| machine.ever[&serial];
        match (expected, offered) {
            (Some(Drawn::Task(serial)), Some(target)) => {
                check_is(&machine, who(serial), deed, target);
                self.tally.read_off += u64::from(!moved);
            }
            (Some(Drawn::Task(serial)), None) => {
                let key = who(serial).key;
                let is_there = app.frame().is_some_and(|f| f.rows.iter().any(|r| r.key == key));
                // If only process 1 is tagged, nothing is tagged.
                let is_meant = key.tgid != 1 && !app.has_tags();
                assert!(!is_there || !is_meant, "{:?} is not offered", who(serial));
            }
            (Some(Drawn::Unreadable), _) => {}
            (Some(Drawn::Exited) | None, offered) => {
                assert_eq!(offered, None, "nobody was marked");
            }
        }
        self.tally.offered += u64::from(offered.is_some());
        assert!(offered.is_none_or(|t| t.key.tgid != 1), "process 1 is offered");
    }

    /// An empty answer, or the number on the screen, means the offered target.
    fn check_typed(&self, typed: &str, deed: ProcessAction, target: &Target) {
        let is_offered =
            self.about.as_ref().filter(|t| typed.is_empty() || typed.parse() == Ok(t.pid));
        if let Some(offered) = is_offered {
            return assert_eq!(target, offered);
        }
        let pid = typed.parse::<u32>().expect("a number");
        match deed {
            ProcessAction::Renice => assert_eq!(target.key.tid, pid),
            _ => assert_eq!(target.pid, target.key.tgid),
        }
    }

    fn check_group(&mut self, app: &App, name: &str, id: Option<u64>) {
        let Page::Groups(page) = app.page() else { panic!("asked on another page") };
        let selected = page.selected.as_ref().expect("a group");
        assert_eq!((selected.name.as_str(), selected.id), (name, id));
        let groups = app.frame().and_then(|f| f.groups.as_ref()?.as_ref().ok()).expect("groups");
        let is_it = |row: &GroupRow| (row.sample.name.as_str(), row.sample.id) == (name, id);
        assert!(groups.rows.iter().any(is_it), "{name} is not on the screen");
        self.limit = Some((name.into(), id));
    }

    /// Every action was confirmed just now, for the target of the question.
    fn check_done(&mut self, before: Option<&Question>) {
        let done = std::mem::take(&mut self.machine.borrow_mut().done);
        let is_of_many = matches!(
            before,
            Some(
                Question::KillTaggedConfirm(..)
                    | Question::ReniceTaggedConfirm(..)
                    | Question::PlacementConfirm(..)
            )
        );
        assert!(done.len() <= 1 || is_of_many, "one answer, one deed: {done:?}");
        for done in done {
            self.tally.done += 1;
            match (&done, before.expect("a question")) {
                (Done::Killed(hit), Question::KillConfirm(target, _))
                | (Done::Reniced(hit), Question::ReniceConfirm(target, _)) => {
                    assert_eq!((hit, Some(hit)), (target, self.about.as_ref()));
                    let lives = self.machine.borrow().task(hit.key.tid).is_some();
                    self.tally.gone += u64::from(!lives);
                }
                (Done::Killed(hit), Question::KillTaggedConfirm(targets, _))
                | (Done::Reniced(hit), Question::ReniceTaggedConfirm(targets, _)) => {
                    assert!(targets.contains(hit) && hit.key.tgid != 1, "{hit:?} of {targets:?}");
                }
                (Done::Placed(hit, place), Question::PlacementConfirm(targets, asked)) => {
                    assert!(targets.contains(hit), "{hit:?} of {targets:?}");
                    assert_eq!(place, asked);
                    // Process 1 is never one of many.
                    assert!(hit.key.tgid != 1 || targets.len() == 1, "{targets:?}");
                }
                (Done::Limited(limit), Question::GroupConfirm(_)) => {
                    assert_eq!(self.limit, Some((limit.group.clone(), limit.id)));
                }
                (done, question) => panic!("{done:?} after {question:?}"),
            }
        }
    }
}

/// Signals hit the process of the line, nice values its task.
fn check_is(machine: &Machine, who: Who, deed: ProcessAction, target: &Target) {
    let hit = machine.ever.values().find(|other| other.key == target.key);
    let hit = hit.expect("someone who was");
    assert_eq!(hit.process, who.process, "{target:?} is offered instead of {who:?}");
    match deed {
        ProcessAction::Renice => assert_eq!(target.key, who.key),
        _ => assert_eq!(target.pid, who.key.tgid),
    }
}

fn target_of(question: &Question) -> Option<(ProcessAction, &Target)> {
    match question {
        Question::KillSignal(t) | Question::KillConfirm(t, _) => Some((ProcessAction::Kill, t)),
        Question::ReniceValue(t) | Question::ReniceConfirm(t, _) => {
            Some((ProcessAction::Renice, t))
        }
        Question::Placement(deed, targets) => {
            Some((*deed, targets.first().filter(|_| targets.len() == 1)?))
        }
        Question::PlacementConfirm(targets, place) => {
            let deed = match place {
                Placement::Cpus(_) => ProcessAction::Affinity,
                Placement::Group(_) => ProcessAction::Move,
            };
            Some((deed, targets.first().filter(|_| targets.len() == 1)?))
        }
        _ => None,
    }
}

/// Names are `<n17>`, or `<x17>` for exited tasks.
fn read(line: &str) -> Drawn {
    let name = line.split('<').nth(1).and_then(|rest| rest.split_once('>'));
    match name.map(|(name, _)| name.split_at(1.min(name.len()))) {
        Some(("n", serial)) => serial.parse().map_or(Drawn::Unreadable, Drawn::Task),
        Some(("x", _)) => Drawn::Exited,
        _ if line.contains("exited") || line.contains('×') => Drawn::Exited,
        _ => Drawn::Unreadable,
    }
}
