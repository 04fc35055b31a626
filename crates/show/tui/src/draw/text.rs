//! Pieces of text on a line: cut to a width, or left out if they do not fit.

use super::theme::{Ink, Theme};
use crate::app::matching;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Heights of a bar of one character, the lowest first.
pub(super) const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A graph of parts of 1 in one line: two to a character of braille, or one to a bar without it.
pub(super) fn graph(parts: &[f32], theme: Theme) -> String {
    if !theme.braille {
        let eighth = |part: &f32| EIGHTHS[((part * 8.0) as usize).min(EIGHTHS.len() - 1)];
        return parts.iter().map(eighth).collect();
    }
    // Columns of up to four dots, from below. The newest part stands at the right.
    const LEFT: [u8; 5] = [0, 0x40, 0x44, 0x46, 0x47];
    const RIGHT: [u8; 5] = [0, 0x80, 0xA0, 0xB0, 0xB8];
    let dots = |part: f32| (part * 4.0).ceil().clamp(0.0, 4.0) as usize;
    let (odd, pairs) = parts.split_at(parts.len() % 2);
    let first = odd.iter().map(|&part| RIGHT[dots(part)]);
    let rest = pairs.chunks(2).map(|pair| LEFT[dots(pair[0])] | RIGHT[dots(pair[1])]);
    let glyph = |dots: u8| char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ');
    first.chain(rest).map(glyph).collect()
}

/// Windows that one character of a graph holds.
pub(super) fn per_glyph(theme: Theme) -> usize {
    if theme.braille {
        2
    } else {
        1
    }
}

/// Cuts text to a width; `…` marks the cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let mut room = width.saturating_sub(1);
    let mut out = String::new();
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if w > room {
            break;
        }
        room -= w;
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Cuts a list to a width after a whole part, because a part of a figure reads as another figure;
/// `…` marks the cut.
pub(super) fn cut_to_part(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let after = |ends: &[&str]| {
        let found = ends.iter().flat_map(|end| text.match_indices(end));
        found.map(|(at, end)| at + end.len()).filter(|&at| text[..at].width() < width).max()
    };
    match after(&[", ", " · "]).or_else(|| after(&[" "])) {
        Some(at) => format!("{}…", &text[..at]),
        None => cut(text, width),
    }
}

/// The parts of a line that fit into a width; `…` marks the cut.
pub(super) fn cut_parts<'a>(
    parts: &[(&'a str, Style)],
    width: usize,
) -> Vec<(Cow<'a, str>, Style)> {
    let is_cut = parts.iter().map(|(text, _)| text.width()).sum::<usize>() > width;
    let (mut room, mut kept) = (width, Vec::with_capacity(parts.len()));
    for &(text, style) in parts {
        if is_cut && text.width() >= room {
            // More text follows, so a part that fills the room is cut, too.
            kept.push((cut(&format!("{text}…"), room).into(), style));
            break;
        }
        room -= text.width();
        kept.push((text.into(), style));
    }
    kept
}

/// A line of the table: one text, and where each style ends in it. As pieces with memory of their
/// own, its cells and gaps would be some sixty allocations.
#[derive(Debug, Default)]
pub struct StyledText {
    text: String,
    ends: Vec<(usize, Style)>,
}

impl StyledText {
    /// Empty, with room for some cells.
    pub fn with_room(cells: usize) -> StyledText {
        StyledText { text: String::with_capacity(2 * cells), ends: Vec::with_capacity(cells / 2) }
    }

    /// Appends text.
    pub fn push(&mut self, text: &str, style: Style) {
        self.text.push_str(text);
        self.ends.push((self.text.len(), style));
    }

    /// Appends a [`cell`].
    pub fn push_cell(&mut self, text: &str, width: usize, left: bool, style: Style) {
        push_cell(&mut self.text, text, width, left);
        self.ends.push((self.text.len(), style));
    }

    /// Appends blanks.
    pub fn push_blanks(&mut self, width: usize) {
        self.push(&blanks(width), Style::default());
    }

    /// The texts and their styles.
    pub fn parts(&self) -> impl Iterator<Item = (&str, Style)> {
        let mut at = 0;
        self.ends.iter().map(move |&(end, style)| {
            let from = std::mem::replace(&mut at, end);
            (&self.text[from..end], style)
        })
    }

    /// Gives every match of a searched text this style.
    #[must_use]
    pub fn highlighted(self, searched: &str, style: Style) -> StyledText {
        let StyledText { text, ends } = self;
        let next =
            |from: usize| matching::find(&text, searched, from).filter(|found| !found.is_empty());
        let (mut found, mut at, mut marked) = (next(0), 0, Vec::with_capacity(ends.len()));
        for (end, own) in ends {
            while at < end {
                let (until, inside) = match &found {
                    Some(found) if found.start <= at => (found.end.min(end), true),
                    Some(found) => (found.start.min(end), false),
                    None => (end, false),
                };
                marked.push((until, if inside { own.patch(style) } else { own }));
                at = until;
                if found.as_ref().is_some_and(|found| found.end == at) {
                    found = next(at);
                }
            }
        }
        StyledText { text, ends: marked }
    }
}

/// Blanks, without memory of their own up to the width of nearly every screen.
pub(super) fn blanks(width: usize) -> Cow<'static, str> {
    const MANY: &str = match str::from_utf8(&[b' '; 256]) {
        Ok(blanks) => blanks,
        Err(_) => " ",
    };
    MANY.get(..width).map_or_else(|| " ".repeat(width).into(), Cow::from)
}

