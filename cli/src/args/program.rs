//! Options of commands that take a tile program.

use std::path::PathBuf;

use clap::Args;
use ubtile_sim::product::Soc;
use ubtile_tiling::Product;

/// A tile program and the SoC that it is for.
#[derive(Args, Debug)]
pub(crate) struct ProgramArgs {
    /// The tile program, a text file
    #[arg(long, value_name = "FILE")]
    pub(crate) program: PathBuf,
    /// The SoC that runs it: a built-in one, or a file that ends with .toml
    #[arg(long, value_name = "SOC|FILE.toml", default_value = Soc::usual(Product::AtlasA2))]
    pub(crate) soc: String,
}

/// Options of `sim`.
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// The tensors that the program reads, by name, a .npz or .safetensors file; not needed where it reads none
    #[arg(long = "in", value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Where the tensors go that it writes, a .npz or .safetensors file
    #[arg(long = "out", value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Options of `disasm`.
#[derive(Args, Debug)]
pub(crate) struct DisasmArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

pub(super) const SIM_EXAMPLES: &str = "\
Examples:
  ubtile sim --program add.tile --in in.npz --out out.npz
  ubtile sim --program add.tile --in in.npz --out out.npz --soc Ascend310P3 --format json";

pub(super) const DISASM_EXAMPLES: &str = "\
Examples:
  ubtile disasm --program add.tile
  ubtile disasm --program add.tile --soc Ascend910A";
