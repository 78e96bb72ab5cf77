//! What a caller describes GridSampler2DBackward with, and what describes its plans.

use ubtile_tiling::grid_sampler_2d_backward::{Desc, Plan, Tile, check, plan};
use ubtile_tiling::{Edition, Phase, PlanOptions, Status, TargetSpec};

use crate::held::{self, Held};
use crate::operator::Operator;
use crate::stored::{Described, Digest, TENSOR_WORDS, Words, stored_bytes};
use crate::types::{Input, Output, Tensor, descs, of_contract, of_plan};

/// Bytes of a stored plan.
pub const UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES: usize = 840;
const _: () = assert!(UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES == stored_bytes(5 * TENSOR_WORDS + 5));

/// A plan. Opaque: filled by `ubtile_grid_sampler_2d_backward_plan` or `..._load`, may be copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GridSamplerTiling {
    /// Not to be touched.
    pub opaque: [usize; 128],
}

impl Held for GridSamplerTiling {
    type Value = Plan;
}
const _: () = held::fits::<GridSamplerTiling>();

impl Operator for GridSamplerTiling {
    type Desc = GridSamplerDesc;

    const STORED_BYTES: usize = UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES;

    fn make(desc: &GridSamplerDesc, target: &TargetSpec, options: &PlanOptions) -> Result<Plan, Status> {
        let problem = check(&desc.desc()?, None, Edition::Any).map_err(of_contract)?;
        plan(&problem, target, options).map_err(of_plan)
    }

    fn workspace_bytes(plan: &Plan) -> usize {
        plan.workspace_bytes()
    }

    fn phases(plan: &Plan) -> impl Iterator<Item = Phase> {
        plan.phases()
    }

    fn digest(plan: &Plan, digest: &mut Digest) {
        digest.plan(plan.phases(), plan.workspace(), plan.block_dim(), plan.tile_sizes());
    }
}

/// A problem: the gradients of an image and of the grid that says where it was sampled.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct GridSamplerDesc {
    /// `[N, C, Ho, Wo]`. All tensors are f16, bf16, f32 or f64, of one dtype.
    pub grad_output: Tensor,
    /// `[N, C, Hi, Wi]`.
    pub input: Tensor,
    /// `[N, Ho, Wo, 2]`: x and y; -1..1 is the image.
    pub grid: Tensor,
    /// `[N, C, Hi, Wi]`, described also when it is not wanted.
    pub input_grad: Tensor,
    /// `[N, Ho, Wo, 2]`, described also when it is not wanted.
    pub grid_grad: Tensor,
    /// 0 bilinear, 1 nearest, 2 bicubic.
    pub interpolation: i64,
    /// 0 zeros, 1 border, 2 reflection.
    pub padding_mode: i64,
    /// Whether -1 and 1 mean the centres of the corner pixels.
    pub align_corners: bool,
    /// Whether `input_grad` is wanted, and whether `grid_grad` is.
    pub output_mask: [bool; 2],
}

impl GridSamplerDesc {
    fn desc(&self) -> Result<Desc<'_>, Status> {
        let [grad_output, input, grid, input_grad, grid_grad] =
            descs([&self.grad_output, &self.input, &self.grid, &self.input_grad, &self.grid_grad])?;
        Ok(Desc {
            grad_output,
            input,
            grid,
            input_grad,
            grid_grad,
            interpolation: self.interpolation,
            padding_mode: self.padding_mode,
            align_corners: self.align_corners,
            output_mask: &self.output_mask,
        })
    }
}

impl Described for GridSamplerDesc {
    const OPERATOR: u64 = 0;

    fn visit(&mut self, words: &mut impl Words) -> Result<(), Status> {
        words.tensor(&mut self.grad_output)?;
        words.tensor(&mut self.input)?;
        words.tensor(&mut self.grid)?;
        words.tensor(&mut self.input_grad)?;
        words.tensor(&mut self.grid_grad)?;
        words.signed(&mut self.interpolation)?;
        words.signed(&mut self.padding_mode)?;
        words.flag(&mut self.align_corners)?;
        self.output_mask.iter_mut().try_for_each(|flag| words.flag(flag))
    }
}

/// The memory of a run: whole tensors. An output that is not wanted is not looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GridSamplerBuffers {
    /// As described.
    pub grad_output: Input,
    /// As described.
    pub input: Input,
    /// As described.
    pub grid: Input,
    /// As described.
    pub input_grad: Output,
    /// As described.
    pub grid_grad: Output,
    /// As many bytes as the plan says, from any address.
    pub workspace: Output,
}

/// A tile: a run of points of one image with some of its channels. Pairs are the first and one past the last.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct GridSamplerTile {
    /// The image.
    pub image: usize,
    /// Channels.
    pub channels: [usize; 2],
    /// Points, `h * Wo + w`.
    pub points: [usize; 2],
    /// Rows of `input_grad` that the tile adds to.
    pub rows: [usize; 2],
    /// Whether the gradient of the grid is made here.
    pub makes_grid_grad: bool,
    /// Whether the sums of `input_grad` begin here.
    pub first_points: bool,
    /// Whether `input_grad` is complete behind it.
    pub last_points: bool,
    /// Whether sums of `input_grad` need a box of their own, of f32; else they are made in `input_grad`.
    pub sums_apart: bool,
}

impl GridSamplerTile {
    pub(super) fn of(plan: &Plan, tile: &Tile) -> Self {
        let Tile { image, channels, points, rows, makes_grid_grad, first_points, last_points, .. } = *tile;
        Self {
            image,
            channels,
            points,
            rows,
            makes_grid_grad,
            first_points,
            last_points,
            sums_apart: plan.sums_apart(),
        }
    }
}

/// The boxes of a tile, without gaps. Those of a gradient that is not wanted, or not made by this tile, are not looked at. Only
/// `grad_output`, `grid`, `grid_grad` and `totals` are as small as the machine's `local_bytes` asks for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GridSamplerBoxes {
    /// `[channels, points]`.
    pub grad_output: Input,
    /// `[channels, Hi, Wi]`: the whole image.
    pub input: Input,
    /// `[points, 2]`.
    pub grid: Input,
    /// `[channels, rows, Wi]`, stays while the points of the same channels follow; complete where `last_points` is set.
    pub input_grad: Output,
    /// `[channels, rows, Wi]` of f32, stays as well; not looked at where `sums_apart` is not set.
    pub input_grad_sums: Output,
    /// `[points, 2]`, complete with the last channels.
    pub grid_grad: Output,
    /// `[points, 2]` of f32 (f64 for f64), stays while further channels of the same points follow, in this share or the
    /// next; not looked at with up to 64 channels.
    pub totals: Output,
}
