//! What `docs/firmware.md` says of workspace: its bytes of the grid sampler on a small core, and what a limit costs.
//!
//!     cargo run -p ubtile-tiling --example workspace_on_firmware
//!
//! The other operators take none there, whatever the limit.

use std::error::Error;

use ubtile_tiling::grid_sampler_2d_backward::{Desc, check, plan};
use ubtile_tiling::{Dtype, Edition, PlanOptions, TargetSpec, TensorDesc};

fn main() -> Result<(), Box<dyn Error>> {
    let target = TargetSpec::from_name("cortex-m4").ok_or("no such target")?;
    println!("| `input` and `grad_output` | dtype | limit 0 | limit 16 KiB | no limit |");
    println!("|---|---|---|---|---|");
    for (c, size) in [(4, 16), (16, 32), (32, 64)] {
        for dtype in [Dtype::F32, Dtype::F16] {
            let image = TensorDesc::contiguous(dtype, &[1, c, size, size])?;
            let points = TensorDesc::contiguous(dtype, &[1, size, size, 2])?;
            let desc = Desc {
                grad_output: image,
                input: image,
                grid: points,
                input_grad: image,
                grid_grad: points,
                interpolation: 0,
                padding_mode: 0,
                align_corners: false,
                output_mask: &[true, true],
            };
            let problem = check(&desc, None, Edition::Any)?;
            print!("| 1, {c}, {size}, {size} | {dtype} |");
            for workspace_limit in [Some(0), Some(16 << 10), None] {
                let plan = plan(&problem, &target, &PlanOptions { workspace_limit, ..Default::default() })?;
                let passes = plan.prices().find(|price| price.name == "grid_passes").map_or(1, |price| price.paid);
                let noun = if passes == 1 { "pass" } else { "passes" };
                print!(" {} B, {passes} {noun} |", plan.workspace_bytes());
            }
            println!();
        }
    }
    Ok(())
}
