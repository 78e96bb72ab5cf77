//! A description of any operator, as a caller might give it.

use ubtile_tiling::{ContractError, Edition, Operator, Problem, Product, Tensor, TensorDesc};
use ubtile_tiling::{grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward};

use crate::problems::{GridSamplerDesc, Im2colDesc, MaxUnpoolDesc, ReplicationPadDesc};

/// The tensors and attributes of an operator, in the order of its `Desc`. What is missing or too long is left to the check.
#[derive(Clone, Debug)]
pub struct Description {
    /// Which operator.
    pub operator: Operator,
    /// Its tensors by name.
    pub tensors: Vec<(Tensor, TensorDesc)>,
    /// Its lists of numbers, in this order: `[output_size]` of max unpooling, `[padding]` of replication padding,
    /// `[input_size, kernel_size, dilation, padding, stride]` of im2col; of the grid sampler, `[interpolation]` and
    /// `[padding_mode]` as aclnn numbers them.
    pub attributes: Vec<Vec<i64>>,
    /// The grid sampler's `align_corners`.
    pub align_corners: bool,
    /// The grid sampler's output mask: whether `input_grad` and `grid_grad` are wanted.
    pub output_mask: Vec<bool>,
}

impl Description {
    /// Of an operator whose attributes are lists of numbers alone.
    const fn plain(operator: Operator, tensors: Vec<(Tensor, TensorDesc)>, attributes: Vec<Vec<i64>>) -> Self {
        Self { operator, tensors, attributes, align_corners: false, output_mask: Vec::new() }
    }

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
    ///
    /// # Panics
    /// If a tensor or a list of the operator is missing altogether.
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

impl From<GridSamplerDesc> for Description {
    fn from(desc: GridSamplerDesc) -> Self {
        Self {
            operator: Operator::GridSampler2dBackward,
            tensors: vec![
                (Tensor::GradOutput, desc.grad_output),
                (Tensor::Input, desc.input),
                (Tensor::Grid, desc.grid),
                (Tensor::InputGrad, desc.input_grad),
                (Tensor::GridGrad, desc.grid_grad),
            ],
            attributes: vec![vec![desc.interpolation], vec![desc.padding_mode]],
            align_corners: desc.align_corners,
            output_mask: desc.output_mask,
        }
    }
}

impl From<MaxUnpoolDesc> for Description {
    fn from(desc: MaxUnpoolDesc) -> Self {
        let tensors = vec![
            (Tensor::GradOutput, desc.grad_output),
            (Tensor::SelfTensor, desc.self_tensor),
            (Tensor::Indices, desc.indices),
            (Tensor::Out, desc.out),
        ];
        Self::plain(Operator::MaxUnpool2dBackward, tensors, vec![desc.output_size])
    }
}

impl From<ReplicationPadDesc> for Description {
    fn from(desc: ReplicationPadDesc) -> Self {
        let tensors = vec![
            (Tensor::GradOutput, desc.grad_output),
            (Tensor::SelfTensor, desc.self_tensor),
            (Tensor::GradInput, desc.grad_input),
        ];
        Self::plain(Operator::ReplicationPad2dBackward, tensors, vec![desc.padding])
    }
}

impl From<Im2colDesc> for Description {
    fn from(desc: Im2colDesc) -> Self {
        let tensors = vec![(Tensor::GradOutput, desc.grad_output), (Tensor::Out, desc.out)];
        let attributes = vec![desc.input_size, desc.kernel_size, desc.dilation, desc.padding, desc.stride];
        Self::plain(Operator::Im2colBackward, tensors, attributes)
    }
}
