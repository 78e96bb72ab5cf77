//! Trying a tile program: on values, in orders of its steps, beside another program.

mod repro;
mod shrink;

use ubtile_sim::exec::{Delay, Global, Run, Steps};
use ubtile_sim::generate::{Choices, Values, delays};
use ubtile_sim::program::{Instruction, Node, Program, Store, TensorId, is_float, visit};
use ubtile_sim::sanitize::sanitize;
use ubtile_sim::text;
use ubtile_testkit::{Data, bits_equal, canonical_nan, component};
use ubtile_tiling::{Dtype, TensorDesc};

use super::{Finding, Kind};
use crate::error::Error;
use crate::program::{given, results};

pub(crate) use repro::{Tested, TileRepro};
pub(crate) use shrink::smallest_tile;

/// Orders in which a program runs on the same values.
const ORDERS: u32 = 4;

/// A program, and perhaps one whose results it must have.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) program: Program,
    against: Option<Program>,
}

/// Values, and steps that wait.
#[derive(Clone, Debug)]
pub(crate) struct TileCase {
    pub(crate) values: Global,
    pub(crate) delays: Vec<Delay>,
}

/// What a run in program order gives.
struct Plain {
    results: Vec<(String, Data)>,
    steps: Steps,
}

impl Pair {
    /// Two programs can be compared when they read and write tensors of the same names, dtypes and shapes.
    pub(crate) fn new(program: Program, against: Option<Program>) -> Result<Self, Error> {
        if let Some(other) = &against {
            for (ours, theirs) in [(given(&program)?, given(other)?), (results(&program)?, results(other)?)] {
                let named = |tensors: &[(TensorId, &str, TensorDesc)]| {
                    let mut named: Vec<_> = tensors
                        .iter()
                        .map(|(_, name, desc)| format!("{name}: {} {}", desc.dtype, desc.shape))
                        .collect();
                    named.sort_unstable();
                    named
                };
                let (ours, theirs) = (named(&ours), named(&theirs));
                if ours != theirs {
                    let one = ours.iter().find(|tensor| !theirs.contains(tensor));
                    let one = one.or_else(|| theirs.iter().find(|tensor| !ours.contains(tensor)));
                    let one = one.map_or("a tensor", String::as_str);
                    return Err(Error::Unusable(format!("--against: only one of the two programs has {one}")));
                }
            }
        }
        Ok(Self { program, against })
    }

    /// Tries values in some orders: how many there were, and the case that is wrong.
    pub(crate) fn search(
        &self,
        values: Global,
        kind: Values,
        choices: &mut Choices<'_>,
    ) -> (u64, Option<(TileCase, Finding)>) {
        let mut case = TileCase { values, delays: Vec::new() };
        let plain = match self.plain(&case.values) {
            Ok(plain) => plain,
            Err(finding) => return (1, Some((case, finding))),
        };
        // Sums of floats differ with the order in which cores add to memory; of whole numbers they are exact.
        if kind != Values::Whole && self.adds_floats() {
            return (1, None);
        }
        for order in 0..ORDERS {
            case.delays = delays(&plain.steps, choices);
            if let Some(finding) = self.delayed(&case, &plain) {
                return (2 + u64::from(order), Some((case, finding)));
            }
        }
        (1 + u64::from(ORDERS), None)
    }

    /// Tries a case.
    pub(crate) fn attempt(&self, case: &TileCase) -> Option<Finding> {
        match self.plain(&case.values) {
            Err(finding) => Some(finding),
            Ok(plain) if !case.delays.is_empty() => self.delayed(case, &plain),
            Ok(_) => None,
        }
    }

    /// What is wrong in program order, or the results.
    fn plain(&self, values: &Global) -> Result<Plain, Finding> {
        let program = &self.program;
        let halted = |problem: String| Finding::new(Kind::Halt, problem);
        let found = sanitize(program, Some(values.clone())).map_err(|fault| halted(fault.describe(program)))?;
        let mut errors = found.iter().filter(|finding| !finding.kind.is_warning());
        if let Some(first) = errors.next() {
            let place = first.at.iter().chain(&first.instruction).chain([&first.what]).cloned().collect::<Vec<_>>();
            let more = match errors.count() {
                0 => String::new(),
                more => format!(" (and {more} more: ubtile sanitize)"),
            };
            return Err(Finding::new(
                Kind::Sanitizer,
                format_args!("{}: {}{more}", first.kind.name(), place.join(": ")),
            ));
        }
        let mut run = Run::new(program, values.clone());
        let steps = run.finish_with(&[]).map_err(|halt| halted(halt.describe(program)))?;
        let results = read(program, run.global()).map_err(halted)?;
        if let Some(other) = &self.against {
            self.compare(other, values, &results)?;
        }
        Ok(Plain { results, steps })
    }

