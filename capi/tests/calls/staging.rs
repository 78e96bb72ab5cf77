//! Plans that copy strided inputs first.

use super::*;

/// A plan for a machine with caches copies an input whose columns lie far apart: by shares as in one go, from any address.
#[test]
fn a_plan_that_stages_gives_the_bits_of_one_that_does_not() {
    let (c, h, w) = (5, 6, 7);
    let mut grad_output = tensor(UBTILE_F32, &[2, c, h + 2, w + 2]);
    grad_output.strides[..4].copy_from_slice(&[c * (h + 2) * (w + 2), 1, c * (w + 2), c]);
    let image = tensor(UBTILE_F32, &[2, c, h, w]);
    let desc = pad::ReplicationPadDesc { grad_output, self_tensor: image, grad_input: image, padding: [1, 1, 1, 1] };
    let data = numbers(2 * c * (h + 2) * (w + 2), 7);
    let mut results = Vec::new();
    for (caches, by_shares) in [(false, false), (true, false), (true, true)] {
        let machine = Target { cores: 3, caches, ..target(c"host") };
        let (mut tiling, mut workspace_bytes) = (pad::ReplicationPadTiling { opaque: [0; _] }, 0);
        let mut out = vec![9f32; 2 * c * h * w];
        // SAFETY: all pointers are to what they say.
        unsafe {
            let plan =
                pad::ubtile_replication_pad2d_backward_plan(&desc, &machine, null(), &mut tiling, &mut workspace_bytes);
            assert_eq!(plan, UBTILE_SUCCESS);
            assert_eq!(workspace_bytes > 0, caches);
            let mut workspace = vec![0x5au8; workspace_bytes + 1];
            let buffers = pad::ReplicationPadBuffers {
                grad_output: input(&data),
                grad_input: output(&mut out),
                workspace: output(&mut workspace[1..]),
            };
            if by_shares {
                let phases = pad::ubtile_replication_pad2d_backward_phases(&tiling);
                assert_eq!(phases, 2);
                every_share(
                    phases,
                    |phase| pad::ubtile_replication_pad2d_backward_shares(&tiling, phase),
                    |phase, share| {
                        pad::ubtile_replication_pad2d_backward_run_share(&tiling, null(), phase, share, &buffers)
                    },
                );
            } else {
                assert_eq!(pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
                if caches {
                    let none = pad::ReplicationPadBuffers { workspace: NONE, ..buffers };
                    let run = pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &none);
                    assert_eq!(run, UBTILE_ERROR_PARAM_INVALID);
                    // A byte less, from an address that needs none for alignment.
                    let mut short = vec![0u8; workspace_bytes + 64];
                    let first = short.as_ptr().align_offset(64);
                    let workspace = output(&mut short[first..first + workspace_bytes - 1]);
                    let short = pad::ReplicationPadBuffers { workspace, ..buffers };
                    let run = pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &short);
                    let share = pad::ubtile_replication_pad2d_backward_run_share(&tiling, null(), 0, 0, &short);
                    assert_eq!([run, share], [UBTILE_ERROR_PARAM_INVALID; 2]);
                    assert_eq!(pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
                }
            }
        }
        results.push(out);
    }
    assert!(results[0] == results[1] && results[1] == results[2]);
}

