//! A page of headings, paragraphs, tables and pictures, as HTML, Markdown and text.

use super::ink::hex;
use comfy_table::{presets, CellAlignment, ContentArrangement, Table};
use exactop_model::palette::{Hue, Rgb, Tone, GROUND, INK, PALE};
use exactop_model::text::escape::harmless;
use std::fmt::Write;

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading; level 1 is the page's.
    Heading(u8, String),
    /// A paragraph with a label in front, which may be empty.
    Paragraph(&'static str, String),
    /// Titles and rows of cells; the first column is text.
    Table(Vec<String>, Vec<Vec<String>>),
    /// A list of lines.
    List(Vec<String>),
    /// A picture: its file name, its caption, its SVG.
    Picture(String, String, String),
}

/// A page: its parts in order.
#[derive(Clone, Debug, Default)]
pub struct Document(pub Vec<Block>);

/// Readable on a phone, in the dark and on paper; loads nothing.
const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:56rem;margin:0 auto;padding:1rem}
h1{font-size:1.7rem;line-height:1.2}h2{margin-top:2.5rem;border-bottom:1px solid var(--pale);padding-bottom:.2rem}
h3{margin-top:1.6rem}
.wide{overflow-x:auto;margin:0 0 1rem}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal;min-width:9rem}
th{border-bottom:2px solid var(--pale)}
td.inside{color:var(--inside)}td.outside{color:var(--outside);font-weight:700}td.cant{color:var(--cant)}
figure{margin:1rem 0}svg{width:100%;height:auto;border:1px solid var(--line)}
figcaption{font-size:.85rem;color:var(--soft)}
@media(max-width:640px){figure{overflow-x:auto}svg{min-width:620px}}
@media print{body{max-width:none;font-size:11pt}h2{break-before:page}figure,table{break-inside:avoid}}
";

/// Lines between rows: they carry no meaning.
const LINE: Tone = Tone { light: (216, 219, 224), dark: (54, 59, 68) };

/// The page's colours by name, all of the palette.
fn colours() -> [(&'static str, Tone); 8] {
    [
        ("ground", GROUND),
        ("ink", INK),
        ("pale", PALE),
        ("line", LINE),
        ("soft", Hue::Sleep.tone()),
        ("inside", Hue::Block.tone()),
        ("outside", Hue::Throttled.tone()),
        ("cant", Hue::RunQueue.tone()),
    ]
}

/// The page's style; on paper it is light.
fn style() -> String {
    let variables = |of: fn(Tone) -> Rgb| -> String {
        let variable = |(name, tone)| format!("--{name}:{};", hex(of(tone)));
        colours().into_iter().map(variable).collect()
    };
    format!(
        ":root{{color-scheme:light dark;{}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n\
         @media print{{:root{{color-scheme:light}}}}\n{STYLE}",
        variables(|tone| tone.light),
        variables(|tone| tone.dark)
    )
}

impl Document {
    /// File name and SVG of each picture.
    pub fn pictures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|block| match block {
            Block::Picture(file, _, svg) => Some((file.as_str(), svg.as_str())),
            _ => None,
        })
    }

    /// One self-contained file.
    pub fn html(&self) -> String {
        let title = self.0.iter().find_map(|block| match block {
            Block::Heading(1, title) => Some(html(title)),
            _ => None,
        });
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
            title.unwrap_or_default(),
            style()
        );
        for block in &self.0 {
            html_block(&mut out, block);
        }
        out + "</body>\n</html>\n"
    }

    /// Text for a terminal or a mail, without pictures.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for block in &self.0 {
            text_block(&mut out, block);
        }
        out
    }

    /// Markdown; its pictures are in `plots/`.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        for block in &self.0 {
            markdown_block(&mut out, block);
            out.push('\n');
        }
        out
    }
}

/// Escapes a foreign text onto one line.
fn line(text: &str) -> String {
    harmless(&text.replace(['\n', '\t'], " "))
}

