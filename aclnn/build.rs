//! Names the shared object, so that programs that were linked through any of its names find the same one.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libubtile_aclnn.so");
    println!("cargo::rerun-if-changed=build.rs");
}
