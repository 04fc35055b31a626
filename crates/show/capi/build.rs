//! Sets the shared library's name, so that linked programs ask for the version they were built
//! with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libexactop.so.{major}");
}