/// Max unpooling copies two inputs of different dtypes, each in a phase of its own.
#[test]
fn an_unpooling_that_stages_gives_the_bits_of_one_that_does_not() {
    let (c, h, w) = (5, 17, 6);
    let mut desc = unpool::MaxUnpoolDesc {
        grad_output: tensor(UBTILE_I8, &[2, c, 2 * h, 2 * w]),
        self_tensor: tensor(UBTILE_I8, &[2, c, h, w]),
        indices: tensor(UBTILE_I64, &[2, c, h, w]),
        out: tensor(UBTILE_I8, &[2, c, h, w]),
        output_size: [2 * h as i64, 2 * w as i64],
    };
    let transposed = |rows: usize, columns: usize| [c * rows * columns, rows * columns, 1, rows];
    desc.grad_output.strides[..4].copy_from_slice(&transposed(2 * h, 2 * w));
    desc.indices.strides[..4].copy_from_slice(&transposed(h, w));
    let cells: Vec<i8> = (0..2 * c * 4 * h * w).map(|i| (i * 7) as i8).collect();
    let indices: Vec<i64> = (0..2 * c * h * w).map(|i| (i * 31 % (4 * h * w)) as i64).collect();
    let mut results = Vec::new();
    for (caches, by_shares) in [(false, false), (true, false), (true, true)] {
        let machine = Target { cores: 3, caches, ..target(c"host") };
        let (mut tiling, mut workspace_bytes) = (unpool::MaxUnpoolTiling { opaque: [0; _] }, 0);
        let mut out = vec![9i8; 2 * c * h * w];
        // SAFETY: all pointers are to what they say.
        unsafe {
            let plan = unpool::ubtile_max_unpool2d_backward_plan;
            assert_eq!(plan(&desc, &machine, null(), &mut tiling, &mut workspace_bytes), UBTILE_SUCCESS);
            let mut workspace = vec![0x5au8; workspace_bytes + 1];
            let buffers = unpool::MaxUnpoolBuffers {
                grad_output: input(&cells),
                indices: input(&indices),
                out: output(&mut out),
                workspace: output(&mut workspace[1..]),
            };
            let phases = unpool::ubtile_max_unpool2d_backward_phases(&tiling);
            assert_eq!((phases, workspace_bytes > 0), if caches { (3, true) } else { (1, false) });
            if by_shares {
                every_share(
                    phases,
                    |phase| unpool::ubtile_max_unpool2d_backward_shares(&tiling, phase),
                    |phase, share| {
                        unpool::ubtile_max_unpool2d_backward_run_share(&tiling, null(), phase, share, &buffers)
                    },
                );
            } else {
                assert_eq!(unpool::ubtile_max_unpool2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
            }
        }
        results.push(out);
    }
    assert!(results[0] == results[1] && results[1] == results[2]);
}

/// The grid sampler copies two inputs, each in a phase of its own.
#[test]
fn a_grid_sampler_that_stages_gives_the_bits_of_one_that_does_not() {
    let c = 9;
    let mut desc = grid_desc(UBTILE_BF16, c);
    // Columns 16 bytes apart.
    desc.grad_output.strides[..4].copy_from_slice(&[c * 48, 48, 1, 8]);
    desc.input.strides[..4].copy_from_slice(&[c * 64, 64, 1, 8]);
    let halves = |numbers: Vec<f32>| numbers.iter().map(|x| (x.to_bits() >> 16) as u16).collect::<Vec<_>>();
    let [grad_output, image, points] =
        [(2 * c * 48, 1), (2 * c * 64, 2), (2 * 60, 3)].map(|(n, s)| halves(numbers(n, s)));
    let mut results = Vec::new();
    for (caches, by_shares) in [(false, false), (true, false), (true, true)] {
        let machine = Target { cores: 3, caches, ..target(c"host") };
        let (mut tiling, mut workspace_bytes) = (grid::GridSamplerTiling { opaque: [0; _] }, 0);
        let (mut input_grad, mut grid_grad) = (vec![9u16; 2 * c * 56], vec![9u16; 120]);
        // SAFETY: all pointers are to what they say.
        unsafe {
            let plan = grid::ubtile_grid_sampler_2d_backward_plan;
            assert_eq!(plan(&desc, &machine, null(), &mut tiling, &mut workspace_bytes), UBTILE_SUCCESS);
            let mut workspace = vec![0x5au8; workspace_bytes + 1];
            let buffers = grid::GridSamplerBuffers {
                grad_output: input(&grad_output),
                input: input(&image),
                grid: input(&points),
                input_grad: output(&mut input_grad),
                grid_grad: output(&mut grid_grad),
                workspace: output(&mut workspace[1..]),
            };
            let phases = grid::ubtile_grid_sampler_2d_backward_phases(&tiling);
            assert_eq!(phases, if caches { 3 } else { 1 });
            if by_shares {
                every_share(
                    phases,
                    |phase| grid::ubtile_grid_sampler_2d_backward_shares(&tiling, phase),
                    |phase, share| {
                        grid::ubtile_grid_sampler_2d_backward_run_share(&tiling, null(), phase, share, &buffers)
                    },
                );
            } else {
                assert_eq!(grid::ubtile_grid_sampler_2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
            }
        }
        results.push((input_grad, grid_grad));
    }
    assert!(results[0] == results[1] && results[1] == results[2]);
}
