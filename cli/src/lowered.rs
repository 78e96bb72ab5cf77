//! From an operator on the command line to a tile program.

use std::borrow::Cow;
use std::path::Path;

use ubtile_kernels::RunError;
use ubtile_sim::clock::Start;
use ubtile_sim::exec::Global;
use ubtile_sim::lower::{self, LowerError};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_tiling::{Problem, Product, Route, Tensor, max_unpool2d_backward};

use crate::args::{Attributes, LoweredArgs, PlaceArgs, Products, Scheme};
use crate::commands::plan::{Plan, make as make_plan, native, on_ai_core, set, vendor};
use crate::error::Error;
use crate::place::{OnSoc, Place, Settings, host_rules};
use crate::problem::{Described, Known, problem};
use crate::program;
use crate::progress::Progress;
use crate::settings::machine;
use crate::tensors::Input;
use crate::threads::Threads;

/// An operator's problem on a SoC.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) soc: Soc,
    /// Its clock before anything was set.
    pub(crate) rated_mhz: Option<u32>,
    pub(crate) product: Product,
    pub(crate) described: Described,
    /// Where the vendor runs the problem.
    pub(crate) vendor_route: Option<Route>,
    /// Why the product does not take it.
    pub(crate) refused: Option<String>,
    /// What its cores run.
    pub(crate) made: Result<Made, NotMade>,
    /// What L2 has when a run begins.
    pub(crate) start: Start,
}

/// Why there is no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotMade {
    /// The product refuses the problem, and nobody wants it nevertheless.
    Refused,
    /// The vector and scalar units do not compute the dtypes: the device's CPU does.
    Cpu,
}

/// A plan's program.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) program: Program,
    /// What the program needs of the caller.
    pub(crate) workspace_bytes: usize,
    /// Of the vendor's scheme: which of its kernels it is.
    pub(crate) tiling_key: Option<usize>,
}

impl Lowered {
    /// Describes the problem, plans it, and lowers the plan.
    pub(crate) fn new(attributes: &Attributes, args: &LoweredArgs) -> Result<Self, Error> {
        let known = Known::new(attributes.operator(), &args.inputs)?;
        Self::on(attributes, &known, &args.place, false)
    }

    /// The program; an error where the device's CPU computes the problem.
    pub(crate) fn program(&self) -> Result<&Program, Error> {
        let made = self.made.as_ref().map_err(|_| Error::Unusable(self.not_modelled()))?;
        Ok(&made.program)
    }

    /// Why there is none.
    pub(crate) fn not_modelled(&self) -> String {
        let name = self.soc.name();
        format!("the cores of {name} do not compute these dtypes: there is no program to model")
    }

    /// A problem on the machine that the options ask for. With `compare`, a machine that does not take it is a result, not an error.
    pub(crate) fn on(attributes: &Attributes, known: &Known, args: &PlaceArgs, compare: bool) -> Result<Self, Error> {
        Self::with(attributes, known, args, compare, make)
    }

    /// The same without a program, where what the options ask for may be none.
    pub(crate) fn outline(
        attributes: &Attributes,
        known: &Known,
        args: &PlaceArgs,
        compare: bool,
    ) -> Result<Self, Error> {
        Self::with(attributes, known, args, compare, |_, _, _, _, _| Ok(Err(NotMade::Refused)))
    }

    fn with(
        attributes: &Attributes,
        known: &Known,
        args: &PlaceArgs,
        compare: bool,
        make: impl FnOnce(&Problem, &OnSoc, &Place, &PlaceArgs, Option<Route>) -> Result<Result<Made, NotMade>, Error>,
    ) -> Result<Self, Error> {
        let (args, start) = machine(&on_soc(args)?)?;
        let place = Place::one(&args, Threads::available().0)?;
        let Place::Soc(on) = &place else {
            return Err(Error::Usage("tile programs are for SoCs: leave --target out".into()));
        };
        let contract = place.contract(&args);
        let (described, refused) = match problem(attributes, known, &contract) {
            Ok(described) => (described, None),
            Err(why) if args.unsupported || compare => {
                (problem(attributes, known, &host_rules(args.edition))?, Some(why.to_string()))
            }
            Err(why) => return Err(why),
        };
        let of: &Problem = &described.problem;
        let vendor_route = contract.product.and_then(|product| of.vendor_route(product, contract.edition));
        let made = if refused.is_some() && !args.unsupported {
            Err(NotMade::Refused)
        } else {
            make(of, on, &place, &args, vendor_route)?
        };
        let (soc, rated_mhz, product) = (on.soc.clone(), on.rated_mhz, on.product);
        Ok(Self { soc, rated_mhz, product, described, vendor_route, refused, made, start })
    }

