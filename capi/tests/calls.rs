//! The C functions give the bits and the refusals of the Rust ones, by run, by shares and by tiles.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use ubtile_capi::grid_sampler_2d_backward as grid;
use ubtile_capi::im2col_backward as im2col;
use ubtile_capi::max_unpool2d_backward as unpool;
use ubtile_capi::replication_pad2d_backward as pad;
use ubtile_capi::*;

fn tensor(dtype: i32, shape: &[usize]) -> Tensor {
    let mut tensor = Tensor::default();
    // SAFETY: both pointers are to what they say.
    let status = unsafe { ubtile_tensor_contiguous(dtype, shape.len() as u32, shape.as_ptr(), &mut tensor) };
    assert_eq!(status, UBTILE_SUCCESS);
    tensor
}

fn target(name: &std::ffi::CStr) -> Target {
    let mut target = Target::default();
    // SAFETY: a C string and a target.
    assert_eq!(unsafe { ubtile_target_named(name.as_ptr(), &mut target) }, UBTILE_SUCCESS);
    target
}

fn input<T>(data: &[T]) -> Input {
    Input { data: data.as_ptr().cast(), bytes: size_of_val(data) }
}

fn output<T>(data: &mut [T]) -> Output {
    Output { data: data.as_mut_ptr().cast::<c_void>(), bytes: size_of_val(data) }
}

const NONE: Output = Output { data: null_mut(), bytes: 0 };

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) as u8 as f32 - 128.0) / 100.0
    };
    (0..count).map(next).collect()
}

fn grid_desc(dtype: i32, c: usize) -> grid::GridSamplerDesc {
    grid::GridSamplerDesc {
        grad_output: tensor(dtype, &[2, c, 5, 6]),
        input: tensor(dtype, &[2, c, 7, 8]),
        grid: tensor(dtype, &[2, 5, 6, 2]),
        input_grad: tensor(dtype, &[2, c, 7, 8]),
        grid_grad: tensor(dtype, &[2, 5, 6, 2]),
        output_mask: [true, true],
        ..Default::default()
    }
}

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
                    for phase in 0..phases {
                        let shares = grid::ubtile_grid_sampler_2d_backward_shares(&tiling, phase);
                        for share in (0..shares).rev() {
                            let status = grid::ubtile_grid_sampler_2d_backward_run_share(
                                &tiling,
                                null(),
                                phase,
                                share,
                                &buffers,
                            );
                            assert_eq!(status, UBTILE_SUCCESS);
                        }
                    }
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

