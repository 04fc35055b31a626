//! Names that look like markup, a phone, dark mode, and paper.

use super::drawn::{Planted, HOSTILE};
use super::shown;
use exactop_web::page::Limits;

#[test]
fn hostile_names_are_text() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let table = page.words("document.getElementById('rows').textContent");
    assert!(table.contains(HOSTILE), "{table}");
    assert_eq!(
        page.words("document.getElementById('title').textContent"),
        "exactop: made-up <b>host</b>"
    );
    page.browser.ask("exactop.address.go({ by: 'cgroup' })");
    let table = page.words("document.getElementById('rows').textContent");
    assert!(table.contains("/</script><script>window.bad=1</script>\\u{2028}"), "{table}");
    let made = page.number(
        "document.querySelectorAll('img, b, body script:not([type]):not(:last-of-type)').length",
    );
    assert_eq!(made, 0.0);
    assert_eq!(page.words("String(window.bad)"), "undefined");
    // A script that the policy forbids does not run.
    let blocked = page.browser.ask(
        "new Promise(done => { addEventListener('securitypolicyviolation', () => done('blocked')); \
         const made = document.createElement('div'); \
         try { made.setAttribute('onclick', 'window.bad = 2'); document.body.append(made); made.click(); } catch { done('blocked'); } \
         setTimeout(() => done(String(window.bad)), 2000); })",
    );
    assert_eq!(blocked, "blocked");
}

#[test]
fn it_fits_a_phone_and_the_dark() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    page.browser.look(360, 740, true);
    page.browser
        .ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    let wide = page.number("document.documentElement.scrollWidth");
    assert!(wide <= 360.0, "{wide} pixels");
    assert_eq!(page.words("getComputedStyle(document.body).backgroundColor"), "rgb(20, 22, 26)");
    let idle = page.words(
        "(() => { const c = exactop.balance.canvas; return c.getContext('2d').getImageData(c.width >> 1, 0, 1, 1).data.slice(0, 3).join(); })()",
    );
    assert_eq!(idle, "38,42,49", "idle time in the dark");
    page.browser.picture("phone-dark");
    page.browser.look(1200, 900, true);
    page.browser
        .ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    page.browser.picture("dark");
    page.is_quiet();
}
