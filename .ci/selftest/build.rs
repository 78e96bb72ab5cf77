//! Links an image with the memory of the machine that runs it.

fn main() {
    let here = env!("CARGO_MANIFEST_DIR");
    let (os, target) = (std::env::var("CARGO_CFG_TARGET_OS"), std::env::var("TARGET").unwrap_or_default());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=link");
    let hosted = os.is_ok_and(|os| os != "none");
    if hosted && !target.starts_with("x86_64") {
        return;
    }
    // What QEMU's machines have: mps2-an386, mps2-an505, virt of both RISC-V and Arm, microvm.
    let machine = match target.split('-').next().unwrap_or_default() {
        "thumbv7em" | "thumbv7m" => "mps2-an386",
        "thumbv8m.main" => "mps2-an505",
        "riscv32imac" | "riscv64gc" => "riscv-virt",
        "aarch64" => "aarch64-virt",
        _ => "microvm",
    };
    let mut arguments = vec![format!("-L{here}/link"), format!("-T{machine}.ld")];
    if machine == "microvm" {
        arguments.extend(["-nostdlib", "-nostartfiles", "-static", "-no-pie", "-Wl,--gc-sections"].map(String::from));
        arguments[1] = format!("-Wl,-T{here}/link/microvm.ld");
    }
    for argument in arguments {
        for image in ["image", "costs"] {
            println!("cargo:rustc-link-arg-bin={image}={argument}");
        }
    }
}
