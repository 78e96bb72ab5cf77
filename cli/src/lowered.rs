//! From an operator on the command line to a tile program.

use ubtile_sim::lower;
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_tiling::{Problem, Product, Route};

use crate::args::{Attributes, LoweredArgs, PlaceArgs, Products, Scheme};
use crate::commands::plan::{native, on_ai_core};
use crate::error::Error;
use crate::place::{Place, Settings, host_rules};
use crate::problem::{Described, Known, problem};
use crate::threads::Threads;

/// A plan's program.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) program: Program,
    pub(crate) soc: Soc,
    pub(crate) described: Described,
    /// Where the vendor runs the problem.
    pub(crate) vendor_route: Option<Route>,
}

impl Lowered {
    /// Describes the problem, plans it, and lowers the plan.
    pub(crate) fn new(attributes: &Attributes, args: &LoweredArgs) -> Result<Self, Error> {
        let known = Known::new(attributes.operator(), &args.inputs)?;
        let args = &on_soc(&args.place)?;
        let place = Place::one(args, Threads::available().0)?;
        let Place::Soc(on) = &place else {
            return Err(Error::Usage("tile programs are for SoCs: leave --target out".into()));
        };
        let contract = place.contract(args);
        let described = match problem(attributes, &known, &contract) {
            Err(_) if args.unsupported => problem(attributes, &known, &host_rules(args.edition))?,
            described => described?,
        };
        let of: &Problem = &described.problem;
        if args.scheme == Some(Scheme::Vendor) {
            let line =
                format!("--scheme vendor: there is no tile program of the vendor's {}", of.operator().vendor_name());
            return Err(Error::Unusable(line));
        }
        if !on_ai_core(of, &on.spec) {
            let line =
                format!("{} has no AI Core path for these dtypes: the AICPU runs them, not modelled", on.soc.name());
            return Err(Error::Unusable(line));
        }
        let vendor_route = contract.product.and_then(|product| of.vendor_route(product, contract.edition));
        let plan = native(of, &place, args, &Settings::new(args)?)?;
        let lowered = lower::native(&plan, &on.soc);
        let program = lowered.map_err(|e| Error::Unusable(format!("{} on {}: {e}", of.operator(), on.soc.name())))?;
        Ok(Self { program, soc: on.soc.clone(), described, vendor_route })
    }
}

/// The same place, on the usual SoC where nothing else is said.
fn on_soc(args: &PlaceArgs) -> Result<PlaceArgs, Error> {
    if args.product == Some(Products::All) {
        return Err(Error::Usage("--product all: a program is lowered for one machine".into()));
    }
    let mut args = args.clone();
    if args.soc.is_none() && args.product.is_none() && args.target.is_none() {
        args.soc = Some(Soc::usual(Product::AtlasA2).into());
    }
    Ok(args)
}
