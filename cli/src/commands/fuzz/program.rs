//! `ubtile fuzz --program F`: search for values and an order of steps for which a tile program is wrong.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_sim::exec::Global;
use ubtile_sim::generate::{Choices, Values, inputs};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Program, TensorId};
use ubtile_testkit::Rng;
use ubtile_tiling::Product;

use super::{SHRINKING, found_wrong, limit, verdict};
use crate::args::FuzzArgs;
use crate::error::Error;
use crate::fuzzing::{Finding, Found, Pair, Tested, TileRepro, quietly, smallest_tile};
use crate::output::{self, Format, Report, count};
use crate::program::{given, text_of};
use crate::progress::Progress;
use crate::soc::soc;
use crate::tensors::Input;

/// What a search found.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct FuzzProgram {
    program: String,
    /// The program whose results it must have.
    against: Option<String>,
    soc: String,
    /// Of the product's numbers.
    model_hash: String,
    seed: u64,
    /// Values that it ran on.
    cases: u64,
    /// Runs of all cases: in program order, and with steps that wait.
    orders: u64,
    seconds: f64,
    /// What was wrong with the last case.
    failure: Option<Finding>,
    /// The file that shows it, if it could be written.
    repro: Option<String>,
}

/// Tries values until something is wrong or the time is over.
pub(super) fn run(file: &Path, args: &FuzzArgs, format: Format) -> Result<(), Error> {
    let name = args.soc.as_deref().unwrap_or(Soc::usual(Product::AtlasA2));
    let product = soc(name)?;
    let tested = read(file)?;
    let against = args.against.as_deref().map(read).transpose()?;
    let other = against.as_ref().map(|against| against.parse(&product)).transpose()?;
    let pair = Pair::new(tested.parse(&product)?, other)?;
    let fixed = Fixed::read(args.input.as_deref(), &pair.program)?;
    let (time, most) = (limit(args), args.cases.map_or(u64::MAX, NonZeroU64::get));
    let started = Instant::now();
    let (mut cases, mut orders, mut found) = (0, 0, None);
    let mut seeds = Rng::new(args.seed);
    {
        let step = format!("fuzzing {}", file.display());
        let progress = Progress::new(step.clone());
        while found.is_none() && cases < most && time.is_none_or(|time| started.elapsed() < time) {
            let mut choices = Choices::of_seed(seeds.next_u64());
            let kind = Values::ALL[(cases % 3) as usize];
            let no_memory = || Error::file(file, "needs more memory than there is");
            let mut values = inputs(&pair.program, kind, &mut choices).ok_or_else(no_memory)?;
            fixed.fill(&mut values);
            let (ran, wrong) = quietly(|| pair.search(values, kind, &mut choices));
            (cases, orders) = (cases + 1, orders + ran);
            progress.say(format!("{step}: {cases} cases, {orders} orders"));
            if let Some((case, finding)) = wrong {
                progress.say(format!("{step}: found {}, making it smaller", finding.kind));
                let until = Instant::now() + SHRINKING;
                found = Some(quietly(|| smallest_tile(&pair, case, finding, &fixed.names(), until)));
            }
        }
    }
    let mut report = FuzzProgram {
        program: file.display().to_string(),
        against: args.against.as_ref().map(|path| path.display().to_string()),
        soc: product.name().into(),
        model_hash: product.model_hash(),
        seed: args.seed,
        cases,
        orders,
        seconds: started.elapsed().as_secs_f64(),
        failure: None,
        repro: None,
    };
    let Some((case, finding)) = found else {
        // Nothing was run: that is no success.
        if cases == 0 {
            return Err(Error::Unusable(format!("{}: no case was run", file.display())));
        }
        return output::print(format, &report);
    };
    let found = Found { seed: args.seed, case: cases };
    let repro = TileRepro::new((name, tested, against), (&pair, &case), &finding, found);
    let saved = repro.and_then(|repro| repro.save(&args.output));
    let (repro, error) = found_wrong(&report.program, &finding, args.seed, saved);
    (report.failure, report.repro) = (Some(finding), repro);
    output::print(format, &report)?;
    Err(error)
}

/// A file with a program.
fn read(file: &Path) -> Result<Tested, Error> {
    Ok(Tested { file: file.into(), text: text_of(file)? })
}

/// Tensors that keep the values of a file.
struct Fixed(Vec<(TensorId, String, Vec<u8>)>);

impl Fixed {
    fn read(path: Option<&Path>, program: &Program) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(Self(Vec::new())) };
        let (mut file, mut all) = (Input::open(path)?, Vec::new());
        for (id, name, desc) in given(program)? {
            let Some(found) = file.desc(name)? else { continue };
            if (found.dtype, found.shape) != (desc.dtype, desc.shape) {
                let (dtype, shape) = (desc.dtype, desc.shape);
                let problem = format!("is {} {}, and the program reads {dtype} {shape}", found.dtype, found.shape);
                return Err(Error::tensor(path, name, problem));
            }
            all.push((id, name.to_owned(), file.read(name)?.to_vec()));
        }
        if all.is_empty() {
            return Err(Error::file(path, "has nothing that the program reads"));
        }
        Ok(Self(all))
    }

    fn fill(&self, values: &mut Global) {
        for (id, _, bytes) in &self.0 {
            values.tensor_mut(*id).copy_from_slice(bytes);
        }
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|(_, name, _)| name.clone()).collect()
    }
}

impl Report for FuzzProgram {
    const SCHEMA: &'static str = "ubtile.fuzz.program.v1";

    fn text(&self) -> String {
        let Self { program, against, soc, seed, cases, orders, seconds, failure, repro, .. } = self;
        let against = against.as_ref().map(|other| format!(" against {other}")).unwrap_or_default();
        let verdict = verdict(failure.as_ref(), repro.as_deref());
        let [cases, orders] = [(*cases, "case"), (*orders, "order")].map(|(number, what)| count(number, what));
        format!("{program}{against} on {soc}, seed {seed}: {cases} in {orders} in {seconds:.1} s, {verdict}\n")
    }
}