/// Cuts text in its middle to a width: names of one kind differ at their ends.
pub fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width || width < 3 {
        return cut(text, width);
    }
    let head = cut(text, width.div_ceil(2));
    let mut room = width - head.width();
    let mut from = text.len();
    for (at, c) in text.char_indices().rev() {
        let w = c.width().unwrap_or(0);
        if w > room {
            break;
        }
        room -= w;
        from = at;
    }
    head + &text[from..]
}

/// Text in lines of at most `width`, broken at any character, so that nothing is lost. All lines
/// but the first are indented.
pub fn folded(text: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = indent.min(width / 2);
    let mut lines = vec![String::new()];
    let mut room = width;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if w > room && room < width {
            lines.push(" ".repeat(indent));
            room = width - indent;
        }
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
        room = room.saturating_sub(w);
    }
    lines
}

/// Cuts and pads text to exactly a width. A figure that does not fit becomes `*`, because a part of
/// a number is a wrong number.
pub fn cell(text: &str, width: usize, left: bool) -> String {
    let mut out = String::with_capacity(text.len().max(width));
    push_cell(&mut out, text, width, left);
    out
}

fn push_cell(out: &mut String, text: &str, width: usize, left: bool) {
    let fits = text.width() <= width;
    let shown = match left {
        _ if fits => Cow::from(text),
        true => cut(text, width).into(),
        false => "*".repeat(width.min(1)).into(),
    };
    let blanks = blanks(width - shown.width());
    let (first, last) = if left { (shown, blanks) } else { (blanks, shown) };
    out.push_str(&first);
    out.push_str(&last);
}

/// A part of a line that is shown whole or not at all.
pub struct Piece {
    rank: u8,
    spans: Vec<Span<'static>>,
}

impl Piece {
    /// A piece of one ink. The lowest ranks are left out first.
    pub fn new(rank: u8, theme: Theme, ink: Ink, text: impl Into<Cow<'static, str>>) -> Piece {
        let mut spans = Vec::with_capacity(4);
        spans.push(Span::styled(text, theme.style(ink)));
        Piece { rank, spans }
    }

    /// Appends text.
    pub fn and(mut self, theme: Theme, ink: Ink, text: impl Into<Cow<'static, str>>) -> Piece {
        self.spans.push(Span::styled(text, theme.style(ink)));
        self
    }

    /// Rank of the piece: the lowest ranks are left out first.
    pub fn rank(&self) -> u8 {
        self.rank
    }

