//! The operators and the names of their tensors.

use core::fmt;

/// One of the four operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Gradients of grid sampling with respect to the image and the grid.
    GridSampler2dBackward,
    /// Gradient of max unpooling: a gather.
    MaxUnpool2dBackward,
    /// Gradient of replication padding: border cells are folded onto the edge.
    ReplicationPad2dBackward,
    /// Gradient of im2col, also known as col2im or fold.
    Im2colBackward,
}

impl Operator {
    /// All four.
    pub const ALL: [Self; 4] =
        [Self::GridSampler2dBackward, Self::MaxUnpool2dBackward, Self::ReplicationPad2dBackward, Self::Im2colBackward];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GridSampler2dBackward => "grid-sampler-2d-backward",
            Self::MaxUnpool2dBackward => "max-unpool2d-backward",
            Self::ReplicationPad2dBackward => "replication-pad2d-backward",
            Self::Im2colBackward => "im2col-backward",
        }
    }

    /// The vendor's name, as in its documents.
    #[must_use]
    pub const fn vendor_name(self) -> &'static str {
        match self {
            Self::GridSampler2dBackward => "GridSampler2DBackward",
            Self::MaxUnpool2dBackward => "MaxUnpool2dBackward",
            Self::ReplicationPad2dBackward => "ReplicationPad2dBackward",
            Self::Im2colBackward => "Im2colBackward",
        }
    }

    /// The operator of that command-line name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A tensor of an operator, for messages. The names are those of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tensor {
    /// Gradient that flows in.
    GradOutput,
    /// The image that was sampled.
    Input,
    /// Sampling positions.
    Grid,
    /// Gradient of the image.
    InputGrad,
    /// Gradient of the grid.
    GridGrad,
    /// The forward pass' input; only its shape and dtype matter.
    SelfTensor,
    /// Flat positions in the unpooled plane.
    Indices,
    /// The result.
    Out,
    /// The result of replication padding's gradient.
    GradInput,
}

impl Tensor {
    /// The name on the command line and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GradOutput => "grad_output",
            Self::Input => "input",
            Self::Grid => "grid",
            Self::InputGrad => "input_grad",
            Self::GridGrad => "grid_grad",
            Self::SelfTensor => "self",
            Self::Indices => "indices",
            Self::Out => "out",
            Self::GradInput => "grad_input",
        }
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
