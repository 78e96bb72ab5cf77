//! From an operator on the command line to a tile program.

use std::path::Path;

use ubtile_kernels::RunError;
use ubtile_sim::exec::Global;
use ubtile_sim::lower;
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_tiling::{Problem, Product, Route, Tensor, max_unpool2d_backward};

use crate::args::{Attributes, LoweredArgs, PlaceArgs, Products, Scheme};
use crate::commands::plan::{native, on_ai_core};
use crate::error::Error;
use crate::place::{Place, Settings, host_rules};
use crate::problem::{Described, Known, problem};
use crate::program;
use crate::progress::Progress;
use crate::tensors::Input;
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

    /// Fills the tensors that the program reads from the file that the problem was described by.
    pub(crate) fn fill(&self, input: &Path, global: &mut Global) -> Result<(), Error> {
        let mut file = Input::open(input)?;
        let _progress = Progress::new(format!("reading {}", input.display()));
        // Shapes may lack the batch dimension that the program's tensors have.
        for (id, name, _) in program::given(&self.program)? {
            let bytes = file.read(name)?;
            match &self.described.problem {
                Problem::MaxUnpool2dBackward(problem) if name == Tensor::Indices.name() => {
                    check_indices(&bytes, problem)?;
                }
                _ => {}
            }
            global.tensor_mut(id).copy_from_slice(&bytes);
        }
        Ok(())
    }
}

/// Devices do not look whether an index is one; here it is an error, and nothing is read through it.
fn check_indices(bytes: &[u8], problem: &max_unpool2d_backward::Problem) -> Result<(), Error> {
    let size = problem.index_dtype.size();
    let index = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        _ => bytes.try_into().map_or(-1, i64::from_le_bytes),
    };
    let cells = problem.out_h * problem.out_w;
    let bad = |index: i64| usize::try_from(index).map_or(true, |index| index >= cells);
    match bytes.chunks_exact(size).map(index).enumerate().find(|(_, index)| bad(*index)) {
        None => Ok(()),
        Some((position, index)) => {
            let error = RunError::Index { position, index, cells };
            Err(crate::compute::Failure::Run(error).into())
        }
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