    /// Width in cells.
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }
}

/// The width of all pieces with gaps between.
pub fn width(pieces: &[Piece], gap: &str) -> usize {
    let text: usize = pieces.iter().map(Piece::width).sum();
    text + gap.width() * pieces.len().saturating_sub(1)
}

/// The pieces that fit, in their order.
pub fn pack(mut pieces: Vec<Piece>, gap: &'static str, room: usize) -> Line<'static> {
    while width(&pieces, gap) > room && pieces.len() > 1 {
        let out = pieces.iter().enumerate().rev().min_by_key(|(_, p)| p.rank).map_or(0, |(i, _)| i);
        pieces.remove(out);
    }
    let mut spans = Vec::new();
    for (i, piece) in pieces.into_iter().enumerate() {
        if i > 0 {
            spans.push(Span::raw(gap));
        }
        spans.extend(piece.spans);
    }
    Line::from(spans)
}

/// Puts a line at (`x`, `y`), at most `width` cells of it.
pub fn put(buf: &mut Buffer, x: u16, y: u16, width: u16, line: &Line) {
    let parts = line.spans.iter().map(|span| (&*span.content, line.style.patch(span.style)));
    put_parts(buf, (x, y), width, parts);
}

/// Puts texts of their own styles at (`x`, `y`), at most `width` cells of them.
pub fn put_parts<'a>(
    buf: &mut Buffer,
    (x, y): (u16, u16),
    width: u16,
    parts: impl Iterator<Item = (&'a str, Style)>,
) {
    if buf.area.height <= y || buf.area.width <= x {
        return;
    }
    let end = x + width.min(buf.area.width - x);
    let mut at = x;
    for (text, style) in parts {
        if at == end {
            break;
        }
        at = put_part(buf, at, y, end, text, style);
    }
}

/// Puts text at (`x`, `y`), before `end`; returns its end. Nearly all of a screen is printable
/// ASCII, which needs neither segmentation nor width lookups: that halves the cost of drawing.
fn put_part(buf: &mut Buffer, x: u16, y: u16, end: u16, text: &str, style: Style) -> u16 {
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return buf.set_stringn(x, y, text, usize::from(end - x), style).0;
    }
    let bytes = &text.as_bytes()[..text.len().min(usize::from(end - x))];
    let from = buf.index_of(x, y);
    for (cell, &byte) in buf.content[from..].iter_mut().zip(bytes) {
        cell.set_char(char::from(byte)).set_style(style);
    }
    x + bytes.len() as u16
}

/// Puts a line at the right edge.
pub fn put_right(buf: &mut Buffer, y: u16, line: &Line) {
    let width = line.width().min(usize::from(buf.area.width)) as u16;
    put(buf, buf.area.width - width, y, width, line);
}

/// A bar of parts, each with its own character so that it is readable without colours. The parts
/// are shares of 1; the rest is blank.
pub fn bar(parts: &[(f64, char, Ink)], width: usize, theme: Theme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let (mut share, mut at) = (0.0, 0);
    for &(part, glyph, ink) in parts {
        share += part;
        // Ends are rounded, not lengths, so that parts which fill the bar reach its last cell.
        let end = ((share * width as f64).round().max(0.0) as usize).min(width);
        if end > at {
            spans.push(Span::styled(glyph.to_string().repeat(end - at), theme.style(ink)));
            at = end;
        }
    }
    spans.push(Span::raw(blanks(width - at)));
    spans
}

/// Seconds with three decimals.
pub(super) fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

/// Text in lines of at most `width`, indented.
pub(super) fn wrapped(text: &str, indent: usize, width: usize) -> Vec<Line<'static>> {
    let room = width.min(indent + 90).saturating_sub(indent).max(10);
    let lines = in_lines(text, room).into_iter();
    lines.map(|l| Line::raw(format!("{}{l}", " ".repeat(indent)))).collect()
}

