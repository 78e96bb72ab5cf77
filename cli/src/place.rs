//! Which machine a problem is planned for, with what the options change about it.

use std::num::NonZeroUsize;

use ubtile_sim::aclnn::Device;
use ubtile_sim::product::{Bytes, Soc, Unknown};
use ubtile_tiling::{Edition, PlanOptions, Product, TargetSpec};

use crate::args::{ContractArgs, HOST, Named, PlaceArgs, Products};
use crate::error::Error;
use crate::soc::soc;

/// A machine.
#[derive(Debug)]
pub(crate) enum Place {
    /// The host, or a bare-metal one.
    Target {
        /// Its name on the command line.
        name: String,
        /// What the planner knows of it.
        spec: TargetSpec,
    },
    /// An Ascend.
    Soc(Box<OnSoc>),
}

/// An Ascend, with the options applied.
#[derive(Debug)]
pub(crate) struct OnSoc {
    pub(crate) soc: Soc,
    /// Its clock before anything was set.
    pub(crate) rated_mhz: Option<u32>,
    /// Whose rules hold.
    pub(crate) product: Product,
    /// The edition whose rules hold.
    pub(crate) edition: Edition,
    /// As the native scheme sees it.
    pub(crate) spec: TargetSpec,
    /// Bytes that the framework keeps of the unified buffer, where the buffer was set.
    kept_of_set: Option<usize>,
    /// As the vendor's tilings and aclnn see it.
    pub(crate) device: Result<Device, Unknown>,
}

impl Place {
    /// The product lines that `--product all` stands for.
    pub(crate) fn lines(args: &PlaceArgs) -> Result<impl Iterator<Item = Products>, Error> {
        if args.soc.is_some() || args.target.is_some() {
            return Err(Error::Usage("--product all brings its own machines: leave --soc and --target out".into()));
        }
        Ok(Product::ALL.into_iter().map(Products::One))
    }

    /// The machine that the options ask for.
    pub(crate) fn one(args: &PlaceArgs, threads: NonZeroUsize) -> Result<Self, Error> {
        let settings = Settings::new(args)?;
        let on_soc = |soc: Soc, product| Ok(Self::Soc(Box::new(OnSoc::new(&soc, product, args, &settings)?)));
        match (&args.soc, &args.target, args.product) {
            (.., Some(Products::All)) => Err(Error::Usage("--product all is no machine".into())),
            (Some(name), _, product) => {
                let product = product.and_then(|p| if let Products::One(p) = p { Some(p) } else { None });
                on_soc(soc(name)?, product)
            }
            (None, None, Some(Products::One(product))) => on_soc(soc(Soc::usual(product))?, Some(product)),
            (None, target, _) => {
                let name = target.as_deref().unwrap_or(HOST);
                settings.no_soc()?;
                let known = TargetSpec::from_name(name).filter(|_| name != HOST);
                let mut spec = known.unwrap_or(TargetSpec::host(threads.get()));
                spec.cores = args.cores.map_or(spec.cores, NonZeroUsize::get);
                Ok(Self::Target { name: name.into(), spec })
            }
        }
    }

    /// Whose rules hold there.
    pub(crate) fn contract(&self, args: &PlaceArgs) -> ContractArgs {
        let product = match (self, args.product) {
            (Self::Soc(on), _) => Some(on.product),
            (Self::Target { .. }, Some(Products::One(product))) => Some(product),
            (Self::Target { .. }, _) => None,
        };
        ContractArgs { product, edition: args.edition }
    }

    /// The machine's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Target { name, .. } => name,
            Self::Soc(on) => on.soc.name(),
        }
    }

    /// As the native scheme sees it.
    pub(crate) const fn spec(&self) -> &TargetSpec {
        match self {
            Self::Target { spec, .. } => spec,
            Self::Soc(on) => &on.spec,
        }
    }
}

