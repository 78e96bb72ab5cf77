//! Failures of checks and tilings that implementations of these operators had in public, each with a test that shows this one
//! does not have it. Those of the kernels are in `kernels/tests/known_diseases`.

use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::{
    Attribute, Capabilities, ContractError, Dtype, Edition, PlanError, PlanOptions, Problem, Product, TargetSpec,
    TilingPlan, grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col,
    max_unpool2d_backward as max_unpool, plan, replication_pad2d_backward as replication_pad,
};

/// Many cores with a unified buffer of this size, as on A2.
const fn npu(local_bytes: usize) -> TargetSpec {
    TargetSpec { cores: 48, local_bytes, block_bytes: 32, vector_bytes: 256, capabilities: Capabilities::HOST }
}

fn planned(problem: &Problem, target: &TargetSpec) -> TilingPlan {
    plan(problem, target, &PlanOptions::default()).unwrap_or_else(|error| panic!("{problem:?}: {error}"))
}

/// A list of the wrong length is refused by its length, whatever else is wrong with it and with the lists behind it.
#[test]
fn input_size_is_read_after_its_length_is_checked() {
    let lists: [&[i64]; 5] = [&[], &[5], &[5, 5, 5], &[i64::MIN], &[-1, -1, -1, -1]];
    let products = [None, Some(Product::AtlasA2)];
    for (list, product) in lists.into_iter().flat_map(|list| products.map(|product| (list, product))) {
        let wrong = |attribute| Err(ContractError::ArrayLength { attribute, got: list.len(), want: 2 });
        let mut desc = Im2col::default().desc();
        let attributes = [Attribute::InputSize, Attribute::KernelSize, Attribute::Dilation, Attribute::Padding];
        // From the last to the first: each time an earlier one is wrong too.
        desc.stride = list.to_vec();
        assert_eq!(desc.check(product, Edition::Any).map(drop), wrong(Attribute::Stride));
        for attribute in attributes.into_iter().rev() {
            let to = match attribute {
                Attribute::InputSize => &mut desc.input_size,
                Attribute::KernelSize => &mut desc.kernel_size,
                Attribute::Dilation => &mut desc.dilation,
                _ => &mut desc.padding,
            };
            *to = list.to_vec();
            assert_eq!(desc.check(product, Edition::Any).map(drop), wrong(attribute));
        }
        let mut desc = MaxUnpool::default().desc();
        desc.output_size = list.to_vec();
        assert_eq!(desc.check(product, Edition::Any).map(drop), wrong(Attribute::OutputSize));
        let mut desc = ReplicationPad::default().desc();
        desc.padding = [list, &[1, 1, 1]].concat();
        if desc.padding.len() != 4 {
            let (attribute, got) = (Attribute::Padding, desc.padding.len());
            let error = ContractError::ArrayLength { attribute, got, want: 4 };
            assert_eq!(desc.check(product, Edition::Any).map(drop), Err(error));
        }
    }
}

#[test]
fn an_output_mask_of_wrong_length_is_refused() {
    for mask in [&[][..], &[true], &[false], &[true; 3], &[false; 3], &[true; 64]] {
        for product in [None, Some(Product::AtlasA2)] {
            let mut desc = GridSampler::default().desc();
            desc.output_mask = mask.to_vec();
            let error = ContractError::ArrayLength { attribute: Attribute::OutputMask, got: mask.len(), want: 2 };
            assert_eq!(desc.check(product, Edition::Master).map(drop), Err(error), "{mask:?} {product:?}");
        }
    }
}

/// Offsets and counts that do not fit 32 bits, signed or not, come out of plans as they are.
#[test]
fn offsets_beyond_int32() {
    let large = 70_000;
    let pad = ReplicationPad { n: 2, c: 3, h: large, w: large, padding: [1, 1, 1, 1], ..Default::default() };
    let fold = Im2col { n: 2, c: 3, h: large, w: large, kernel: [2, 2], ..Default::default() };
    let unpool = MaxUnpool { n: 2, c: 3, h: large, w: large, out_h: large, out_w: large, ..Default::default() };
    let grid = GridSampler { n: 2, c: 3, hi: large, wi: large, ho: large, wo: large, ..Default::default() };
    let problems = [
        (Problem::ReplicationPad2dBackward(pad.problem()), 6 * large * large),
        (Problem::Im2colBackward(fold.problem()), 6 * large * large),
        (Problem::MaxUnpool2dBackward(unpool.problem()), 6 * large * large),
        // Two numbers for each point, which come last.
        (Problem::GridSampler2dBackward(grid.problem()), 4 * large * large),
    ];
    for (problem, elements) in problems {
        for target in [npu(184 << 10), TargetSpec::host(3), TargetSpec::host(1)] {
            let plan = planned(&problem, &target);
            // Whichever output ends last: its shares end where it ends, and begin where the one before has ended.
            let mut written = 0;
            let output = problem.tensors().filter(|slot| slot.output).last().unwrap();
            assert_eq!(output.span, elements);
            for (phase, shares) in plan.phases().enumerate().map(|(i, phase)| (i, phase.shares)) {
                let ranges = (0..shares).flat_map(|share| plan.share_ranges(phase, share));
                let mut own: Vec<_> = ranges.filter(|(tensor, _)| *tensor == output.tensor).map(|(_, r)| r).collect();
                own.retain(|range| !range.is_empty());
                let Some(last) = own.last() else { continue };
                written += 1;
                assert_eq!((own[0].start, last.end), (0, elements), "{phase} of {plan:?}");
                assert!(own.windows(2).all(|pair| pair[0].end == pair[1].start), "{phase} of {plan:?}");
            }
            assert!(written > 0, "{} is written by no phase of {plan:?}", output.tensor);
        }
    }
}

