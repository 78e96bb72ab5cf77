//! What a tiling is for, and by which scheme.

use std::num::NonZeroUsize;

use clap::Args;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use ubtile_tiling::{Edition, Product, TargetSpec};

use super::HOST;
use super::values::{Named, of_names};

/// One product line, or one SoC of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Products {
    /// That line.
    One(Product),
    /// All of them, side by side.
    All,
}

impl Products {
    const ALL: &'static str = "all";

    const fn name(self) -> &'static str {
        match self {
            Self::One(product) => product.name(),
            Self::All => Self::ALL,
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        if name == Self::ALL { Some(Self::All) } else { Product::from_name(name).map(Self::One) }
    }
}

/// Whose tiling it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheme {
    /// ubtile's own: every operator, every target, deterministic
    Native,
    /// The vendor's published tiling, field by field
    Vendor,
}

/// Options that say where a problem is planned.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlaceArgs {
    /// The SoC that the tiling is for: a built-in one, or a file that ends with .toml
    #[arg(long, value_name = "SOC|FILE.toml", conflicts_with = "target")]
    pub(crate) soc: Option<String>,
    /// The product line: its rules, and its usual SoC unless --soc or --target says another machine; `all` compares them
    #[arg(long, value_parser = of_names(Product::ALL.map(Product::name).into_iter().chain([Products::ALL]), Products::from_name))]
    pub(crate) product: Option<Products>,
    /// The host or the bare-metal machine that the tiling is for [default: host, where no SoC is asked for]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(targets()))]
    pub(crate) target: Option<String>,
    /// Whose tiling [default: on a SoC the vendor's where it is published for an AI Core kernel, else native]
    #[arg(long, value_enum)]
    pub(crate) scheme: Option<Scheme>,
    /// Whether `scheme` is that of the program which is timed, not one that somebody asked for
    #[arg(skip)]
    pub(crate) scheme_follows: bool,
    /// Plan it as well where the product does not take it
    #[arg(long)]
    pub(crate) unsupported: bool,
    /// Edition of the vendor's documents; `any` takes what one of them takes
    #[arg(long, default_value = "any", value_parser = of_names(Edition::ALL.map(Edition::name), Edition::from_name))]
    pub(crate) edition: Edition,
    /// Cores that the tiling may use [default: the machine's]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) cores: Option<NonZeroUsize>,
    /// The most workspace that the tiling may ask for
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    pub(crate) workspace_limit: Option<usize>,
    /// Change a number: local_bytes (memory that a tile fits), a size of the tile as `plan` names it (tile_rows, ...,
    /// ubFactorElement), of a SoC also ub_bytes, and deterministic=1; where a program is timed also clock (MHz), bandwidth (of main
    /// memory, 1e9 bytes/s), l2 (bytes), any key that `ubtile products` lists, and start=cold, when nothing is in L2
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<Named<String>>,
    /// Keys of the product with other values
    #[arg(skip)]
    pub(crate) product_keys: Vec<(String, String)>,
}

impl PlaceArgs {
    /// The options that say the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let Self { soc, product, target, scheme, unsupported, edition, cores, workspace_limit, set, .. } = self;
        let scheme = scheme.and_then(|scheme| scheme.to_possible_value());
        let values = [
            ("--soc", soc.clone()),
            ("--product", product.map(|product| product.name().to_owned())),
            ("--target", target.clone()),
            ("--scheme", scheme.map(|scheme| scheme.get_name().to_owned())),
            (
                "--edition",
                Some(*edition).filter(|edition| *edition != Edition::Any).map(|edition| edition.name().to_owned()),
            ),
            ("--cores", cores.map(|cores| cores.to_string())),
            ("--workspace-limit", workspace_limit.map(|bytes| bytes.to_string())),
        ];
        let mut words: Vec<String> =
            values.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten().collect();
        words.extend(unsupported.then(|| "--unsupported".to_owned()));
        for Named { name, value } in set {
            words.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
        words
    }
}

pub(super) fn targets() -> impl Iterator<Item = &'static str> {
    std::iter::once(HOST).chain(TargetSpec::BARE_METAL.map(|(name, _)| name))
}