/// Escapes a foreign text for HTML.
fn html(text: &str) -> String {
    let mut out = String::new();
    for c in line(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

// Writing to a string does not fail.
fn html_block(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Heading(level, text) => writeln!(out, "<h{level}>{}</h{level}>", html(text)),
        Block::Paragraph("", text) => writeln!(out, "<p>{}</p>", html(text)),
        Block::Paragraph(what, text) => {
            writeln!(out, "<p><strong>{}</strong> {}</p>", html(what), html(text))
        }
        Block::List(lines) => {
            let items: String = lines.iter().map(|l| format!("<li>{}</li>\n", html(l))).collect();
            writeln!(out, "<ul>\n{items}</ul>")
        }
        Block::Picture(_, title, svg) => writeln!(
            out,
            "<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>",
            svg.trim(),
            html(title)
        ),
        Block::Table(titles, rows) => {
            let heads: String = titles.iter().map(|t| format!("<th>{}</th>", html(t))).collect();
            let _ = writeln!(out, "<div class=\"wide\"><table>\n<tr>{heads}</tr>");
            for row in rows {
                let cells: String = row.iter().map(|cell| td(cell)).collect();
                let _ = writeln!(out, "<tr>{cells}</tr>");
            }
            writeln!(out, "</table></div>")
        }
    };
}

/// A cell; verdicts have colours.
fn td(cell: &str) -> String {
    let class = match cell {
        "inside" => " class=\"inside\"",
        "OUTSIDE" => " class=\"outside\"",
        "can't tell" => " class=\"cant\"",
        _ => "",
    };
    format!("<td{class}>{}</td>", html(cell))
}

/// Escapes a foreign text for Markdown: no markup, link, heading, list or quotation.
fn markdown(text: &str) -> String {
    let mut out = String::new();
    // A negative figure and the sign for a missing one do not begin a block.
    let begins_a_block = text.len() > 1 && text.parse::<f64>().is_err();
    for (i, c) in line(text).chars().enumerate() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            // Viewers turn these into links by themselves.
            ':' | '@' if text.contains("://") || c == '@' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '$' | '~' => out.extend(['\\', c]),
            '#' | '+' | '-' | '=' if i == 0 && begins_a_block => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.replace("www.", "www&#46;")
}

fn markdown_block(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Heading(level, text) => {
            writeln!(out, "{} {}", "#".repeat(usize::from(*level)), markdown(text))
        }
        Block::Paragraph("", text) => writeln!(out, "{}", markdown(text)),
        Block::Paragraph(what, text) => writeln!(out, "**{what}** {}", markdown(text)),
        Block::List(lines) => {
            lines.iter().try_for_each(|line| writeln!(out, "- {}", markdown(line)))
        }
        Block::Picture(file, title, _) => {
            writeln!(out, "![{}](plots/{file})", markdown(title))
        }
        Block::Table(titles, rows) => {
            let line = |cells: &[String]| {
                let cells: Vec<String> = cells.iter().map(|cell| markdown(cell)).collect();
                format!("| {} |", cells.join(" | "))
            };
            let _ = writeln!(out, "{}", line(titles));
            let right = "---:|".repeat(titles.len().saturating_sub(1));
            let _ = writeln!(out, "|---|{right}");
            rows.iter().try_for_each(|row| writeln!(out, "{}", line(row)))
        }
    };
}

fn text_block(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Heading(level, text) => {
            let text = line(text);
            let under = if *level == 1 { "=" } else { "-" };
            writeln!(out, "{text}\n{}\n", under.repeat(text.chars().count()))
        }
        Block::Paragraph("", text) => writeln!(out, "{}\n", line(text)),
        Block::Paragraph(what, text) => writeln!(out, "{what} {}\n", line(text)),
        Block::List(lines) => {
            lines.iter().for_each(|item| out.push_str(&format!("* {}\n", line(item))));
            writeln!(out)
        }
        Block::Picture(..) => Ok(()),
        Block::Table(titles, rows) => {
            let mut table = Table::new();
            table.load_style(presets::NOTHING);
            table.set_content_arrangement(ContentArrangement::Disabled);
            table.set_header(titles.iter().map(|title| line(title)));
            table.add_rows(rows.iter().map(|row| row.iter().map(|cell| line(cell))));
            for (at, column) in table.column_iter_mut().enumerate() {
                let left = at == 0;
                column.set_cell_alignment(match left {
                    true => CellAlignment::Left,
                    false => CellAlignment::Right,
                });
                column.set_padding((0, 2));
            }
            table.lines().for_each(|line| out.push_str(&format!("{}\n", line.trim_end())));
            writeln!(out)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "<script>\x1b[2J|`\n";
        let document = Document(vec![
            Block::Heading(1, hostile.into()),
            Block::Table(vec!["a".into()], vec![vec![hostile.into()]]),
            Block::List(vec![hostile.into()]),
        ]);
        for page in [document.html(), document.markdown(), document.text()] {
            assert!(!page.contains('\x1b'), "{page}");
        }
        for page in [document.html(), document.markdown()] {
            assert!(!page.contains("<script>"), "{page}");
        }
        assert!(document.markdown().lines().all(|line| !line.starts_with("| <")));
    }

    #[test]
    fn a_page_is_self_contained() {
        let document = Document(vec![Block::Heading(1, "t".into())]);
        let html = document.html();
        for elsewhere in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!html.contains(elsewhere), "{elsewhere}");
        }
        assert!(html.contains("name=\"viewport\"") && html.contains("@media print"));
        assert!(html.contains("prefers-color-scheme:dark") && !html.contains("#fff;c"));
    }
}
