//! Problems of ReplicationPad2dBackward.

use ubtile_tiling::replication_pad2d_backward::{Desc, Problem, check};
use ubtile_tiling::{ContractError, Dtype, Edition, Product, Tensor, TensorDesc};

use super::Layout;
use crate::data::Data;
use crate::generate::{Fill, desc_of, fill};
use crate::rng::Rng;

/// A problem.
#[derive(Clone, Copy, Debug)]
pub struct ReplicationPad {
    /// Element type.
    pub dtype: Dtype,
    /// Images.
    pub n: usize,
    /// Channels.
    pub c: usize,
    /// Height of the image without padding.
    pub h: usize,
    /// Width of the image without padding.
    pub w: usize,
    /// Left, right, top, bottom.
    pub padding: [i64; 4],
    /// Layout of `grad_output`.
    pub inputs: Layout,
    /// Layout of `grad_input`.
    pub outputs: Layout,
}

impl Default for ReplicationPad {
    fn default() -> Self {
        Self {
            dtype: Dtype::F32,
            n: 2,
            c: 3,
            h: 4,
            w: 5,
            padding: [1, 2, 1, 2],
            inputs: Layout::Contiguous,
            outputs: Layout::Contiguous,
        }
    }
}

/// What a caller says, see [`Desc`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Desc`")]
pub struct ReplicationPadDesc {
    pub grad_output: TensorDesc,
    pub self_tensor: TensorDesc,
    pub padding: Vec<i64>,
    pub grad_input: TensorDesc,
}

impl ReplicationPad {
    /// What a caller would say.
    ///
    /// # Panics
    /// If the padding crops more than there is.
    #[must_use]
    pub fn desc(&self) -> ReplicationPadDesc {
        let [left, right, top, bottom] = self.padding;
        let padded = |size: usize, before: i64, after: i64| {
            usize::try_from(size as i64 + before + after).expect("padding crops more than there is")
        };
        let shape = [self.n, self.c, self.h, self.w];
        let grad_output = [self.n, self.c, padded(self.h, top, bottom), padded(self.w, left, right)];
        ReplicationPadDesc {
            grad_output: self.inputs.desc(self.dtype, &grad_output),
            self_tensor: Layout::Contiguous.desc(self.dtype, &shape),
            padding: self.padding.to_vec(),
            grad_input: self.outputs.desc(self.dtype, &shape),
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

impl ReplicationPadDesc {
    /// Applies the contract.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
        let desc = Desc {
            grad_output: self.grad_output,
            self_tensor: self.self_tensor,
            padding: &self.padding,
            grad_input: self.grad_input,
        };
        check(&desc, product, edition)
    }
}

/// A random `grad_output`.
#[must_use]
pub fn replication_pad_inputs(problem: &Problem, values: Fill, rng: &mut Rng) -> Data {
    fill(desc_of(problem.slot(Tensor::GradOutput)), values, rng)
}
