//! GridSampler2DBackward.

use super::*;

/// The run, all shares on threads, and the Rust function agree; with several phases and a workspace at an odd address.
#[test]
fn grid_sampler_by_shares_gives_the_bits_of_the_run() {
    for (c, cores) in [(3, 1), (70, 3), (5, 5)] {
        let desc = grid_desc(UBTILE_F32, c);
        let target = Target { cores, ..target(c"host") };
        let mut tiling = grid::GridSamplerTiling { opaque: [0; _] };
        let mut workspace_bytes = 0;
        // SAFETY: all pointers are to what they say, here and below.
        unsafe {
            let status =
                grid::ubtile_grid_sampler_2d_backward_plan(&desc, &target, null(), &mut tiling, &mut workspace_bytes);
            assert_eq!(status, UBTILE_SUCCESS);
        }
        let (grad_output, image, points) = (numbers(2 * c * 30, 1), numbers(2 * c * 56, 2), numbers(2 * 60, 3));
        let mut results = Vec::new();
        for by_shares in [false, true] {
            let (mut input_grad, mut grid_grad) = (vec![9f32; 2 * c * 56], vec![9f32; 120]);
            let mut workspace = vec![0x5au8; workspace_bytes + 1];
            let buffers = grid::GridSamplerBuffers {
                grad_output: input(&grad_output),
                input: input(&image),
                grid: input(&points),
                input_grad: output(&mut input_grad),
                grid_grad: output(&mut grid_grad),
                workspace: output(&mut workspace[1..]),
            };
            // SAFETY: as above.
            unsafe {
                if by_shares {
                    let phases = grid::ubtile_grid_sampler_2d_backward_phases(&tiling);
                    assert!(phases > 0);
                    every_share(
                        phases,
                        |phase| grid::ubtile_grid_sampler_2d_backward_shares(&tiling, phase),
                        |phase, share| {
                            grid::ubtile_grid_sampler_2d_backward_run_share(&tiling, null(), phase, share, &buffers)
                        },
                    );
                } else {
                    let status = grid::ubtile_grid_sampler_2d_backward_run(&tiling, null(), &buffers);
                    assert_eq!(status, UBTILE_SUCCESS);
                }
            }
            results.push((input_grad, grid_grad));
        }
        assert!(results[0] == results[1], "{c} channels on {cores} cores");
        assert!(results[0].0.iter().any(|&x| x != 0.0) && results[0].1.iter().any(|&x| x != 0.0));
    }
}
