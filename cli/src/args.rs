//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use ubtile_kernels::Level;
use ubtile_tiling::{Dtype, Edition, Product, TargetSpec};

use crate::output::Format;

/// Compute and plan four Ascend backward operators without an Ascend.
///
/// Without a command: a tour that computes all four on this machine and checks them against a naive reference.
#[derive(Debug, Parser)]
#[command(name = "ubtile", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// How results are printed on stdout
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) format: Format,
}

const EXAMPLES: &str = "\
Examples:
  ubtile
  ubtile ops
  ubtile run replication-pad2d-backward --in in.npz --out out.npz --padding 1,1,1,1
  ubtile plan max-unpool2d-backward --shape self=8,64,56,56 --output-size 112,112

Exit codes: 0 fine, 2 usage, 3 an input, a tiling or a file is not usable, 4 a check failed.";

/// A command.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is read once")]
pub(crate) enum Command {
    /// Show which dtypes of which operator each product takes, and where the editions disagree
    Ops,
    /// Compute an operator on this machine
    #[command(after_help = RUN_EXAMPLES)]
    Run {
        #[command(subcommand)]
        operator: OnOperator<RunArgs>,
    },
    /// Show an operator's tiling and workspace, and why they are what they are
    #[command(after_help = PLAN_EXAMPLES)]
    Plan {
        #[command(subcommand)]
        operator: OnOperator<PlanArgs>,
    },
}

const RUN_EXAMPLES: &str = "\
Examples:
  ubtile run grid-sampler-2d-backward --in in.npz --out out.npz --padding-mode border
  ubtile run max-unpool2d-backward --in in.safetensors --out out.safetensors --threads 1
  ubtile run replication-pad2d-backward --in in.npz --padding 1,1,1,1 --time 20";

const PLAN_EXAMPLES: &str = "\
Examples:
  ubtile plan replication-pad2d-backward --shape grad_output=8,64,58,58 --padding 1,1,1,1
  ubtile plan max-unpool2d-backward --in in.npz --target cortex-m4 --workspace-limit 0
  ubtile plan im2col-backward --shape grad_output=8,576,3136 --dtype f16 \\
    --input-size 56,56 --kernel-size 3,3 --padding 1,1 --product atlas-a2";

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

/// Options of `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The inputs by name, a .npz or .safetensors file
    #[arg(long = "in", value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Where the results go, a .npz or .safetensors file
    #[arg(long = "out", value_name = "FILE", required_unless_present = "time")]
    pub(crate) output: Option<PathBuf>,
    /// Threads [default: as many as this machine offers]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Instruction set, of those that this machine has
    #[arg(long, default_value = "auto", value_parser = levels())]
    pub(crate) level: Level,
    /// Time N calls of the kernel alone after two untimed ones
    #[arg(long, value_name = "N")]
    pub(crate) time: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) contract: ContractArgs,
    #[command(flatten)]
    pub(crate) planning: PlanningArgs,
}

/// Options of `plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Dtypes and shapes of the inputs by name, a .npz or .safetensors file
    #[arg(long = "in", value_name = "FILE", conflicts_with_all = ["shape", "dtype"])]
    pub(crate) input: Option<PathBuf>,
    /// Shape of an input; what follows from the rest may be left out
    #[arg(long, value_name = "NAME=DIMS", required_unless_present = "input")]
    pub(crate) shape: Vec<Named<List<usize>>>,
    /// Dtype of all inputs, or of one as indices=i32 [default: f32, indices i64]
    #[arg(long, value_name = "[NAME=]DTYPE")]
    pub(crate) dtype: Vec<DtypeOf>,
    #[command(flatten)]
    pub(crate) contract: ContractArgs,
    #[command(flatten)]
    pub(crate) planning: PlanningArgs,
}

/// Whose rules apply.
#[derive(Args, Debug)]
pub(crate) struct ContractArgs {
    /// Apply the rules of that product instead of the host's
    #[arg(long, value_parser = of_names(Product::ALL.map(Product::name), Product::from_name))]
    pub(crate) product: Option<Product>,
    /// Edition of the vendor's documents; `any` takes what one of them takes
    #[arg(long, default_value = "any", value_parser = of_names(Edition::ALL.map(Edition::name), Edition::from_name))]
    pub(crate) edition: Edition,
}

