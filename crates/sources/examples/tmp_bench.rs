use exactop_model::Needs;
use exactop_sources::{procfs::Procfs, Request, Source};
use rustix::time::{clock_gettime, ClockId};
fn cpu() -> f64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 / 1e6
}
fn main() {
    let mut p = Procfs::open(std::path::Path::new("/proc")).unwrap();
    for (name, needs) in [
        ("none", Needs::NONE),
        ("schedstat", Needs::SCHEDSTAT),
        ("status", Needs::STATUS),
        ("threads", Needs::THREADS),
    ] {
        let r = Request { needs, watch: None };
        let t = cpu();
        let n = p.snapshot(&r).unwrap().tasks.len();
        let first = cpu() - t;
        let t = cpu();
        for _ in 0..10 {
            p.snapshot(&r).unwrap();
        }
        println!("{name}: {n} tasks first {first:.2} then {:.2} ms cpu", (cpu() - t) / 10.);
    }
    use rustix::fs::*;
    let root = rustix::fs::open("/proc", OFlags::RDONLY, Mode::empty()).unwrap();
    let pids: Vec<String> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|e| {
            let n = e.unwrap().file_name().into_string().unwrap();
            n.parse::<u32>().ok().map(|_| n)
        })
        .collect();
    let mut buf = vec![0u8; 4096];
    let fds: Vec<_> = pids
        .iter()
        .take(9000)
        .filter_map(|p| openat(&root, format!("{p}/stat"), OFlags::RDONLY, Mode::empty()).ok())
        .collect();
    let t = cpu();
    for fd in &fds {
        let _ = rustix::io::pread(fd, &mut buf[..], 0);
    }
    println!("pread1st {:.3} us", (cpu() - t) / fds.len() as f64 * 1e3);
    let t = cpu();
    for _ in 0..5 {
        for fd in &fds {
            let _ = rustix::io::pread(fd, &mut buf[..], 0);
        }
    }
    println!("pread {:.3} us", (cpu() - t) / 5. / fds.len() as f64 * 1e3);
    let t = cpu();
    for _ in 0..5 {
        for p in &pids {
            let _ = statat(&root, p.as_str(), AtFlags::empty());
        }
    }
    println!("statat {:.3} us", (cpu() - t) / 5. / pids.len() as f64 * 1e3);
    drop(fds);
    let dirs: Vec<_> = pids
        .iter()
        .take(9000)
        .filter_map(|p| openat(&root, p.as_str(), OFlags::PATH, Mode::empty()).ok())
        .collect();
    let t = cpu();
    for _ in 0..5 {
        for d in &dirs {
            let _ = fstat(d);
        }
    }
    println!("fstat O_PATH dir {:.3} us", (cpu() - t) / 5. / dirs.len() as f64 * 1e3);
    drop(dirs);
    let t = cpu();
    for p in &pids {
        if let Ok(fd) = openat(&root, format!("{p}/stat"), OFlags::RDONLY, Mode::empty()) {
            let _ = rustix::io::pread(&fd, &mut buf[..], 0);
        }
    }
    println!("open+pread+close {:.3} us", (cpu() - t) / pids.len() as f64 * 1e3);
    let t = cpu();
    for _ in 0..5 {
        rustix::fs::seek(&root, rustix::fs::SeekFrom::Start(0)).unwrap();
        let mut b = vec![std::mem::MaybeUninit::uninit(); 32768];
        let mut r = RawDir::new(&root, &mut b);
        while let Some(e) = r.next() {
            e.unwrap();
        }
    }
    println!("getdents {:.3} us/pid", (cpu() - t) / 5. / pids.len() as f64 * 1e3);
}
