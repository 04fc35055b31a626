//! What is in the drawings, as text.

use exactop_plot::{Axis, Chart, Mark, Piece, Point, Series, Strips, PALE};

fn chart() -> Chart {
    let points = vec![
        Point { x: 1.0, y: 10.0, interval: Some((8.0, 12.0)) },
        Point { x: 10.0, y: 100.0, interval: Some((90.0, 110.0)) },
    ];
    let series =
        |name: &str, mark| Series { name: name.into(), mark, colour: None, points: points.clone() };
    Chart {
        title: "shares <b> & \"more\"".into(),
        x: Axis { log: true, ..Axis::of("tasks") },
        y: Axis::of("time, ms"),
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
fn names_stand_where_numbers_would() {
    let mut named = chart();
    named.x = Axis { names: vec!["cores".into(), "nice".into()], ..Axis::of("experiment") };
    named.series[0].points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
    named.series.truncate(1);
    let svg = named.svg().unwrap();
    assert!(svg.contains("cores") && svg.contains("nice"));
}

#[test]
fn strips_have_a_piece_for_each_stretch() {
    let strips = Strips {
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
    };
    let svg = strips.svg().unwrap();
    assert!(svg.contains("CPU 1") && svg.contains("b&lt;"));
    assert!(svg.contains("neither") && svg.matches("#D6D6D6").count() == 2, "piece and legend");
    // The background, three pieces and three squares of the legend.
    assert_eq!(svg.matches("<rect").count(), 1 + 3 + 3);
}
