//! Validity of a trial, by other activity on the lab's CPUs in the ledger.

use crate::definition::Limits;
use crate::record::Point;

/// Why a trial is discarded; `None` if it is valid.
pub fn judge(point: &Point, limits: &Limits) -> Option<String> {
    let over = |what: &str, found: f64, limit: f64| {
        (found > limit).then(|| format!("{what} {found:.1} % > {limit} %"))
    };
    let unsaid = |what, found: Option<f64>, limit| found.and_then(|found| over(what, found, limit));
    if let Some(off) = point.residual_ns.filter(|&off| off != 0) {
        return Some(format!("the books are off by {off} ns"));
    }
    unsaid("steal", point.steal_pct, limits.steal_pct)
        .or_else(|| unsaid("foreign CPU time", point.foreign_pct, limits.foreign_pct))
        .or_else(|| unsaid("interrupts", point.irq_pct, limits.irq_pct))
        .or_else(|| unsaid("unnamed CPU time", point.unnamed_pct, limits.unnamed_pct))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exceeded_limit_is_named_with_both_figures() {
        let limits = Limits::default();
        let point = Point { steal_pct: Some(4.12), ..Point::default() };
        assert_eq!(judge(&point, &limits).unwrap(), "steal 4.1 % > 1 %");
        let point = Point { foreign_pct: Some(30.0), ..Point::default() };
        assert_eq!(judge(&point, &limits).unwrap(), "foreign CPU time 30.0 % > 1 %");
        let point = Point { residual_ns: Some(-3), ..Point::default() };
        assert!(judge(&point, &limits).unwrap().contains("off by -3 ns"));
        let point = Point { steal_pct: Some(1.0), foreign_pct: Some(1.0), ..Point::default() };
        assert_eq!(judge(&point, &limits), None);
    }
}
