//! Compiles the BPF programs and generates their Rust skeletons. An object is built again only if
//! its own files changed; as many are built at once as cargo has jobs.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "bpf")]
    bpf::build();
}

#[cfg(feature = "bpf")]
mod bpf {
    use libbpf_cargo::SkeletonBuilder;
    use std::collections::hash_map::DefaultHasher;
    use std::ffi::OsStr;
    use std::hash::{Hash, Hasher};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::{env, fs};

    const DIR: &str = "../../../bpf";

    /// Every `NAME.bpf.c` there is an object of its own.
    pub fn build() {
        println!("cargo:rerun-if-changed={DIR}");
        let named = |path: PathBuf| {
            let name =
                path.file_name().and_then(OsStr::to_str)?.strip_suffix(".bpf.c")?.to_string();
            Some((name, path))
        };
        let sources: Vec<_> = files(Path::new(DIR)).into_iter().filter_map(named).collect();
        let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..sources.len().min(jobs) {
                scope.spawn(|| {
                    while let Some((name, source)) =
                        sources.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        Object::new(name).make(source);
                    }
                });
            }
        });
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the BPF programs are beside the crates");
        let paths = entries.map(|entry| entry.expect("a directory that can be read").path());
        paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    /// The files made from one source, all in cargo's directory for this script.
    struct Object {
        object: PathBuf,
        skeleton: PathBuf,
        /// The files that clang read, as a rule of make.
        rule: PathBuf,
        /// Hash of these files and of the compiler's arguments.
        stamp: PathBuf,
        args: Vec<String>,
    }

    impl Object {
        fn new(name: &str) -> Object {
            let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
            let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the target");
            let rule = out.join(format!("{name}.d"));
            // Debian keeps asm/types.h, which linux/bpf.h includes, in a directory for each
            // architecture.
            let multiarch = format!("-I/usr/include/{arch}-linux-gnu");
            // Version 3 of the instruction set: atomics that return a value (Linux 5.12).
            let flags = ["-mcpu=v3", "-Wall", "-Werror", "-I", DIR, &multiarch, "-MD", "-MF"];
            let args = flags.into_iter().map(String::from).chain([rule.display().to_string()]);
            Object {
                object: out.join(format!("{name}.o")),
                skeleton: out.join(format!("{name}.skel.rs")),
                stamp: out.join(format!("{name}.stamp")),
                args: args.collect(),
                rule,
            }
        }

        fn make(&self, source: &Path) {
            let made = fs::read_to_string(&self.stamp).ok();
            if made.is_some() && made == self.hash() && self.skeleton.exists() {
                return;
            }
            let _ = fs::remove_file(&self.stamp);
            let built = SkeletonBuilder::new()
                .source(source)
                .clang_args(&self.args)
                .obj(&self.object)
                .build_and_generate(&self.skeleton);
            if let Err(error) = built {
                panic!(
                    "cannot build {}: {error:#}\n\
                     (needs clang, libelf and zlib: apt-get install clang libelf-dev zlib1g-dev \
                     pkg-config; or build without BPF: --no-default-features)",
                    source.display()
                );
            }
            if let Some(hash) = self.hash() {
                fs::write(&self.stamp, hash).expect("cargo's directory for this script");
            }
        }

        /// Hash of the inputs; `None` before the first build.
        fn hash(&self) -> Option<String> {
            let mut hasher = DefaultHasher::new();
            self.args.hash(&mut hasher);
            // The hash of this program covers libbpf's headers, which it contains and writes to a
            // temporary directory.
            fs::read(env::current_exe().ok()?).ok()?.hash(&mut hasher);
            let rule = fs::read_to_string(&self.rule).ok()?;
            let (_, files) = rule.split_once(": ")?;
            let files = files.split_whitespace().filter(|&word| word != "\\");
            files.for_each(|file| fs::read(file).ok().hash(&mut hasher));
            Some(hasher.finish().to_string())
        }
    }
}
