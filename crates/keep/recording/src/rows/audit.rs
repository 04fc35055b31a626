//! Audit: how far the figures of a task or an exited group are from the kernel's own counts. Files
//! older than the audit lack these columns; the machine's row then says that nothing was audited.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use exactop_model::ledger::audit::{Difference, ExitAudit, ExitedDifference, TaskAudit};

pub(super) fn put_task(cells: &mut Cells, audit: &TaskAudit) {
    let TaskAudit { run, lat, repairs } = audit;
    for difference in [run, lat] {
        cells.int(difference.error_ns).int(difference.bias_ns);
    }
    cells.uint(*repairs);
}

pub(super) fn get_task(f: &mut Fields) -> Result<TaskAudit, FrameError> {
    let Some([run_error, run_bias, lat_error, lat_bias, repairs]) = figures(f)? else {
        return Ok(TaskAudit::default());
    };
    let difference =
        |error: u64, bias: u64| Difference { error_ns: error as i64, bias_ns: bias as i64 };
    Ok(TaskAudit {
        run: difference(run_error, run_bias),
        lat: difference(lat_error, lat_bias),
        repairs,
    })
}

pub(super) fn put_exit(cells: &mut Cells, audit: &ExitAudit) {
    let ExitAudit { run, lat, repaired } = audit;
    for difference in [run, lat] {
        let ExitedDifference { error_ns, bias_ns, worst_ns } = *difference;
        cells.uint(error_ns).uint(bias_ns).uint(worst_ns);
    }
    cells.uint(*repaired);
}

pub(super) fn get_exit(f: &mut Fields) -> Result<ExitAudit, FrameError> {
    let Some([run_error, run_bias, run_worst, lat_error, lat_bias, lat_worst, repaired]) =
        figures(f)?
    else {
        return Ok(ExitAudit::default());
    };
    let difference = |error_ns, bias_ns, worst_ns| ExitedDifference { error_ns, bias_ns, worst_ns };
    Ok(ExitAudit {
        run: difference(run_error, run_bias, run_worst),
        lat: difference(lat_error, lat_bias, lat_worst),
        repaired,
    })
}

/// Reads all N figures; `None` if none is there.
fn figures<const N: usize>(f: &mut Fields) -> Result<Option<[u64; N]>, FrameError> {
    let read: [Option<u64>; N] = std::array::from_fn(|_| f.uint());
    if read.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut figures = [0; N];
    for (figure, read) in figures.iter_mut().zip(read) {
        *figure = read.ok_or(FrameError::Missing)?;
    }
    Ok(Some(figures))
}
