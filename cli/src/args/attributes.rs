//! The operators and their attributes.

use clap::{Args, Subcommand};
use ubtile_tiling::{Dtype, Operator};

use super::values::{List, dtypes, position_in};

/// An operator with its attributes and a command's options.
#[derive(Debug, Subcommand)]
pub(crate) enum OnOperator<O: Args> {
    /// Gradients of grid sampling: grad_output, input, grid -> input_grad, grid_grad
    #[command(name = "grid-sampler-2d-backward")]
    GridSampler {
        #[command(flatten)]
        attributes: GridSampler,
        #[command(flatten)]
        options: O,
    },
    /// Gradient of max unpooling: grad_output, indices, [self] -> out
    #[command(name = "max-unpool2d-backward")]
    MaxUnpool {
        #[command(flatten)]
        attributes: MaxUnpool,
        #[command(flatten)]
        options: O,
    },
    /// Gradient of replication padding: grad_output, [self] -> grad_input
    #[command(name = "replication-pad2d-backward")]
    ReplicationPad {
        #[command(flatten)]
        attributes: ReplicationPad,
        #[command(flatten)]
        options: O,
    },
    /// Gradient of im2col (col2im, fold): grad_output -> out
    #[command(name = "im2col-backward")]
    Im2col {
        #[command(flatten)]
        attributes: Im2col,
        #[command(flatten)]
        options: O,
    },
}

/// An operator with its attributes.
#[derive(Debug)]
pub(crate) enum Attributes {
    GridSampler(GridSampler),
    MaxUnpool(MaxUnpool),
    ReplicationPad(ReplicationPad),
    Im2col(Im2col),
}

impl Attributes {
    /// Which operator they are of.
    pub(crate) const fn operator(&self) -> Operator {
        match self {
            Self::GridSampler(_) => Operator::GridSampler2dBackward,
            Self::MaxUnpool(_) => Operator::MaxUnpool2dBackward,
            Self::ReplicationPad(_) => Operator::ReplicationPad2dBackward,
            Self::Im2col(_) => Operator::Im2colBackward,
        }
    }
}

impl<O: Args> OnOperator<O> {
    /// The operator apart from the command's options.
    pub(crate) fn split(self) -> (Attributes, O) {
        match self {
            Self::GridSampler { attributes, options } => (Attributes::GridSampler(attributes), options),
            Self::MaxUnpool { attributes, options } => (Attributes::MaxUnpool(attributes), options),
            Self::ReplicationPad { attributes, options } => (Attributes::ReplicationPad(attributes), options),
            Self::Im2col { attributes, options } => (Attributes::Im2col(attributes), options),
        }
    }
}

/// Attributes of the grid sampler.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct GridSampler {
    /// How the pixels around a position are mixed
    #[arg(long, default_value = "bilinear", value_parser = position_in(["bilinear", "nearest", "bicubic"]))]
    pub(crate) interpolation: i64,
    /// What lies outside the image
    #[arg(long, default_value = "zeros", value_parser = position_in(["zeros", "border", "reflection"]))]
    pub(crate) padding_mode: i64,
    /// Whether -1 and 1 mean the centres of the corner pixels
    #[arg(long, default_value = "false", value_name = "true|false", action = clap::ArgAction::Set)]
    pub(crate) align_corners: bool,
    /// Whether input_grad and grid_grad are wanted
    #[arg(long, default_value = "true,true", value_name = "BOOL,BOOL")]
    pub(crate) output_mask: List<bool>,
}

/// Attributes of max unpooling.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct MaxUnpool {
    /// Size of the unpooled image [default: from grad_output]
    #[arg(long, value_name = "H,W", allow_hyphen_values = true)]
    pub(crate) output_size: Option<List<i64>>,
    /// Dtype of out [default: that of grad_output]
    #[arg(long, value_name = "DTYPE", value_parser = dtypes())]
    pub(crate) out_dtype: Option<Dtype>,
}

/// Attributes of replication padding.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct ReplicationPad {
    /// Cells around the image, negative where it was cropped
    #[arg(long, value_name = "L,R,T,B", allow_hyphen_values = true)]
    pub(crate) padding: List<i64>,
}

/// Attributes of im2col.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct Im2col {
    /// Size of the image
    #[arg(long, value_name = "H,W", allow_hyphen_values = true)]
    pub(crate) input_size: List<i64>,
    /// Size of the window
    #[arg(long, value_name = "KH,KW", allow_hyphen_values = true)]
    pub(crate) kernel_size: List<i64>,
    /// Distance between the taps of the window
    #[arg(long, value_name = "DH,DW", default_value = "1,1", allow_hyphen_values = true)]
    pub(crate) dilation: List<i64>,
    /// Cells above and below, left and right of the image
    #[arg(long, value_name = "PH,PW", default_value = "0,0", allow_hyphen_values = true)]
    pub(crate) padding: List<i64>,
    /// Distance between the positions of the window
    #[arg(long, value_name = "SH,SW", default_value = "1,1", allow_hyphen_values = true)]
    pub(crate) stride: List<i64>,
    /// Dtype of out [default: that of grad_output]
    #[arg(long, value_name = "DTYPE", value_parser = dtypes())]
    pub(crate) out_dtype: Option<Dtype>,
}