/// What a plan is for.
#[derive(Args, Debug)]
pub(crate) struct PlanningArgs {
    /// The machine that the tiling is for
    #[arg(long, value_name = "NAME", default_value = HOST, value_parser = PossibleValuesParser::new(targets()))]
    pub(crate) target: String,
    /// Cores that the tiling may use [default: the target's]
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<NonZeroUsize>,
    /// The most workspace that the tiling may ask for
    #[arg(long, value_name = "BYTES")]
    pub(crate) workspace_limit: Option<usize>,
    /// Change a number of the target: local_bytes, the memory that a tile fits
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<Named<usize>>,
}

/// The name of the machine that the command runs on.
pub(crate) const HOST: &str = "host";

fn targets() -> impl Iterator<Item = &'static str> {
    std::iter::once(HOST).chain(TargetSpec::BARE_METAL.map(|(name, _)| name))
}

/// A value of a closed set, by name.
fn of_names<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
    value: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| value(&name).ok_or("unknown name"))
}

fn dtypes() -> impl TypedValueParser<Value = Dtype> {
    of_names(Dtype::ALL.map(Dtype::name), Dtype::from_name)
}

/// The levels of this machine, and `auto` for the fastest.
fn levels() -> impl TypedValueParser<Value = Level> {
    let names = std::iter::once("auto").chain(Level::available().map(Level::name));
    of_names(names, |name| if name == "auto" { Some(Level::detect()) } else { Level::from_name(name) })
}

/// An enumeration as aclnn numbers it: the position of the name.
fn position_in<const N: usize>(names: [&'static str; N]) -> impl TypedValueParser<Value = i64> {
    PossibleValuesParser::new(names).map(move |name| names.iter().take_while(|n| **n != name).count() as i64)
}

/// Values separated by commas. The contract says how many there must be.
#[derive(Clone, Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T: FromStr<Err: std::fmt::Display>> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one =
            |part: &str| part.trim().parse().map_err(|e| format!("'{part}': {e} (values are separated by commas)"));
        text.split(',').map(one).collect::<Result<_, _>>().map(Self)
    }
}

/// `NAME=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct Named<T> {
    pub(crate) name: String,
    pub(crate) value: T,
}

impl<T: FromStr<Err: std::fmt::Display>> FromStr for Named<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("NAME=VALUE is required")?;
        let value = value.parse().map_err(|e| format!("{e}"))?;
        Ok(Self { name: name.into(), value })
    }
}

/// `DTYPE` for all tensors or `NAME=DTYPE` for one.
#[derive(Clone, Debug)]
pub(crate) struct DtypeOf {
    pub(crate) name: Option<String>,
    pub(crate) dtype: Dtype,
}

impl FromStr for DtypeOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, dtype) = match text.split_once('=') {
            Some((name, dtype)) => (Some(name.into()), dtype),
            None => (None, text),
        };
        let known = || format!("'{dtype}' is none of {}", Dtype::ALL.map(Dtype::name).join(" "));
        Ok(Self { name, dtype: Dtype::from_name(dtype).ok_or_else(known)? })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn values() {
        assert_eq!("1, -2,3".parse::<List<i64>>().unwrap().0, [1, -2, 3]);
        assert!("1,,2".parse::<List<i64>>().is_err());
        let named: Named<List<usize>> = "grid=1,2".parse().unwrap();
        assert_eq!((named.name.as_str(), named.value.0), ("grid", vec![1, 2]));
        assert!("1,2".parse::<Named<List<usize>>>().is_err());
        let dtype: DtypeOf = "indices=i32".parse().unwrap();
        assert_eq!((dtype.name.as_deref(), dtype.dtype), (Some("indices"), Dtype::I32));
        assert!("f8".parse::<DtypeOf>().unwrap_err().contains("f16 bf16"));
    }
}
