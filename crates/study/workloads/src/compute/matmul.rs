//! Multiplies two dense square matrices, column by column, in any number of threads.

use super::since;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// Largest size, as in the program that this is modelled on.
pub const MAX_SIZE: usize = 65_536;

/// Why matrices cannot be multiplied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The size is not in 1..=[`MAX_SIZE`].
    #[error("matrix size {0}: write 1 to 65536")]
    Size(usize),
    /// The matrices do not fit into memory.
    #[error("{size} x {size} takes {needed} MiB, and {available} MiB are available: choose a smaller size")]
    Memory {
        /// The size.
        size: usize,
        /// Required memory, MiB.
        needed: u64,
        /// Available memory, MiB.
        available: u64,
    },
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Computed columns: all, unless stopped.
    pub columns: usize,
    /// Time to fill the matrices, ns.
    pub generate_ns: u64,
    /// Time to multiply, ns.
    pub multiply_ns: u64,
    /// True if a single thread gets the same result; `None` if not requested.
    pub verified: Option<bool>,
}

/// Options of a multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rows and columns.
    pub size: usize,
    /// Number of threads.
    pub threads: usize,
    /// Compute once more in one thread and compare.
    pub verify: bool,
}

/// Multiplies; calls `began` when the matrices are filled.
pub fn run(options: Options, stop: &AtomicBool, began: impl FnOnce()) -> Result<Product, Refusal> {
    let size = options.size;
    if size == 0 || size > MAX_SIZE {
        return Err(Refusal::Size(size));
    }
    check_memory(size, if options.verify { 4 } else { 3 })?;
    let generating = Instant::now();
    let (a, b) = (random(size, 1), random(size, 2));
    let generate_ns = since(generating);
    began();
    let multiplying = Instant::now();
    let product = multiply(&a, &b, size, options.threads, stop);
    let multiply_ns = since(multiplying);
    let columns = product.iter().filter(|column| !column.is_empty()).count();
    let whole = columns == size;
    let verified = (options.verify && whole).then(|| {
        let once_more = multiply(&a, &b, size, 1, stop);
        once_more.iter().all(|c| !c.is_empty()) && once_more == product
    });
    Ok(Product { columns, generate_ns, multiply_ns, verified })
}

/// Checks memory first: overcommitted memory would end the program in the middle.
fn check_memory(size: usize, matrices: u64) -> Result<(), Refusal> {
    let needed = matrices * (size as u64 * size as u64 * 8).div_ceil(1 << 20);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    match kib.map(|kib| kib / 1024) {
        Some(available) if needed > available => Err(Refusal::Memory { size, needed, available }),
        _ => Ok(()),
    }
}

/// Values of 0 to 1 from a xorshift generator: the same in each run.
fn random(size: usize, seed: u64) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15 ^ seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..size * size).map(|_| next()).collect()
}

/// Columns of the product; those not computed before `stop` are empty.
fn multiply(a: &[f64], b: &[f64], size: usize, threads: usize, stop: &AtomicBool) -> Vec<Vec<f64>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut mine = Vec::new();
        loop {
            let column = next.fetch_add(1, Ordering::Relaxed);
            if column >= size || stop.load(Ordering::Relaxed) {
                return mine;
            }
            mine.push((column, one_column(a, b, size, column)));
        }
    };
    let mut product = vec![Vec::new(); size];
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        // Workers do not panic.
        done.extend(workers.into_iter().filter_map(|w| w.join().ok()).flatten());
        for (column, values) in done {
            product[column] = values;
        }
    });
    product
}

/// In the order of the program that this is modelled on: a row of A times a column of B.
fn one_column(a: &[f64], b: &[f64], size: usize, column: usize) -> Vec<f64> {
    a.chunks_exact(size)
        .map(|row| row.iter().enumerate().map(|(i, x)| x * b[i * size + column]).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_get_the_result_of_one() {
        let go = AtomicBool::new(false);
        for (size, threads) in [(1, 1), (7, 2), (33, 4), (5, 9)] {
            let product = run(Options { size, threads, verify: true }, &go, || ()).unwrap();
            assert_eq!((product.columns, product.verified), (size, Some(true)));
        }
        let product = multiply(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 2, 1, &go);
        assert_eq!(product, [[19.0, 43.0], [22.0, 50.0]]);
    }

    #[test]
    fn sizes_out_of_bounds_are_refused_without_overflow() {
        let run =
            |size| run(Options { size, threads: 1, verify: false }, &AtomicBool::new(true), || ());
        assert_eq!(run(0), Err(Refusal::Size(0)));
        assert_eq!(run(65_537), Err(Refusal::Size(65_537)));
        // 96 GiB: refused if not available, and never computed as 0.
        if let Err(refusal) = check_memory(65_536, 3) {
            assert!(matches!(refusal, Refusal::Memory { needed: 98_304, .. }), "{refusal}");
        }
    }

    #[test]
    fn it_stops_when_told() {
        let product =
            run(Options { size: 50, threads: 2, verify: true }, &AtomicBool::new(true), || ());
        assert_eq!(product.map(|p| (p.columns, p.verified)), Ok((0, None)));
    }
}