/// A plane of which a tile begins beyond 2^32 elements.
#[test]
fn tiles_beyond_int32() {
    let wide = 5usize << 30;
    let spec = MaxUnpool { n: 1, c: 1, h: 1, w: wide, out_h: 1, out_w: 3, ..Default::default() };
    let target = npu(184 << 10);
    let options = PlanOptions::default();
    let plan = max_unpool::plan(&spec.problem(), &target, &options).unwrap();
    let mut expected = 0;
    for share in 0..plan.block_dim() {
        let (range, first) = (plan.share_range(0, share), plan.tiles(0, share).next().unwrap());
        assert_eq!((range.start, first.elements[0]), (expected, expected));
        expected = range.end;
    }
    assert_eq!(expected, wide);
    let spec = ReplicationPad { n: 1, c: 1, h: 1, w: wide, padding: [3 << 30, 1, 0, 0], ..Default::default() };
    let plan = replication_pad::plan(&spec.problem(), &target, &options).unwrap();
    // The first cell adds up more than 2^31 others, in parts that meet.
    let parts = plan.tiles(0, 0).take_while(|tile| tile.columns[0] == 0);
    let end = parts.fold(0, |end, tile| {
        assert_eq!(tile.source_columns[0], end);
        tile.source_columns[1]
    });
    assert!(end > 3 << 30, "{end}");
}

