//! Content of the drawings, as text.

use exactop_model::palette::{self, Hue, Tone};
use exactop_report::plot::{
    Areas, Axis, Cell, Chart, Heat, Mark, Piece, Point, Series, Strips, Whole, PALE,
};

fn chart() -> Chart {
    let points = vec![
        Point { x: 1.0, y: 10.0, interval: Some((8.0, 12.0)) },
        Point { x: 10.0, y: 100.0, interval: Some((90.0, 110.0)) },
    ];
    let series =
        |name: &str, mark| Series { name: name.into(), mark, colour: None, points: points.clone() };
    Chart {
        title: "shares <b> & \"more\"".into(),
        x: Axis { log: true, ..Axis::new("tasks") },
        y: Axis::new("time, ms"),
        series: vec![
            series("measured", Mark::Intervals),
            series("predicted", Mark::Prediction),
            series("", Mark::Line),
            series("each", Mark::Points),
        ],
    }
}

#[test]
fn a_chart_says_what_it_shows_and_hostile_text_stays_text() {
    let svg = chart().svg().unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    for text in ["measured", "predicted", "each", "tasks", "time, ms", "&lt;b&gt; &amp;"] {
        assert!(svg.contains(text), "no '{text}' in {svg}");
    }
    assert!(!svg.contains("<b>") && !svg.contains("NaN") && !svg.contains("<script"));
    assert_eq!(svg.matches("<circle").count(), 2 + 2);
}