impl OnSoc {
    /// A SoC as it is loaded, on which the options set keys.
    fn new(loaded: &Soc, product: Option<Product>, args: &PlaceArgs, settings: &Settings) -> Result<Self, Error> {
        let keys = args.product_keys.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let soc = loaded.with(keys, "--set").map_err(|e| Error::Usage(e.to_string()))?;
        let rated_mhz = rated_mhz(loaded);
        let lines = soc.version.products.get().map_err(|e| unknown(&soc, &e))?;
        let Some(product) = product.or_else(|| lines.first().copied()) else {
            return Err(Error::Unusable(format!("{}: {} is empty", soc.name(), soc.version.products.key())));
        };
        if !lines.contains(&product) {
            let lines: Vec<_> = lines.iter().map(|line| line.name()).collect();
            let problem = format!("--product {product}: {} is a SoC of {}", soc.name(), lines.join(", "));
            return Err(Error::Usage(problem));
        }
        let mut spec = soc.target_spec().map_err(|e| unknown(&soc, &e))?;
        let mut device = Device::of(&soc);
        if let Some(cores) = args.cores.map(NonZeroUsize::get) {
            let most = spec.cores;
            if cores > most {
                let over = cores - most;
                let name = soc.name();
                let line = format!("cores {cores} is {over} more than the {most} vector cores of {name}; {most} fits");
                return Err(Error::Unusable(line));
            }
            spec.cores = cores;
        }
        let mut kept_of_set = None;
        if let Some(ub) = settings.ub_bytes {
            let kept = size(*soc.ub.bytes.get().map_err(|e| unknown(&soc, &e))?).saturating_sub(spec.local_bytes);
            spec.local_bytes = ub.saturating_sub(kept);
            kept_of_set = Some(kept);
        }
        if let Some(local) = settings.local_bytes.filter(|local| *local > spec.local_bytes) {
            let (most, name) = (spec.local_bytes, soc.name());
            let over = local - most;
            let line =
                format!("local_bytes {local} is {over} more than the {most} that {name} leaves a kernel; {most} fits");
            return Err(Error::Unusable(line));
        }
        if let Ok(device) = &mut device {
            device.product = product;
            device.edition = args.edition;
            device.cores = spec.cores;
            device.ub_bytes = settings.ub_bytes.unwrap_or(device.ub_bytes);
            device.deterministic = settings.deterministic.unwrap_or(false);
        }
        Ok(Self { soc, rated_mhz, product, edition: args.edition, spec, kept_of_set, device })
    }

    /// The end of an error's line: how many `ub_bytes` leave so much local memory, where these were set.
    pub(crate) fn in_ub_bytes(&self, want: usize) -> String {
        self.kept_of_set.map_or_else(String::new, |kept| {
            format!("; of ub_bytes the framework keeps {kept}: {} fits", want.saturating_add(kept))
        })
    }
}

/// The clock of a product's cores, where that is known.
pub(crate) fn rated_mhz(soc: &Soc) -> Option<u32> {
    soc.clock.core_mhz.get().ok().map(|mhz| mhz.get())
}

fn unknown(soc: &Soc, error: &Unknown) -> Error {
    Error::Unusable(format!("{}: {error}", soc.name()))
}

fn size(Bytes(bytes): Bytes) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// What `--set` changes.
#[derive(Debug, Default)]
pub(crate) struct Settings<'a> {
    local_bytes: Option<usize>,
    ub_bytes: Option<usize>,
    /// Whether the vendor's deterministic mode is on.
    pub(crate) deterministic: Option<bool>,
    /// Sizes of tiles by name.
    pub(crate) tile: Vec<(&'a str, usize)>,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(args: &'a PlaceArgs) -> Result<Self, Error> {
        let mut settings = Self::default();
        for Named { name, value } in &args.set {
            let is_tile = name.starts_with("tile_") || name == FACTOR;
            if !is_tile && !["local_bytes", "ub_bytes", "deterministic"].contains(&name.as_str()) {
                if name == "cores" {
                    return Err(Error::Usage("cores cannot be set of an operator: use --cores".into()));
                }
                let names = "local_bytes, ub_bytes, deterministic, tile_* and ubFactorElement";
                let timed =
                    "and where a program is timed clock, bandwidth, l2, start and the product's keys (ubtile products)";
                return Err(Error::Usage(format!("{name} cannot be set: {names} can be, {timed}")));
            }
            let number = value.parse::<usize>();
            let value = number.map_err(|e| Error::Usage(format!("--set {name}={value}: {e}")))?;
            match (name.as_str(), value) {
                ("local_bytes", bytes) => settings.local_bytes = Some(bytes),
                ("ub_bytes", bytes) => settings.ub_bytes = Some(bytes),
                ("deterministic", on @ (0 | 1)) => settings.deterministic = Some(on == 1),
                ("deterministic", _) => return Err(Error::Usage("--set deterministic: 0 or 1".into())),
                (tile, value) => settings.tile.push((tile, value)),
            }
        }
        Ok(settings)
    }

    /// What the native planner is asked for.
    pub(crate) const fn options(&self, workspace_limit: Option<usize>) -> PlanOptions {
        PlanOptions { workspace_limit, local_bytes: self.local_bytes }
    }

    /// Whether something is set that only the native scheme has.
    pub(crate) fn native_only(&self) -> Option<&str> {
        let tile = self.tile.iter().map(|(name, _)| *name).find(|name| *name != FACTOR);
        if self.local_bytes.is_some() { Some("local_bytes") } else { tile }
    }

    fn no_soc(&self) -> Result<(), Error> {
        let name = match self {
            Self { ub_bytes: Some(_), .. } => "ub_bytes",
            Self { deterministic: Some(_), .. } => "deterministic",
            _ => return Ok(()),
        };
        Err(Error::Usage(format!("--set {name}: only a SoC has it; name one with --soc or --product")))
    }
}

/// The size of the vendor's tiles.
const FACTOR: &str = "ubFactorElement";

/// The rules of every edition and no product.
pub(crate) const fn host_rules(edition: Edition) -> ContractArgs {
    ContractArgs { product: None, edition }
}
