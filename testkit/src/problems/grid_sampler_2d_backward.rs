//! Problems of GridSampler2DBackward.

use ubtile_tiling::grid_sampler_2d_backward::{Desc, Interpolation, PaddingMode, Problem, check};
use ubtile_tiling::{ContractError, Dtype, Edition, Product, Tensor, TensorDesc};

use super::Layout;
use crate::generate::{Coordinates, Fill, desc_of, fill, grid};
use crate::reference::grid_sampler_2d_backward::Inputs;
use crate::rng::Rng;

/// A problem.
#[derive(Clone, Copy, Debug)]
pub struct GridSampler {
    /// Element type.
    pub dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels.
    pub c: usize,
    /// Height of `input`.
    pub hi: usize,
    /// Width of `input`.
    pub wi: usize,
    /// Height of `grid` and `grad_output`.
    pub ho: usize,
    /// Width of `grid` and `grad_output`.
    pub wo: usize,
    /// How pixels are mixed.
    pub interpolation: Interpolation,
    /// What lies outside.
    pub padding_mode: PaddingMode,
    /// Whether -1 and 1 mean the centres of the corner pixels.
    pub align_corners: bool,
    /// Whether `input_grad` and `grid_grad` are wanted.
    pub output_mask: [bool; 2],
    /// Layout of `grad_output`, `input` and `grid`.
    pub inputs: Layout,
    /// Layout of `input_grad` and `grid_grad`.
    pub outputs: Layout,
}

impl Default for GridSampler {
    fn default() -> Self {
        Self {
            dtype: Dtype::F32,
            n: 2,
            c: 3,
            hi: 5,
            wi: 6,
            ho: 4,
            wo: 7,
            interpolation: Interpolation::Bilinear,
            padding_mode: PaddingMode::Zeros,
            align_corners: false,
            output_mask: [true, true],
            inputs: Layout::Contiguous,
            outputs: Layout::Contiguous,
        }
    }
}

/// What a caller says, see [`Desc`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Desc`")]
pub struct GridSamplerDesc {
    pub grad_output: TensorDesc,
    pub input: TensorDesc,
    pub grid: TensorDesc,
    pub input_grad: TensorDesc,
    pub grid_grad: TensorDesc,
    pub interpolation: i64,
    pub padding_mode: i64,
    pub align_corners: bool,
    pub output_mask: Vec<bool>,
}

impl GridSampler {
    /// Every combination of interpolation, padding mode and `align_corners`.
    pub fn modes() -> impl Iterator<Item = Self> {
        let interpolations = [Interpolation::Bilinear, Interpolation::Nearest, Interpolation::Bicubic];
        let padding_modes = [PaddingMode::Zeros, PaddingMode::Border, PaddingMode::Reflection];
        (0..18).map(move |i| Self {
            interpolation: interpolations[i / 6],
            padding_mode: padding_modes[i / 2 % 3],
            align_corners: i % 2 == 1,
            ..Self::default()
        })
    }

    /// What a caller would say.
    #[must_use]
    pub fn desc(&self) -> GridSamplerDesc {
        let Self { dtype, n, c, hi, wi, ho, wo, .. } = *self;
        GridSamplerDesc {
            grad_output: self.inputs.desc(dtype, &[n, c, ho, wo]),
            input: self.inputs.desc(dtype, &[n, c, hi, wi]),
            grid: self.inputs.desc(dtype, &[n, ho, wo, 2]),
            input_grad: self.outputs.desc(dtype, &[n, c, hi, wi]),
            grid_grad: self.outputs.desc(dtype, &[n, ho, wo, 2]),
            interpolation: match self.interpolation {
                Interpolation::Bilinear => 0,
                Interpolation::Nearest => 1,
                Interpolation::Bicubic => 2,
            },
            padding_mode: match self.padding_mode {
                PaddingMode::Zeros => 0,
                PaddingMode::Border => 1,
                PaddingMode::Reflection => 2,
            },
            align_corners: self.align_corners,
            output_mask: self.output_mask.to_vec(),
        }
    }

    /// The problem for the host.
    ///
    /// # Panics
    /// If the contract refuses it.
    #[must_use]
    pub fn problem(&self) -> Problem {
        self.desc().check(None, Edition::Any).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

impl GridSamplerDesc {
    /// Applies the contract.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
        let desc = Desc {
            grad_output: self.grad_output,
            input: self.input,
            grid: self.grid,
            input_grad: self.input_grad,
            grid_grad: self.grid_grad,
            interpolation: self.interpolation,
            padding_mode: self.padding_mode,
            align_corners: self.align_corners,
            output_mask: &self.output_mask,
        };
        check(&desc, product, edition)
    }
}

/// Random inputs.
#[must_use]
pub fn grid_sampler_inputs(problem: &Problem, values: Fill, coordinates: Coordinates, rng: &mut Rng) -> Inputs {
    Inputs {
        grad_output: fill(desc_of(problem.slot(Tensor::GradOutput)), values, rng),
        input: fill(desc_of(problem.slot(Tensor::Input)), values, rng),
        grid: grid(problem, coordinates, rng),
    }
}