/// Tiles on boxes that hold what the description of the tile says put together what the run makes.
#[test]
fn im2col_by_tiles_gives_the_bits_of_the_run() {
    let desc = im2col::Im2colDesc {
        grad_output: tensor(UBTILE_F32, &[1, 3 * 4, 8 * 8]),
        out: tensor(UBTILE_F32, &[1, 3, 9, 9]),
        input_size: [9, 9],
        kernel_size: [2, 2],
        dilation: [1, 1],
        padding: [0, 0],
        stride: [1, 1],
    };
    let (target, options) = (target(c"cortex-m4"), Options { workspace_limit: 0, local_bytes: 400 });
    let mut tiling = im2col::Im2colTiling { opaque: [0; _] };
    let grad_output = numbers(12 * 64, 4);
    let (mut whole, mut tiled) = (vec![0f32; 243], vec![0f32; 243]);
    // SAFETY: all pointers are to what they say.
    unsafe {
        assert_eq!(
            im2col::ubtile_im2col_backward_plan(&desc, &target, &options, &mut tiling, null_mut()),
            UBTILE_SUCCESS
        );
        let buffers =
            im2col::Im2colBuffers { grad_output: input(&grad_output), out: output(&mut whole), workspace: NONE };
        assert_eq!(im2col::ubtile_im2col_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
        let tiles = im2col::ubtile_im2col_backward_tiles(&tiling, 0, 0);
        assert!(tiles > 3, "{tiles} tiles");
        let mut box_out = Vec::new();
        for index in 0..tiles {
            let mut tile = im2col::Im2colTile::default();
            assert_eq!(im2col::ubtile_im2col_backward_tile(&tiling, 0, 0, index, &mut tile), UBTILE_SUCCESS);
            assert!(!tile.sums_apart);
            let mut cells = vec![f32::NAN; tile.input_cells];
            let ([i0, i1], [j0, j1]) = (tile.kernel_rows, tile.kernel_columns);
            let mut at = 0;
            for (i, j) in (i0..i1).flat_map(|i| (j0..j1).map(move |j| (i, j))) {
                let mut first = [0i64; 2];
                let status = im2col::ubtile_im2col_backward_first_window(&tiling, 0, 0, index, &[i, j], &mut first);
                assert_eq!(status, UBTILE_SUCCESS);
                // With stride 1 the window of tap (i, j) that reaches cell (y, x) is (y - i, x - j).
                assert_eq!(first, [tile.rows[0] as i64 - i as i64, tile.columns[0] as i64 - j as i64]);
                for (r, c) in (0..tile.windows[0]).flat_map(|r| (0..tile.windows[1]).map(move |c| (r, c))) {
                    let (row, column) = (first[0] + r as i64, first[1] + c as i64);
                    if (0..8).contains(&row) && (0..8).contains(&column) {
                        let window = (row * 8 + column) as usize;
                        cells[at] = grad_output[(tile.plane * 4 + i * 2 + j) * 64 + window];
                    }
                    at += 1;
                }
            }
            if !tile.accumulates {
                box_out = vec![7f32; tile.cells];
            }
            let boxes = im2col::Im2colBoxes { grad_output: input(&cells), out: output(&mut box_out), sums: NONE };
            assert_eq!(im2col::ubtile_im2col_backward_run_tile(&tiling, null(), 0, 0, index, &boxes), UBTILE_SUCCESS);
            if tile.last {
                let width = tile.columns[1] - tile.columns[0];
                for (k, &value) in box_out.iter().enumerate() {
                    tiled[tile.plane * 81 + (tile.rows[0] + k / width) * 9 + tile.columns[0] + k % width] = value;
                }
            }
        }
        let mut none = im2col::Im2colTile::default();
        assert_eq!(im2col::ubtile_im2col_backward_tile(&tiling, 0, 0, tiles, &mut none), UBTILE_ERROR_PARAM_INVALID);
    }
    assert_eq!(whole, tiled);
}

#[test]
fn unpool_reads_nothing_through_a_bad_index() {
    let desc = unpool::MaxUnpoolDesc {
        grad_output: tensor(UBTILE_I16, &[1, 4, 4]),
        self_tensor: tensor(UBTILE_I16, &[1, 2, 2]),
        indices: tensor(UBTILE_I32, &[1, 2, 2]),
        out: tensor(UBTILE_I16, &[1, 2, 2]),
        output_size: [4, 4],
    };
    let mut tiling = unpool::MaxUnpoolTiling { opaque: [0; _] };
    let cells: Vec<i16> = (100..116).collect();
    for (indices, status, want) in [
        ([3i32, 0, 15, 7], UBTILE_SUCCESS, [103i16, 100, 115, 107]),
        ([3, 16, -1, 7], UBTILE_ERROR_RUNTIME, [103, 0, 0, 107]),
    ] {
        let mut out = [9i16; 4];
        let buffers = unpool::MaxUnpoolBuffers {
            grad_output: input(&cells),
            indices: input(&indices),
            out: output(&mut out),
            workspace: NONE,
        };
        // SAFETY: all pointers are to what they say.
        unsafe {
            let plan = unpool::ubtile_max_unpool2d_backward_plan(
                &desc,
                &target(c"cortex-m3"),
                null(),
                &mut tiling,
                null_mut(),
            );
            assert_eq!(plan, UBTILE_SUCCESS);
            assert_eq!(unpool::ubtile_max_unpool2d_backward_run(&tiling, null(), &buffers), status);
        }
        assert_eq!(out, want);
    }
}

fn pad_desc() -> pad::ReplicationPadDesc {
    pad::ReplicationPadDesc {
        grad_output: tensor(UBTILE_F32, &[1, 3, 4]),
        self_tensor: tensor(UBTILE_F32, &[1, 2, 2]),
        grad_input: tensor(UBTILE_F32, &[1, 2, 2]),
        padding: [1, 1, 0, 1],
    }
}

/// `[[a, b, c, d], [e, f, g, h], [i, j, k, l]]` folds to `[[a + b, c + d], [e + i + f + j, g + k + h + l]]`.
#[test]
fn padding_folds() {
    let mut tiling = pad::ReplicationPadTiling { opaque: [0; _] };
    let (grad_output, mut out) = ((1..13).map(|x| x as f32).collect::<Vec<_>>(), [0f32; 4]);
    let buffers =
        pad::ReplicationPadBuffers { grad_output: input(&grad_output), grad_input: output(&mut out), workspace: NONE };
    // SAFETY: all pointers are to what they say.
    unsafe {
        let desc = pad_desc();
        let plan =
            pad::ubtile_replication_pad2d_backward_plan(&desc, &target(c"host"), null(), &mut tiling, null_mut());
        assert_eq!(plan, UBTILE_SUCCESS);
        assert_eq!(pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
    }
    assert_eq!(out, [3.0, 7.0, 30.0, 38.0]);
}

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
                for phase in 0..phases {
                    for share in (0..pad::ubtile_replication_pad2d_backward_shares(&tiling, phase)).rev() {
                        let run = pad::ubtile_replication_pad2d_backward_run_share;
                        assert_eq!(run(&tiling, null(), phase, share, &buffers), UBTILE_SUCCESS);
                    }
                }
            } else {
                assert_eq!(pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
                if caches {
                    let none = pad::ReplicationPadBuffers { workspace: NONE, ..buffers };
                    let run = pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &none);
                    assert_eq!(run, UBTILE_ERROR_PARAM_INVALID);
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
    let (c, h, w) = (17, 5, 6);
    let mut desc = unpool::MaxUnpoolDesc {
        grad_output: tensor(UBTILE_I8, &[2, c, 2 * h, 2 * w]),
        self_tensor: tensor(UBTILE_I8, &[2, c, h, w]),
        indices: tensor(UBTILE_I64, &[2, c, h, w]),
        out: tensor(UBTILE_I8, &[2, c, h, w]),
        output_size: [2 * h as i64, 2 * w as i64],
    };
    let channels_last = |rows: usize, columns: usize| [c * rows * columns, 1, c * columns, c];
    desc.grad_output.strides[..4].copy_from_slice(&channels_last(2 * h, 2 * w));
    desc.indices.strides[..4].copy_from_slice(&channels_last(h, w));
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
                for phase in 0..phases {
                    for share in (0..unpool::ubtile_max_unpool2d_backward_shares(&tiling, phase)).rev() {
                        let run = unpool::ubtile_max_unpool2d_backward_run_share;
                        assert_eq!(run(&tiling, null(), phase, share, &buffers), UBTILE_SUCCESS);
                    }
                }
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
                for phase in 0..phases {
                    for share in (0..grid::ubtile_grid_sampler_2d_backward_shares(&tiling, phase)).rev() {
                        let run = grid::ubtile_grid_sampler_2d_backward_run_share;
                        assert_eq!(run(&tiling, null(), phase, share, &buffers), UBTILE_SUCCESS);
                    }
                }
            } else {
                assert_eq!(grid::ubtile_grid_sampler_2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
            }
        }
        results.push((input_grad, grid_grad));
    }
    assert!(results[0] == results[1] && results[1] == results[2]);
}

