//! Compiles the BPF programs and generates their Rust skeleton.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "bpf")]
    bpf::build();
}

#[cfg(feature = "bpf")]
mod bpf {
    use libbpf_cargo::SkeletonBuilder;
    use std::env;
    use std::path::{Path, PathBuf};

    const DIR: &str = "../../bpf";

    /// The ledger, what is attached on demand, and the enums they share with their readers.
    const OBJECTS: [&str; 7] =
        ["enums", "ledger", "snapshot", "switchlog", "syscalls", "waits", "wakeups"];

    pub fn build() {
        println!("cargo:rerun-if-changed={DIR}");
        for object in OBJECTS {
            build_one(object);
        }
    }

    fn build_one(object: &str) {
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        let source = Path::new(DIR).join(format!("{object}.bpf.c"));
        let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the target");
        // Debian keeps asm/types.h, which linux/bpf.h includes, in a directory per architecture.
        let multiarch = format!("-I/usr/include/{arch}-linux-gnu");
        // Version 3 of the instruction set: atomics that return a value (Linux 5.12).
        let args = ["-mcpu=v3", "-Wall", "-Werror", "-I", DIR, &multiarch];
        let built = SkeletonBuilder::new()
            .source(&source)
            .clang_args(args)
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
