//! Gives the shared library its name: programs linked to it ask for the version they were made for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libexactop.so.{major}");
}