#[test]
fn what_is_not_usable_is_refused() {
    let (mut tiling, desc, machine) = (pad::ReplicationPadTiling { opaque: [0; _] }, pad_desc(), target(c"host"));
    let mut data = [1f32; 16];
    let whole = data.as_mut_ptr();
    let buffers = |from: *mut f32, to: *mut f32, bytes| pad::ReplicationPadBuffers {
        grad_output: Input { data: from.cast(), bytes },
        grad_input: Output { data: to.cast(), bytes: 16 },
        workspace: NONE,
    };
    // SAFETY: all pointers are NULL or to what they say.
    unsafe {
        let run =
            |buffers: *const _, tiling: *const _| pad::ubtile_replication_pad2d_backward_run(tiling, null(), buffers);
        let good = buffers(whole, whole.add(12), 48);
        assert_eq!(run(&good, &tiling), UBTILE_ERROR_PARAM_INVALID, "a plan that was never made");
        let plan = pad::ubtile_replication_pad2d_backward_plan;
        assert_eq!(plan(null(), &machine, null(), &mut tiling, null_mut()), UBTILE_ERROR_PARAM_NULLPTR);
        assert_eq!(plan(&desc, &machine, null(), null_mut(), null_mut()), UBTILE_ERROR_PARAM_NULLPTR);
        let tiny = Target { local_bytes: 1, ..machine };
        assert_eq!(plan(&desc, &tiny, null(), &mut tiling, null_mut()), UBTILE_ERROR_TILING);
        assert_eq!(plan(&desc, &machine, null(), &mut tiling, null_mut()), UBTILE_SUCCESS);
        assert_eq!(run(&good, &tiling), UBTILE_SUCCESS);
        assert_eq!(run(null(), &tiling), UBTILE_ERROR_PARAM_NULLPTR);
        assert_eq!(run(&good, null()), UBTILE_ERROR_PARAM_NULLPTR);
        assert_eq!(run(&buffers(whole, whole.add(11), 48), &tiling), UBTILE_ERROR_PARAM_INVALID, "overlap");
        assert_eq!(run(&buffers(whole, whole.add(12), 47), &tiling), UBTILE_ERROR_PARAM_INVALID, "too short");
        assert_eq!(run(&buffers(null_mut(), whole.add(12), 48), &tiling), UBTILE_ERROR_PARAM_NULLPTR);
        let odd = whole.byte_add(1);
        assert_eq!(run(&buffers(odd, whole.add(13).byte_add(2), 48), &tiling), UBTILE_ERROR_PARAM_INVALID, "alignment");
        // A plan that could not be made leaves none behind.
        let wrong = pad::ReplicationPadDesc { padding: [1, 1, 1, 1], ..desc };
        assert_eq!(plan(&wrong, &machine, null(), &mut tiling, null_mut()), UBTILE_ERROR_PARAM_INVALID);
        assert_eq!(run(&good, &tiling), UBTILE_ERROR_PARAM_INVALID);
    }
}

