//! `exactop load matmul`.

use super::{cpus, line};
use crate::failure::Failure;
use crate::output::Signals;
use clap::Args;
use exactop_model::words::units::duration;
use exactop_workloads::compute::matmul::{self, Options, Product};
use serde_json::{json, Value};
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A time later than the end of any job.
const FAR: Duration = Duration::from_secs(1_000_000_000);

/// Options of `exactop load matmul`.
#[derive(Debug, Args)]
pub struct Matmul {
    /// Set the number of rows and columns, 1 to 65536
    #[arg(value_name = "N", value_parser = crate::options::parse::number::<usize>)]
    size: usize,
    /// Use N threads [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = super::some)]
    threads: Option<usize>,
    /// Compute the product again in one thread and compare
    #[arg(long)]
    verify: bool,
    /// Print JSON objects: generated, multiplied
    #[arg(long)]
    json: bool,
}

/// Multiplies the matrices and prints the result's figures.
///
/// # Errors
/// The size is out of bounds, memory is missing, the result is wrong, or a signal ended it.
pub fn run(options: &Matmul) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let threads = options.threads.unwrap_or_else(cpus);
    let how = Options { size: options.size, threads, verify: options.verify };
    let stop = Arc::new(AtomicBool::new(false));
    let (working, at_work) = std::io::pipe().map_err(Failure::cannot("make a pipe"))?;
    let worker = {
        let (stop, json) = (stop.clone(), options.json);
        std::thread::spawn(move || {
            let product = matmul::run(how, &stop, || say(json, how));
            drop(at_work);
            product
        })
    };
    // The end of the job closes the pipe, which wakes this thread at once.
    let far = Instant::now() + FAR;
    let ended = signals.wait(far, &[working.as_fd()]).map(|_| ());
    stop.store(true, Ordering::Relaxed);
    let Ok(product) = worker.join() else {
        return Err(Failure::failed(
            "a thread of the multiplication panicked: report this with the line above",
        ));
    };
    ended?;
    let product = product.map_err(Failure::usage)?;
    signals.write(done(options.json, how, &product).as_bytes())?;
    if product.verified == Some(false) {
        return Err(Failure::failed("the threads' result differs from that of one thread: check the memory and the CPU of this machine"));
    }
    Ok(())
}

/// Prints a line between the two parts. A write error is ignored: standard error may be closed.
fn say(json: bool, how: Options) {
    let text = match json {
        true => line("matmul", json!({ "event": "generated", "size": how.size })),
        false => format!("multiplying {0} x {0}, {1} threads ...\n", how.size, how.threads),
    };
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn done(json: bool, how: Options, product: &Product) -> String {
    if json {
        let fields: Value = json!({
            "event": "multiplied",
            "size": how.size,
            "threads": how.threads,
            "generate_ns": product.generate_ns,
            "multiply_ns": product.multiply_ns,
            "verified": product.verified,
        });
        return line("matmul", fields);
    }
    let verified = match product.verified {
        Some(true) => ", verified",
        Some(false) => ", WRONG",
        None => "",
    };
    format!(
        "generated in {}, multiplied in {}{verified}\n",
        duration(product.generate_ns),
        duration(product.multiply_ns)
    )
}