    /// Whether another program has the same results, every NaN being as good as another.
    fn compare(&self, other: &Program, values: &Global, ours: &[(String, Data)]) -> Result<(), Finding> {
        let wrong = |problem: String| Finding::new(Kind::Differ, problem);
        let failed = |problem: &str| wrong(format!("the program to compare with: {problem}"));
        let mut global = Global::new(other).ok_or_else(|| failed("needs more memory than there is"))?;
        let tensors = |program| given(program).map_err(|e| failed(&e.to_string()));
        for (from, name, _) in tensors(&self.program)? {
            let to = tensors(other)?.into_iter().find(|(_, known, _)| *known == name);
            if let Some((to, ..)) = to {
                global.tensor_mut(to).copy_from_slice(values.tensor(from));
            }
        }
        let mut run = Run::new(other, global);
        run.finish().map_err(|halt| failed(&halt.describe(other)))?;
        let theirs = read(other, run.global()).map_err(|e| failed(&e))?;
        for (name, ours) in ours {
            let Some((_, theirs)) = theirs.iter().find(|(known, _)| known == name) else { continue };
            if let Err(difference) = bits_equal(&one_nan(ours), &one_nan(theirs)) {
                return Err(wrong(format!("{name}, and that of the program to compare with: {difference}")));
            }
        }
        Ok(())
    }

    /// What is wrong when steps wait.
    fn delayed(&self, case: &TileCase, plain: &Plain) -> Option<Finding> {
        let program = &self.program;
        let wrong = |problem: String| Some(Finding::new(Kind::Order, problem));
        let mut run = Run::new(program, case.values.clone());
        let steps = match run.finish_with(&case.delays) {
            Ok(steps) => steps,
            Err(halt) => return wrong(format!("it stops: {}; {}", halt.describe(program), self.waits(case, None))),
        };
        let results = match read(program, run.global()) {
            Ok(results) => results,
            Err(problem) => return wrong(problem),
        };
        for ((name, expected), (_, got)) in plain.results.iter().zip(&results) {
            if let Err(difference) = bits_equal(got, expected) {
                return wrong(format!(
                    "{name}, and that in program order: {difference}; {}",
                    self.waits(case, Some(&steps))
                ));
            }
        }
        None
    }

    /// Which steps wait, in words.
    fn waits(&self, case: &TileCase, steps: Option<&Steps>) -> String {
        let mut all: Vec<_> = self.described(case, steps).into_iter().map(|(what, _)| what).collect();
        let more = all.len().saturating_sub(3);
        all.truncate(3);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("waiting: {}{more}", all.join(", "))
    }

    /// Each step that waits in words, and its instruction, where the run came to it.
    pub(crate) fn described(&self, case: &TileCase, steps: Option<&Steps>) -> Vec<(String, Option<String>)> {
        let program = &self.program;
        let describe = |(i, Delay { core, pipe, step }): (usize, &Delay)| {
            let node = steps.and_then(|steps| steps.delayed.get(i).copied().flatten());
            let line = node.map(|node| format!("{}: {}", program.locate(node), text::describe(program.source(), node)));
            let at = line.as_ref().map(|line| format!(", {line}")).unwrap_or_default();
            (format!("step {step} of {} of core {core}{at}", pipe.name()), line)
        };
        case.delays.iter().enumerate().map(describe).collect()
    }

    /// The instructions that wait in a case.
    pub(crate) fn instructions(&self, case: &TileCase) -> Vec<Option<String>> {
        self.described(case, self.steps(case).as_ref()).into_iter().map(|(_, line)| line).collect()
    }

    /// The steps that should wait, and that the run of a case ends without, in words.
    pub(crate) fn unreached(&self, case: &TileCase) -> Vec<String> {
        let Some(steps) = self.steps(case) else { return Vec::new() };
        let words = self.described(case, None).into_iter().map(|(step, _)| step);
        words.zip(&case.delays).filter(|(_, delay)| !steps.reached(delay)).map(|(step, _)| step).collect()
    }

    /// What the run of a case does, if it comes to its end.
    fn steps(&self, case: &TileCase) -> Option<Steps> {
        Run::new(&self.program, case.values.clone()).finish_with(&case.delays).ok()
    }

    /// Whether several cores add floats to global memory.
    fn adds_floats(&self) -> bool {
        let source = self.program.source();
        let mut found = false;
        visit(&source.body, &mut |_, node| {
            let Node::Do(statement) = node else { return };
            found |= matches!(&statement.instruction, Instruction::Store(Store { add: Some(of), .. }) if is_float(*of));
        });
        found && source.cores > 1
    }
}

/// The results of a run.
fn read(program: &Program, global: &Global) -> Result<Vec<(String, Data)>, String> {
    let all = results(program).map_err(|e| e.to_string())?;
    Ok(all.into_iter().map(|(id, name, desc)| (name.to_owned(), data(desc, global.tensor(id)))).collect())
}

/// A tensor of bytes.
pub(super) fn data(desc: TensorDesc, bytes: &[u8]) -> Data {
    let mut data = Data::filled(desc, 0);
    let to = data.bytes_mut();
    if to.len() == bytes.len() {
        to.copy_from_slice(bytes);
    }
    data
}

/// The same, whose NaNs all have the same bits.
fn one_nan(data: &Data) -> Data {
    let dtype = component(data.dtype()).0;
    let floats = matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
    let mut same = self::data(*data.desc(), data.bytes());
    for offset in data.offsets().filter(|offset| floats && data.number(*offset).is_nan()) {
        same.set_bits(offset, canonical_nan(dtype));
    }
    same
}
