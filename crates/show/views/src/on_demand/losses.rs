//! Losses of a window as text and JSON, the same for all programs that are attached on demand.

use crate::Sheet;
use exactop_model::on_demand::losses::Losses;
use exactop_model::words::losses::lines;
use serde_json::Value;

/// A line for each kind of loss. `event` names what is counted, `unseen` explains events that were
/// not seen.
pub fn text(losses: &Losses, event: &str, unseen: &str, sheet: Sheet) -> String {
    lines(losses, event, unseen).iter().map(|line| sheet.line(line, 2)).collect()
}

/// Puts `lost`, `skipped`, `unseen`, `tables_bytes` and `left_out` into a window's object.
pub fn tell(losses: &Losses, object: &mut Value) {
    object["lost"] = losses.lost.into();
    object["skipped"] = losses.skipped.into();
    object["unseen"] = losses.unseen.into();
    object["tables_bytes"] = losses.tables_bytes.into();
    object["left_out"] = losses.left_out.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_has_its_reason_and_no_loss_prints_nothing() {
        let sheet = Sheet::rows(1);
        let none = Losses { skipped: Some(0), ..Losses::default() };
        assert_eq!(text(&none, "wait", "", sheet), "");
        let losses = Losses {
            lost: 3,
            skipped: Some(2),
            unseen: 1,
            tables_bytes: Some(1 << 20),
            left_out: 7,
        };
        insta::assert_snapshot!(text(&losses, "wait", "ended unseen", sheet), @r"
        3 waits missing: the tables were full
        waits may be missing: the kernel skipped 2 runs of the programs that count
        1 wait ended unseen
        7 rows left out, with the smallest figures: the daemon's answer had no room for more
        ");
        let mut object = serde_json::json!({});
        tell(&losses, &mut object);
        assert_eq!(
            object.to_string(),
            r#"{"left_out":7,"lost":3,"skipped":2,"tables_bytes":1048576,"unseen":1}"#
        );
        tell(&Losses::default(), &mut object);
        assert!(object["skipped"].is_null() && object["tables_bytes"].is_null());
    }
}
