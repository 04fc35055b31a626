//! Text that a person has put into the page of benchmarks, which a new run keeps:
//! the lines from `<!-- by hand -->` to `<!-- end -->`, below the same heading.

const BEGIN: &str = "<!-- by hand -->";
const END: &str = "<!-- end -->";

/// The text by hand of a section of the page, with its marks; empty if there is none.
pub fn of(page: &str, title: &str) -> String {
    let heading = format!("## {title}");
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let mut inside = false;
    let mut text = String::new();
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        inside |= line == BEGIN;
        if inside {
            text += line;
            text.push('\n');
        }
        inside &= line != END;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn only_the_marked_lines_of_that_section_are_kept() {
        let page = "## A\n<!-- by hand -->\nx\n<!-- end -->\nno\n## B\nno\n<!-- by hand -->\ny\n\nz\n<!-- end -->\n";
        assert_eq!(of(page, "A"), "<!-- by hand -->\nx\n<!-- end -->\n");
        assert_eq!(of(page, "B"), "<!-- by hand -->\ny\n\nz\n<!-- end -->\n");
        assert_eq!(of(page, "C"), "");
    }
}
