//! Problems of MaxUnpool2dBackward.

use ubtile_tiling::max_unpool2d_backward::{Desc, Problem, check};
use ubtile_tiling::{ContractError, Dtype, Edition, Product, Tensor, TensorDesc};

use super::Layout;
use crate::generate::{Fill, IndexFill, desc_of, fill, indices};
use crate::reference::max_unpool2d_backward::Inputs;
use crate::rng::Rng;

/// A problem.
#[derive(Clone, Copy, Debug)]
pub struct MaxUnpool {
    /// Element type of `grad_output`.
    pub dtype: Dtype,
    /// Element type of `out`.
    pub out_dtype: Dtype,
    /// Element type of `indices`.
    pub index_dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels.
    pub c: usize,
    /// Height of the pooled image.
    pub h: usize,
    /// Width of the pooled image.
    pub w: usize,
    /// Height of the unpooled image.
    pub out_h: usize,
    /// Width of the unpooled image.
    pub out_w: usize,
    /// Layout of `grad_output` and `indices`.
    pub inputs: Layout,
    /// Layout of `out`.
    pub outputs: Layout,
}

impl Default for MaxUnpool {
    fn default() -> Self {
        Self {
            dtype: Dtype::F32,
            out_dtype: Dtype::F32,
            index_dtype: Dtype::I64,
            n: 2,
            c: 3,
            h: 2,
            w: 3,
            out_h: 4,
            out_w: 6,
            inputs: Layout::Contiguous,
            outputs: Layout::Contiguous,
        }
    }
}

/// What a caller says, see [`Desc`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Desc`")]
pub struct MaxUnpoolDesc {
    pub grad_output: TensorDesc,
    pub self_tensor: TensorDesc,
    pub indices: TensorDesc,
    pub output_size: Vec<i64>,
    pub out: TensorDesc,
}

impl MaxUnpool {
    /// What a caller would say.
    #[must_use]
    pub fn desc(&self) -> MaxUnpoolDesc {
        let pooled = [self.n, self.c, self.h, self.w];
        MaxUnpoolDesc {
            grad_output: self.inputs.desc(self.dtype, &[self.n, self.c, self.out_h, self.out_w]),
            self_tensor: Layout::Contiguous.desc(self.dtype, &pooled),
            indices: self.inputs.desc(self.index_dtype, &pooled),
            output_size: vec![self.out_h as i64, self.out_w as i64],
            out: self.outputs.desc(self.out_dtype, &pooled),
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

impl MaxUnpoolDesc {
    /// Applies the contract.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
        let desc = Desc {
            grad_output: self.grad_output,
            self_tensor: self.self_tensor,
            indices: self.indices,
            output_size: &self.output_size,
            out: self.out,
        };
        check(&desc, product, edition)
    }
}

/// Random inputs.
#[must_use]
pub fn max_unpool_inputs(problem: &Problem, values: Fill, index: IndexFill, rng: &mut Rng) -> Inputs {
    Inputs {
        grad_output: fill(desc_of(problem.slot(Tensor::GradOutput)), values, rng),
        indices: indices(problem, index, rng),
    }
}