/// Text in lines of at most `room`, broken between words.
pub(super) fn in_lines(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.width() + 1 + word.width() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::layout::Rect;

    #[test]
    fn a_graph_has_two_parts_to_a_character_of_braille() {
        let all = [0.0, 0.01, 0.26, 0.5, 0.75, 0.76, 1.0];
        let theme = Theme::FULL;
        // The odd one stands alone, so that the newest ends a character.
        assert_eq!(graph(&all, theme), "\u{2800}\u{28e0}\u{28f4}\u{28ff}");
        assert_eq!(graph(&[], theme), "");
        assert_eq!(graph(&all, theme.in_ascii()), "▁▁▃▅▇▇█");
    }

    #[test]
    fn a_list_is_cut_after_a_whole_part() {
        let list = "34 waits, p99 41.0us, max 1.20ms · 日本 7.5 %";
        for (width, cut) in [
            (45, list),
            (44, "34 waits, p99 41.0us, max 1.20ms · …"),
            (35, "34 waits, p99 41.0us, …"),
            (22, "34 waits, …"),
            (10, "34 …"),
            (3, "34…"),
            (0, ""),
        ] {
            assert_eq!(cut_to_part(list, width), cut, "{width}");
        }
    }

    #[test]
    fn text_is_put_as_ratatui_puts_it() {
        let pieces = ["ab", " ~", "日本", "x\ty", "", "é…", "long enough to be cut at the edge"];
        let style = Style::new().bold();
        for width in 0..30 {
            for x in [0, 3, 29] {
                let spans = pieces.map(|piece| Span::styled(piece, style));
                let line = Line::from(spans.to_vec()).style(Style::new().dim());
                let area = Rect::new(0, 0, 30, 2);
                let (mut ours, mut theirs) = (Buffer::empty(area), Buffer::empty(area));
                put(&mut ours, x, 1, width, &line);
                theirs.set_line(x, 1, &line, width.min(30 - x));
                assert_eq!(ours, theirs, "{width} cells from {x}");
            }
        }
    }

    #[test]
    fn cells_have_their_width_whatever_is_in_them() {
        for (text, width) in [("日本語", 4), ("日本語", 5), ("ab", 0), ("ab", 1), ("", 3)] {
            assert_eq!(cell(text, width, true).width(), width, "{text} in {width}");
            assert_eq!(cell(text, width, false).width(), width, "{text} in {width}");
        }
        assert_eq!(cell("12345", 4, false), "   *");
    }

    #[test]
    fn folded_text_is_complete() {
        assert_eq!(folded("abcdefgh", 4, 2), ["abcd", "  ef", "  gh"]);
        assert_eq!(
            (folded("abcd", 4, 2), folded("", 4, 2)),
            (vec!["abcd".into()], vec![String::new()])
        );
        for width in 2..12 {
            let lines = folded("日本語 a long line é日本語", width, 2);
            assert!(lines.iter().all(|line| line.width() <= width.max(3)), "{lines:?} in {width}");
            let text: String = lines.concat().split_whitespace().collect();
            assert_eq!(text, "日本語alonglineé日本語", "in {width}");
        }
    }

    #[test]
    fn names_keep_both_ends() {
        assert_eq!(cut_middle("pod00000000-0000-0001", 13), "pod000…0-0001");
        assert_eq!(
            (cut_middle("short", 5), cut_middle("longer", 2)),
            ("short".into(), "l…".into())
        );
        for width in 0..12 {
            let cut = cut_middle("日本語日本語", width);
            assert!(cut.width() <= width, "{cut} in {width}");
        }
    }

    #[test]
    fn a_full_bar_is_full() {
        let third = 1.0 / 3.0;
        let parts = [(third, 'a', Ink::User), (third, 'b', Ink::System), (third, 'c', Ink::Idle)];
        for width in 0..40 {
            let text: String =
                bar(&parts, width, Theme::MONO).iter().map(|s| s.content.to_string()).collect();
            assert_eq!((text.trim_end().len(), text.len()), (width, width));
        }
    }
}
