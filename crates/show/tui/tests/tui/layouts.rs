//! At every size: no panic, and nothing outside the screen.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::columns::COLUMNS;
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::layout::{
    cpu_grid, cpu_strip, least_rest, place, screen, Cpus, HeaderLine, LayoutNeeds, Widths, CPU_GAP,
};
use exactop_tui::{App, AutoSwitch, Settings};
use proptest::prelude::*;

fn per_cpu() -> impl Strategy<Value = AutoSwitch> {
    prop::sample::select(&[AutoSwitch::Auto, AutoSwitch::Always, AutoSwitch::Never][..])
}

proptest! {
    #[test]
    fn placed_columns_stay_on_the_line_in_order(
        width in 1u16..300,
        offset in 0usize..20,
        chosen in prop::collection::vec(0..COLUMNS.len(), 1..30),
        sort in 0..COLUMNS.len(),
        grown in prop::collection::vec(0usize..40, 30),
        long: bool,
    ) {
        let columns: Vec<_> = chosen.iter().map(|&i| &COLUMNS[i]).collect();
        let mut widths = Widths::default();
        for (column, &cell) in columns.iter().zip(&grown) {
            widths.grow(column, cell);
        }
        let placed = place(&columns, &widths, &COLUMNS[sort], offset, width, least_rest(width, long));
        let mut x = 0;
        for p in &placed {
            prop_assert!(p.x >= x || p.width == 0);
            prop_assert!(p.end() <= width || p.width == 0, "{p:?} on {width}");
            x = p.end() + 1;
        }
    }

    #[test]
    fn the_parts_of_a_screen_fill_it_once(
        width in 1u16..300, height in 1u16..100, cpus in 0usize..1100, recorded: bool, findings: bool,
        footer: bool, per_cpu in per_cpu(),
    ) {
        let cpus = Cpus::without_gaps(cpus);
        let wants = LayoutNeeds { cpus, per_cpu, recorded, findings, footer, reserved: false };
        if let Some(s) = screen(width, height, wants) {
            prop_assert_eq!(usize::from(s.status_y), s.header.len());
            prop_assert_eq!((s.heading_y, s.body_y), (s.status_y + 1, s.status_y + 2));
            let end = s.body_y + s.body_rows;
            prop_assert_eq!(s.footer_y, (footer && height >= 20).then_some(height - 1));
            prop_assert_eq!(s.footer_y.unwrap_or(height), end);
            prop_assert!(s.body_rows >= 4);
            prop_assert_eq!(s.header.contains(&HeaderLine::Time), recorded);
            let line = s.header.iter().position(|line| *line == HeaderLine::Findings);
            let below = s.header.iter().position(|line| *line == HeaderLine::Books).map(|y| y + 1);
            prop_assert_eq!(line, below.filter(|_| findings && height > 10 + u16::from(recorded)));
        }
    }

    #[test]
    fn a_finding_does_not_move_the_table(
        width in 40u16..300, height in 10u16..100, cpus in 0usize..9, recorded: bool, footer: bool,
        per_cpu in per_cpu(),
    ) {
        let of = |findings| {
            let cpus = Cpus::without_gaps(cpus);
            let wants = LayoutNeeds { cpus, per_cpu, recorded, findings, reserved: true, footer };
            screen(width, height, wants)
        };
        let [quiet, said] = [false, true].map(|findings| of(findings).map(|s| (s.body_y, s.body_rows)));
        prop_assert_eq!(quiet, said);
    }

    #[test]
    fn cpu_cells_stay_on_the_line(width in 1u16..300, cpus in 1usize..5000, lines in 1u16..20) {
        if let Some(g) = cpu_grid(width, Cpus::without_gaps(cpus), lines) {
            prop_assert!(g.lines <= lines);
            let used = g.per_line * (g.cell + CPU_GAP) - CPU_GAP;
            prop_assert!(used <= width || g.per_line == 1, "{g:?} on {width}");
        }
    }

    #[test]
    fn a_strip_has_all_cpus_and_stays_on_the_line(
        width in 1u16..300, cpus in 1usize..5000, lines in 1u16..20, offline in 0u32..5000,
    ) {
        let all = Cpus::without_gaps(cpus);
        let all = Cpus { last: all.last + offline, ..all };
        if let Some(s) = cpu_strip(width, all, lines) {
            prop_assert!(usize::from(s.label) > format!("cpu-{}", all.last).len(), "{s:?}");
            prop_assert!(s.lines <= lines);
            prop_assert!(s.label + s.per_line + s.figure <= width, "{s:?} on {width}");
            let [marks, per_mark] = [s.per_line * s.lines, s.per_mark].map(usize::from);
            prop_assert!(marks * per_mark >= cpus, "{s:?} of {cpus}");
            prop_assert!(marks - usize::from(s.per_line) < cpus.div_ceil(per_mark), "an empty line");
        }
        prop_assert!(width < 40 || cpu_strip(width, all, lines).is_some());
    }

}

proptest! {
    // Drawing whole pages is slow in a debug build.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_size_panics_on_any_page(
        width in 0u16..300, height in 0u16..100, per_cpu in per_cpu(), tree: bool, threads: bool,
        microstates: bool, page in 0usize..9,
    ) {
        let settings = Settings { per_cpu, tree, threads, microstates, ..Settings::default() };
        let mut app = App::new(settings).unwrap();
        app.resize(width, height);
        let keys = [
            KeyCode::Down, KeyCode::Enter, KeyCode::Char('h'), KeyCode::Char('f'), KeyCode::Char('k'),
            KeyCode::Char('!'), KeyCode::Char('y'), KeyCode::Char('g'), KeyCode::Char('K'),
        ];
        for i in 0..3 {
            app.accept(arranged(&app.ask(), i), &mut details);
            app.look(&mut details);
            draw(&app, Theme::FULL, &mut Canvas::new(width, height));
            app.on_event(&Event::Key(KeyEvent::new(keys[page], KeyModifiers::NONE)));
        }
        // The terminal may have another size when the page is drawn.
        draw(&app, Theme::FULL, &mut Canvas::new(height, width));
    }
}
