//! Compiles the BPF programs and generates their Rust skeleton.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "bpf")]
    bpf::build();
}

#[cfg(feature = "bpf")]
mod bpf {
    use libbpf_cargo::SkeletonBuilder;
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    const DIR: &str = "../../bpf";

    /// Every `NAME.bpf.c` in there is an object of its own.
    pub fn build() {
        println!("cargo:rerun-if-changed={DIR}");
        for source in files(Path::new(DIR)) {
            let name = source.file_name().and_then(OsStr::to_str);
            if let Some(object) = name.and_then(|name| name.strip_suffix(".bpf.c")) {
                build_one(object, &source);
            }
        }
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the BPF programs are beside the crates");
        let paths = entries.map(|entry| entry.expect("a directory that can be read").path());
        paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    fn build_one(object: &str, source: &Path) {
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the target");
        // Debian keeps asm/types.h, which linux/bpf.h includes, in a directory per architecture.
        let multiarch = format!("-I/usr/include/{arch}-linux-gnu");
        // Version 3 of the instruction set: atomics that return a value (Linux 5.12).
        let args = ["-mcpu=v3", "-Wall", "-Werror", "-I", DIR, &multiarch];
        let built = SkeletonBuilder::new()
            .source(source)
            .clang_args(args)
            .obj(out.join(format!("{object}.o")))
            .build_and_generate(out.join(format!("{object}.skel.rs")));
        if let Err(error) = built {
            panic!(
                "cannot build {}: {error:#}\n\
                 (needs clang, libelf and zlib: apt-get install clang libelf-dev zlib1g-dev \
                 pkg-config; or build without BPF: --no-default-features)",
                source.display()
            );
        }
    }
}