    /// The plan that the program follows, as `plan` tells it.
    pub(crate) fn plan(&self, attributes: &Attributes, known: &Known, args: &PlaceArgs) -> Result<Plan, Error> {
        let (args, _) = machine(&on_soc(args)?)?;
        let place = Place::one(&args, Threads::available().0)?;
        let vendor = self.made.as_ref().is_ok_and(|made| made.tiling_key.is_some());
        let scheme = Some(if vendor { Scheme::Vendor } else { Scheme::Native });
        let scheme_follows = args.scheme.is_none();
        make_plan(attributes, known, &place, &PlaceArgs { scheme, scheme_follows, ..args }, false)
    }

    /// Fills the tensors that the program reads from the file that the problem was described by.
    pub(crate) fn fill(&self, input: &Path, global: &mut Global) -> Result<(), Error> {
        let mut file = Input::open(input)?;
        let _progress = Progress::new(format!("reading {}", input.display()));
        // Shapes may lack the batch dimension that the program's tensors have.
        for (id, name, _) in program::given(self.program()?)? {
            let bytes = file.read(name)?;
            match &self.described.problem {
                Problem::MaxUnpool2dBackward(problem) if name == Tensor::Indices.name() => {
                    check_indices(&bytes, problem)?;
                }
                _ => {}
            }
            let to = global.tensor_mut(id);
            match self.channels_last(name) {
                Some((shape, size)) => to.copy_from_slice(&lower::transposed(&bytes, shape, size)),
                None => to.copy_from_slice(&bytes),
            }
        }
        Ok(())
    }

    /// A result of the program in the order of the problem's tensors.
    pub(crate) fn restored<'b>(&self, name: &str, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        match self.channels_last(name) {
            Some(([n, channels, positions], size)) => lower::transposed(bytes, [n, positions, channels], size).into(),
            None => bytes.into(),
        }
    }

    /// Images, channels, positions and bytes of an element of a tensor whose channels come last in the program: the vendor's kernel of the
    /// grid sampler has them so.
    fn channels_last(&self, name: &str) -> Option<([usize; 3], usize)> {
        let Problem::GridSampler2dBackward(p) = &self.described.problem else { return None };
        self.made.as_ref().ok()?.tiling_key?;
        let positions =
            [(Tensor::GradOutput, p.ho * p.wo), (Tensor::Input, p.hi * p.wi), (Tensor::InputGrad, p.hi * p.wi)];
        let (_, positions) = positions.into_iter().find(|(tensor, _)| tensor.name() == name)?;
        Some(([p.n, p.c, positions], p.dtype.size()))
    }
}

impl Made {
    /// Whose program it is.
    pub(crate) const fn scheme(&self) -> &'static str {
        if self.tiling_key.is_some() { "vendor" } else { "native" }
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

/// The vendor's program if it was asked for, or if there is one of an AI Core kernel and nothing else was asked for; else the native one;
/// none where the cores do not compute the dtypes.
fn make(
    problem: &Problem,
    on: &OnSoc,
    place: &Place,
    args: &PlaceArgs,
    vendor_route: Option<Route>,
) -> Result<Result<Made, NotMade>, Error> {
    if !on_ai_core(problem, &on.spec) {
        // An error where the vendor's is asked for and there is none.
        vendor(problem, on, args.scheme, false)?;
        return Ok(Err(NotMade::Cpu));
    }
    let settings = Settings::new(args)?;
    let unusable = |error: LowerError| {
        let more = if let LowerError::LocalBytes { want, .. } = error { on.in_ub_bytes(want) } else { String::new() };
        Error::Unusable(format!("{} on {}: {error}{more}", problem.operator(), on.soc.name()))
    };
    if let Some(plan) = vendor(problem, on, args.scheme, vendor_route == Some(Route::AiCore))? {
        let lowered = lower::vendor(problem, &plan, &on.soc);
        if args.scheme.is_some() || !matches!(lowered, Err(LowerError::NotLowered(_))) {
            let plan = set(plan, args, &settings)?;
            let program = lower::vendor(problem, &plan, &on.soc).map_err(unusable)?;
            let workspace_bytes = plan.kernel_workspace_bytes();
            return Ok(Ok(Made { program, workspace_bytes, tiling_key: Some(plan.tiling_key()) }));
        }
    }
    let plan = native(problem, place, args, &settings)?;
    let lowered = lower::native_in(&plan, &on.soc, &settings.tile).map_err(unusable)?;
    Ok(Ok(Made { program: lowered.program, workspace_bytes: 0, tiling_key: None }))
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