/// However many channels there are, a tile takes a block of them at most; without room even for that, the refusal says how much
/// it takes, and then it fits.
#[test]
fn channels_that_leave_no_room_for_a_tile() {
    for (c, dtype) in
        [1, 63, 64, 65, 2048, 2049, 1 << 20].into_iter().flat_map(|c| [Dtype::F32, Dtype::F16].map(|d| (c, d)))
    {
        let spec = GridSampler { dtype, n: 1, c, hi: 4, wi: 4, ho: 8, wo: 8, ..Default::default() };
        let problem = Problem::GridSampler2dBackward(spec.problem());
        for local_bytes in [0, 64, 1 << 10, 4 << 10, 184 << 10] {
            match plan(&problem, &npu(local_bytes), &PlanOptions::default()) {
                Ok(plan) => assert!(plan.largest_tile_bytes() <= local_bytes, "{plan:?}"),
                Err(PlanError::LocalBytes { got, want }) => {
                    assert!(got == local_bytes && want > got, "{want} of {got}");
                    // Blocks of 64 channels and the coordinates, each in blocks of 32 bytes; not a block more for more channels.
                    assert!(want <= (64 + 4) * 32, "{c} channels take {want} bytes");
                    assert!(plan(&problem, &npu(want), &PlanOptions::default()).is_ok());
                    assert!(plan(&problem, &npu(want - 1), &PlanOptions::default()).is_err());
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// What a kernel widens is counted at its width: the sums of F16 and BF16 take four bytes each in tile and workspace.
#[test]
fn what_is_widened_to_f32_is_planned_as_f32() {
    for (dtype, local_bytes) in
        [Dtype::F16, Dtype::Bf16].into_iter().flat_map(|d| [600, 2048, 9000, 128 << 10].map(|bytes| (d, bytes)))
    {
        let (target, options) = (npu(local_bytes), PlanOptions::default());
        let spec = ReplicationPad { dtype, n: 1, c: 2, h: 2, w: 40, padding: [3, 3, 900, 2], ..Default::default() };
        let any = replication_pad::plan(&spec.problem(), &target, &options).unwrap();
        let tiles = (0..any.block_dim()).flat_map(|share| any.tiles(0, share));
        let parts = tiles.filter(|tile| {
            let sums = if tile.is_part() { 4 * (tile.source_columns[1] - tile.source_columns[0] + 1) } else { 0 };
            assert!(tile.local_bytes() >= 2 * (tile.cells() + tile.input_cells()) + sums, "{tile:?}");
            tile.is_part()
        });
        assert_eq!(parts.count() > 0, local_bytes < 128 << 10, "{local_bytes} bytes");
        assert_eq!(any.sums_dtype(), Dtype::F32);

        let spec = Im2col { dtype, out_dtype: dtype, kernel: [60, 60], padding: [59, 59], ..Default::default() };
        let any = im2col::plan(&spec.problem(), &target, &options).unwrap();
        let (sums, apart) = any.sums();
        assert_eq!((sums, apart), (Dtype::F32, local_bytes < 128 << 10), "{local_bytes} bytes");
        for tile in (0..any.block_dim()).flat_map(|share| any.tiles(0, share)) {
            let widened = if apart { 4 * tile.cells() } else { 0 };
            assert!(tile.local_bytes() >= 2 * (tile.cells() + tile.input_cells()) + widened, "{tile:?}");
        }

        let spec = GridSampler { dtype, n: 2, c: 130, hi: 5, wi: 6, ho: 9, wo: 9, ..Default::default() };
        let target = npu(local_bytes + 4096);
        let any = grid_sampler::plan(&spec.problem(), &target, &options).unwrap();
        let tiles =
            (0..any.phases().count()).flat_map(|phase| (0..any.block_dim()).flat_map(move |s| any.tiles(phase, s)));
        for tile in tiles {
            let (points, channels) = (tile.points[1] - tile.points[0], tile.channels[1] - tile.channels[0]);
            let totals = 4 * 2 * points;
            assert!(tile.local_bytes() >= 2 * (2 * 2 * points + channels * points) + totals, "{tile:?}");
        }
        // Image and gradient are staged as F32, and so are the parts of the grid's gradient.
        let f32_plan =
            grid_sampler::plan(&GridSampler { dtype: Dtype::F32, ..spec }.problem(), &target, &options).unwrap();
        assert_eq!(any.workspace_bytes(), f32_plan.workspace_bytes());
        assert!(any.workspace_bytes() >= 4 * 2 * 64 * 5 * 6, "{any:?}");
    }
}

/// Every size of every tensor set to 0, one after the other: refused by name, or solved at once. Nothing else.
#[test]
fn empty_tensors_in_every_position() {
    // Of a tensor that is empty where the others agree with it: whether the contract has it so.
    let grids =
        [("n", true), ("c", true), ("hi", false), ("wi", false), ("ho", true), ("wo", true)].map(|(size, solved)| {
            let zero = |name, value| if name == size { 0 } else { value };
            let spec = GridSampler {
                n: zero("n", 2),
                c: zero("c", 3),
                hi: zero("hi", 4),
                wi: zero("wi", 5),
                ho: zero("ho", 6),
                wo: zero("wo", 7),
                ..Default::default()
            };
            let result = spec.desc().check(None, Edition::Any).map(|problem| problem.early_success().is_some());
            (format!("grid sampler, {size}"), result, solved)
        });
    let pads = [("n", true), ("c", false), ("h", false), ("w", false)].map(|(size, solved)| {
        let zero = |name, value| if name == size { 0 } else { value };
        let (n, c, h, w) = (zero("n", 2), zero("c", 3), zero("h", 4), zero("w", 5));
        let result = ReplicationPad { n, c, h, w, ..Default::default() }.desc().check(None, Edition::Any);
        (format!("replication pad, {size}"), result.map(|problem| problem.early_success().is_some()), solved)
    });
    let sizes = [("n", true), ("c", true), ("h", true), ("w", true), ("out_h", false), ("out_w", false)];
    let unpools = sizes.map(|(size, solved)| {
        let zero = |name, value| if name == size { 0 } else { value };
        let (n, c, h, w) = (zero("n", 2), zero("c", 3), zero("h", 4), zero("w", 5));
        let (out_h, out_w) = (zero("out_h", 8), zero("out_w", 9));
        let result = MaxUnpool { n, c, h, w, out_h, out_w, ..Default::default() }.desc().check(None, Edition::Any);
        (format!("max unpool, {size}"), result.map(|problem| problem.early_success().is_some()), solved)
    });
    for (what, result, solved) in grids.into_iter().chain(pads).chain(unpools) {
        assert_eq!(result.is_ok(), solved, "{what}: {result:?}");
        assert!(result.unwrap_or(true), "{what} is not solved at once");
    }
    // One tensor alone is empty: it disagrees with another.
    for dim in 0..4 {
        let mut desc = GridSampler::default().desc();
        let mut shape: [usize; 4] = core::array::from_fn(|i| desc.grad_output.shape.get(i));
        shape[dim] = 0;
        desc.grad_output = ubtile_tiling::TensorDesc::contiguous(Dtype::F32, &shape).unwrap();
        let error = desc.check(None, Edition::Any).unwrap_err();
        assert!(
            matches!(error, ContractError::DimMismatch { got: 0, .. } | ContractError::DimMismatch { want: 0, .. }),
            "{error:?}"
        );
    }
}
