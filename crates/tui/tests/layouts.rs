//! Whatever the size: no panic, nothing outside the screen.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::columns::COLUMNS;
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::layout::{
    cpu_grid, least_rest, place, screen, HeaderLine, Wants, Widths, CPU_GAP,
};
use exactop_tui::{App, Settings};
use proptest::prelude::*;

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
        footer: bool,
    ) {
        let wants = Wants { cpus, recorded, findings, footer, reserved: false };
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
    ) {
        let of = |findings| {
            screen(width, height, Wants { cpus, recorded, findings, reserved: true, footer })
        };
        let [quiet, said] = [false, true].map(|findings| of(findings).map(|s| (s.body_y, s.body_rows)));
        prop_assert_eq!(quiet, said);
    }

    #[test]
    fn cpu_cells_stay_on_the_line(width in 1u16..300, cpus in 1usize..5000, lines in 1u16..20) {
        if let Some(g) = cpu_grid(width, cpus, lines) {
            prop_assert!(g.lines <= lines);
            let used = g.per_line * (g.cell + CPU_GAP) - CPU_GAP;
            prop_assert!(used <= width || g.per_line == 1, "{g:?} on {width}");
        }
    }

}

proptest! {
    // Drawing whole pages is slow in a debug build.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_size_panics_on_any_page(
        width in 0u16..300, height in 0u16..100, per_cpu: bool, tree: bool, threads: bool,
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
        // The terminal may have another size by the time of drawing.
        draw(&app, Theme::FULL, &mut Canvas::new(height, width));
    }
}
