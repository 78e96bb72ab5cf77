//! A description of any operator, as a caller might give it.

use ubtile_tiling::{ContractError, Edition, Operator, Problem, Product, Tensor, TensorDesc};
use ubtile_tiling::{grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward};

/// The tensors and attributes of an operator, in the order of its `Desc`. What is missing or too long is left to the check.
#[derive(Clone, Debug)]
pub struct Description {
    /// Which operator.
    pub operator: Operator,
    /// Its tensors by name.
    pub tensors: Vec<(Tensor, TensorDesc)>,
    /// Its attributes; of the grid sampler, the interpolation and the padding mode.
    pub attributes: Vec<Vec<i64>>,
    /// The grid sampler's `align_corners`.
    pub align_corners: bool,
    /// The grid sampler's output mask.
    pub output_mask: Vec<bool>,
}

impl Description {
    /// The tensor of that name.
    ///
    /// # Panics
    /// If the operator has none.
    #[must_use]
    pub fn tensor(&self, name: Tensor) -> TensorDesc {
        self.tensors.iter().find(|(tensor, _)| *tensor == name).expect("a tensor of the operator").1
    }

    /// What the operator's check says of it.
    ///
    /// # Errors
    /// The rule it breaks.
    pub fn check(&self, product: Option<Product>, edition: Edition) -> Result<Problem, ContractError> {
        let attribute = |i: usize| self.attributes[i].as_slice();
        let number = |i: usize| self.attributes[i].first().copied().unwrap_or(0);
        match self.operator {
            Operator::GridSampler2dBackward => {
                let desc = grid_sampler_2d_backward::Desc {
                    grad_output: self.tensor(Tensor::GradOutput),
                    input: self.tensor(Tensor::Input),
                    grid: self.tensor(Tensor::Grid),
                    input_grad: self.tensor(Tensor::InputGrad),
                    grid_grad: self.tensor(Tensor::GridGrad),
                    interpolation: number(0),
                    padding_mode: number(1),
                    align_corners: self.align_corners,
                    output_mask: &self.output_mask,
                };
                grid_sampler_2d_backward::check(&desc, product, edition).map(Problem::GridSampler2dBackward)
            }
            Operator::MaxUnpool2dBackward => {
                let desc = max_unpool2d_backward::Desc {
                    grad_output: self.tensor(Tensor::GradOutput),
                    self_tensor: self.tensor(Tensor::SelfTensor),
                    indices: self.tensor(Tensor::Indices),
                    output_size: attribute(0),
                    out: self.tensor(Tensor::Out),
                };
                max_unpool2d_backward::check(&desc, product, edition).map(Problem::MaxUnpool2dBackward)
            }
            Operator::ReplicationPad2dBackward => {
                let desc = replication_pad2d_backward::Desc {
                    grad_output: self.tensor(Tensor::GradOutput),
                    self_tensor: self.tensor(Tensor::SelfTensor),
                    padding: attribute(0),
                    grad_input: self.tensor(Tensor::GradInput),
                };
                replication_pad2d_backward::check(&desc, product, edition).map(Problem::ReplicationPad2dBackward)
            }
            Operator::Im2colBackward => {
                let desc = im2col_backward::Desc {
                    grad_output: self.tensor(Tensor::GradOutput),
                    input_size: attribute(0),
                    kernel_size: attribute(1),
                    dilation: attribute(2),
                    padding: attribute(3),
                    stride: attribute(4),
                    out: self.tensor(Tensor::Out),
                };
                im2col_backward::check(&desc, product, edition).map(Problem::Im2colBackward)
            }
        }
    }
}