/// Every flipped bit of a stored plan is found, and whole it is the same plan.
#[test]
fn a_stored_plan_comes_back_whole_or_not_at_all() {
    let (desc, machine) = (grid_desc(UBTILE_F16, 3), Target { vector_bytes: 4, ..target(c"host") });
    let options = Options { workspace_limit: 5000, local_bytes: UBTILE_DEFAULT };
    let mut bytes = [0u8; grid::UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES];
    let mut there = [grid::GridSamplerTiling { opaque: [0; _] }; 2];
    // SAFETY: all pointers are to what they say.
    unsafe {
        let [planned, loaded] = &mut there;
        let (mut before, mut after, mut read) = (0, 0, grid::GridSamplerDesc::default());
        let plan = grid::ubtile_grid_sampler_2d_backward_plan(&desc, &machine, &options, planned, &mut before);
        assert_eq!(plan, UBTILE_SUCCESS);
        let (at, len) = (bytes.as_mut_ptr(), bytes.len());
        let store = grid::ubtile_grid_sampler_2d_backward_store;
        assert_eq!(store(&desc, &machine, &options, at, len - 1), UBTILE_ERROR_PARAM_INVALID);
        assert_eq!(store(&desc, &machine, &options, at, len), UBTILE_SUCCESS);
        let load = grid::ubtile_grid_sampler_2d_backward_load;
        assert_eq!(load(at, len, &mut read, loaded, &mut after), UBTILE_SUCCESS);
        assert_eq!((before, read.grid.shape), (after, desc.grid.shape));
        assert!(before > 0 && before <= 5000);
        for bit in 0..len * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(load(bytes.as_ptr(), len, null_mut(), loaded, null_mut()), UBTILE_ERROR_PARAM_INVALID, "{bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(load(bytes.as_ptr(), len - 8, null_mut(), loaded, null_mut()), UBTILE_ERROR_PARAM_INVALID);
    }
    // The format is the same on every machine: words, little endian.
    assert_eq!(&bytes[..8], b"ubtile\0\x01");
    assert_eq!(&bytes[8..24], &[[0u8; 8], [UBTILE_F16 as u8, 0, 0, 0, 0, 0, 0, 0]].concat()[..]);
}