#[test]
fn nothing_and_nonsense_are_drawn_too() {
    let mut empty = chart();
    empty.series.clear();
    assert!(empty.svg().is_ok());
    let mut odd = chart();
    for series in &mut odd.series {
        series.points = vec![Point::at(0.0, f64::NAN), Point::at(-3.0, 1.0), Point::at(5.0, 5.0)];
    }
    let svg = odd.svg().unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn figures_beyond_any_axis_fail_without_a_panic() {
    let far: [&[f64]; 4] = [
        &[1.7e308, -1.7e308],
        &[1e16, 1e16 + 2.0],
        &[1e14, 1e14 + 0.015625],
        &[f64::MIN_POSITIVE, 5e-324],
    ];
    for figures in far {
        for log in [false, true] {
            let mut chart = chart();
            chart.x.log = log;
            chart.y.log = log;
            for series in &mut chart.series {
                series.points = figures.iter().map(|&at| Point::at(at, at)).collect();
            }
            let svg = chart.svg().expect("a drawing");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
    for range in [(-1.7e308, 1.7e308), (0.0, f64::NAN), (1e15, 1e15 + 0.125), (5.0, 1.0)] {
        let piece = Piece { lane: 7, of: 0, from: f64::NEG_INFINITY, to: 1e300 };
        let pieces = vec![piece, Piece { lane: 0, ..piece }];
        let strips = Strips { range, lanes: vec!["CPU".into()], pieces, ..Strips::default() };
        let svg = strips.svg().expect("a drawing");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn characters_invalid_in_xml_are_escaped_and_long_text_is_cut() {
    let hostile = "\x1b[2J\x00 ]]> \u{fffe}\u{202e}";
    let mut chart = chart();
    chart.title = hostile.into();
    chart.x = Axis { names: vec![hostile.into(), "x".repeat(5000)], ..Axis::new(hostile) };
    chart.series[0].name = hostile.into();
    let strips = Strips {
        title: hostile.into(),
        x_label: hostile.into(),
        range: (0.0, 1.0),
        lanes: vec![hostile.into()],
        names: vec![hostile.into()],
        pale: hostile.into(),
        pieces: Vec::new(),
    };
    for svg in [chart.svg().expect("a drawing"), strips.svg().expect("a drawing")] {
        assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
        assert!(svg.contains("\\x1b[2J\\x00") && !svg.contains('\u{202e}'), "{svg}");
        assert!(!svg.contains(&"x".repeat(200)), "{svg}");
    }
}

#[test]
fn names_replace_numbers_on_an_axis() {
    let mut named = chart();
    named.x = Axis { names: vec!["cores".into(), "nice".into()], ..Axis::new("experiment") };
    named.series[0].points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
    named.series.truncate(1);
    let svg = named.svg().unwrap();
    assert!(svg.contains("cores") && svg.contains("nice"));
}

fn strips() -> Strips {
    Strips {
        title: "who ran".into(),
        x_label: "ms".into(),
        range: (0.0, 10.0),
        lanes: vec!["CPU 0".into(), "CPU 1".into()],
        names: vec!["a".into(), "b<".into()],
        pale: "neither".into(),
        pieces: vec![
            Piece { lane: 0, of: 0, from: 0.0, to: 4.0 },
            Piece { lane: 1, of: 1, from: 4.0, to: 10.0 },
            Piece { lane: 0, of: PALE, from: 4.0, to: 10.0 },
        ],
    }
}

#[test]
fn strips_have_a_rectangle_for_each_piece() {
    let svg = strips().svg().unwrap();
    assert!(svg.contains("CPU 1") && svg.contains("b&lt;"));
    assert!(
        svg.contains("neither") && svg.matches("\"pale\" fill").count() == 2,
        "piece and legend"
    );
    // The background, three pieces, and three squares of the legend.
    assert_eq!(svg.matches("<rect").count(), 1 + 3 + 3);
}

fn areas() -> Areas {
    let whole = |n: u64| Whole { from: n as f64, to: n as f64 + 1.0, parts: vec![n, 7, 30 - n] };
    Areas {
        title: "<b> parts".into(),
        x_label: "s".into(),
        y_label: "% of it".into(),
        names: vec![("one".into(), 0), ("<script>".into(), 1), ("rest".into(), PALE)],
        wholes: (0..10).map(whole).collect(),
        ..Areas::default()
    }
}

#[test]
fn areas_fill_all_of_their_height_at_every_instant() {
    let svg = areas().svg().unwrap();
    assert!(!svg.contains("<script") && !svg.contains("<b>"));
    let drawing = roxmltree::Document::parse(&svg).unwrap();
    let number =
        |node: &roxmltree::Node, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let mut columns = std::collections::BTreeMap::<i64, Vec<(i64, i64)>>::new();
    // The first is the background; the last three are the legend's.
    let rectangles: Vec<_> = drawing.descendants().filter(|n| n.has_tag_name("rect")).collect();
    for node in &rectangles[1..rectangles.len() - 3] {
        let (top, height) = (number(node, "y") as i64, number(node, "height") as i64);
        columns.entry(number(node, "x") as i64).or_default().push((top, top + height));
    }
    assert_eq!(columns.len(), 10);
    let ends: Vec<(i64, i64)> = columns
        .values_mut()
        .map(|column| {
            column.sort_unstable();
            assert!(column.windows(2).all(|pair| pair[0].1 == pair[1].0), "{column:?}");
            (column[0].0, column[column.len() - 1].1)
        })
        .collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "from the top to the bottom: {ends:?}");
    assert!(Areas::default().svg().is_ok());
}

#[test]
fn heat_maps_are_darker_where_the_value_is_higher() {
    let cell = |row, part| Cell { row, from: 0.0, to: 1.0, part };
    let heat = Heat {
        title: "CPUs".into(),
        x_label: "s".into(),
        rows: vec!["CPU 0".into(), "<i>".into()],
        cells: vec![cell(0, 0.0), cell(1, 1.0), cell(5, 1.0), cell(0, f64::NAN)],
    };
    let svg = heat.svg().unwrap();
    assert!(svg.contains("CPU 0") && svg.contains("&lt;i&gt;") && !svg.contains("<i>"));
    let shades = ["opacity=\"0.06\" class=\"user\"", "opacity=\"1\" class=\"user\""];
    assert!(shades.iter().all(|shade| svg.contains(shade)), "{svg}");
    assert!(Heat::default().svg().is_ok());
}

#[test]
fn every_colour_of_a_drawing_is_of_the_palette_and_has_one_for_the_dark() {
    let hex = |(r, g, b): (u8, u8, u8)| format!("#{r:02x}{g:02x}{b:02x}");
    let tones = Hue::ALL.map(Hue::tone).into_iter().chain([palette::GROUND, palette::INK]);
    let tones: Vec<Tone> = tones.chain([palette::PALE]).collect();
    let heat = Heat { title: "CPUs".into(), rows: vec!["CPU 0".into()], ..Heat::default() };
    for svg in [chart().svg(), strips().svg(), areas().svg(), heat.svg()] {
        let svg = svg.unwrap();
        let drawing = roxmltree::Document::parse(&svg).unwrap();
        let style = drawing.descendants().find(|n| n.has_tag_name("style")).unwrap();
        let (light, dark) = style.text().unwrap().split_once("@media").unwrap();
        assert!(dark.contains("prefers-color-scheme:dark"));
        for node in drawing.descendants() {
            assert!(node
                .attribute("font-family")
                .is_none_or(|family| family.contains("system-ui")));
            let colours = ["fill", "stroke"].map(|name| node.attribute(name));
            if !colours.contains(&Some("currentColor")) {
                assert!(colours.iter().flatten().all(|colour| *colour == "none"), "{node:?}");
                continue;
            }
            let class = node.attribute("class").unwrap();
            let is_both = |tone: &Tone| {
                let rule = |rgb| format!(".plot .{class}{{color:{}}}", hex(rgb));
                light.contains(&rule(tone.light)) && dark.contains(&rule(tone.dark))
            };
            assert!(tones.iter().any(is_both), "{class}: {light} {dark}");
        }
        assert!(!svg.to_lowercase().contains("=\"#") && !svg.contains("=\"white"), "{svg}");
    }
}
