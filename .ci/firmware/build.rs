//! Links with our memory layout.

fn main() {
    println!("cargo:rustc-link-arg-bins=-T{}/memory.ld", env!("CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed=memory.ld");
    println!("cargo:rerun-if-changed=build.rs");
}
