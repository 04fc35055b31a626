//! The page as one file that may run only its own script, and that loads nothing.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use sha2::{Digest, Sha256};

const PAGE: &str = include_str!("../../page/page.html");
const STYLE: &str = include_str!("../../page/page.css");
/// Scripts in the order of their dependencies.
const SCRIPTS: [&str; 15] = [
    include_str!("../../page/data.js"),
    include_str!("../../page/words.js"),
    include_str!("../../page/address.js"),
    include_str!("../../page/files.js"),
    include_str!("../../page/plot.js"),
    include_str!("../../page/time.js"),
    include_str!("../../page/table.js"),
    include_str!("../../page/look.js"),
    include_str!("../../page/sizes.js"),
    include_str!("../../page/culprits.js"),
    include_str!("../../page/row.js"),
    include_str!("../../page/groups.js"),
    include_str!("../../page/pairs.js"),
    include_str!("../../page/keys.js"),
    include_str!("../../page/page.js"),
];

/// The page's script.
pub fn script() -> String {
    let scripts: String = SCRIPTS.into_iter().collect();
    format!("'use strict';\n(() => {{\n{scripts}}})();\n")
}

/// The page's style.
pub fn style() -> &'static str {
    STYLE
}

/// The page's content security policy: this script, this style; a live page may also connect to its
/// server.
pub fn policy(is_live: bool) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    let connect = if is_live { "; connect-src 'self'" } else { "" };
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:{connect}; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
        hash(&script()),
        hash(STYLE),
    )
}

/// The page as one file, with its data if there are any (a [`crate::page::Document`] as JSON).
pub fn html(title: &str, json: Option<&str>) -> String {
    let data = json.map_or("null".into(), harmless_json);
    // Data are inserted last, so that they cannot hold a placeholder.
    PAGE.replace("{{TITLE}}", &harmless_text(title))
        .replace("{{POLICY}}", &policy(json.is_none()))
        .replace("{{STYLE}}", STYLE)
        .replace("{{SCRIPT}}", &script())
        .replacen("{{DATA}}", &data, 1)
}

/// JSON that every HTML parser takes as text.
fn harmless_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out += "\\u003c",
            '>' => out += "\\u003e",
            '&' => out += "\\u0026",
            '\u{2028}' => out += "\\u2028",
            '\u{2029}' => out += "\\u2029",
            c => out.push(c),
        }
    }
    out
}

fn harmless_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('{', "&#123;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::palette::Hue;

    #[test]
    fn hostile_data_stay_data() {
        let hostile = "</script><!--<script>alert(1)</script>\u{2028}{{SCRIPT}}";
        let json = serde_json::to_string(hostile).expect("JSON");
        let page = html("</title>{{DATA}}", Some(&json));
        let begin = "<script type=\"application/json\" id=\"data\">";
        let (_, data) = page.split_once(begin).expect("where data are");
        let (data, _) = data.split_once("</script>").expect("their end");
        let back: String = serde_json::from_str(data).expect("JSON");
        assert_eq!(back, hostile);
        assert!(!data.contains(['<', '>', '&', '\u{2028}']), "{data}");
        assert_eq!(page.matches("</script>").count(), 2, "the data and the script");
        assert!(page.contains("<title>&lt;/title&gt;&#123;&#123;DATA}}</title>"));
    }

    /// Sleep is as quiet as the ground, because it is most of most pages.
    #[test]
    fn the_colours_of_states_are_those_of_the_terminal() {
        let (light, dark) = STYLE.split_once("prefers-color-scheme: dark").expect("both");
        for hue in Hue::ALL.into_iter().filter(|hue| *hue != Hue::Sleep) {
            for (style, ((r, g, b), _)) in [(light, hue.on_light()), (dark, hue.on_dark())] {
                let line = format!("--{}: #{r:02x}{g:02x}{b:02x};", hue.name());
                assert_eq!(style.matches(&line).count(), 1, "{line}");
            }
        }
    }

    #[test]
    fn the_page_without_data_is_small() {
        let bytes = html("a page", None).len();
        println!("{bytes} bytes");
        assert!(bytes <= 300_000, "{bytes}");
    }

    #[test]
    fn the_page_names_no_other_server() {
        // A namespace is a name: nothing is loaded from it.
        let page = html("a page", Some("null")).replace("http://www.w3.org/2000/svg", "");
        for elsewhere in ["http:", "https:", "src=", "@import", "url(", "innerHTML", "eval("] {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("connect-src"));
        assert!(!page.contains("unsafe-"), "nothing is allowed that is not known");
    }
}
