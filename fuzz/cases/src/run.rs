//! Running a plan on random data, any way that must not matter.

use std::ops::Range;
use std::sync::Mutex;

use arbitrary::Unstructured;
use ubtile_kernels::{Level, Parallel, RunError, Values, ValuesMut};
use ubtile_testkit::problems::POISON;
use ubtile_testkit::reference::Expected;
use ubtile_testkit::{Data, Fill, Inputs, bits_equal, compare};
use ubtile_tiling::{Dtype, Phase, PlanOptions, Problem, Staging, TargetSpec, Tensor, TensorDesc};

use crate::plan;

pub mod grid_sampler_2d_backward;
pub mod im2col_backward;
pub mod max_unpool2d_backward;
pub mod replication_pad2d_backward;

/// Which function of the kernels is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `run_parallel`.
    Whole,
    /// `run_share`, the last share first.
    Shares,
    /// `run_tile` on boxes of its own, as a device would.
    Tiles,
}

/// Everything that the result of a run must not depend on, and the data that it may.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of the data.
    pub seed: u64,
    /// Kind of the data.
    pub fill: Fill,
    /// What the plan is for.
    pub target: TargetSpec,
    /// What is asked of it.
    pub options: PlanOptions,
    /// Instruction set.
    pub level: Level,
    /// Which function.
    pub entry: Entry,
    /// How many threads run the shares.
    pub threads: usize,
    /// Bytes from an aligned address to the workspace.
    pub misalignment: usize,
}

impl Setup {
    /// Any of them.
    pub fn new(u: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let levels: Vec<Level> = Level::available().collect();
        Ok(Self {
            seed: u.arbitrary()?,
            fill: *u.choose(&Fill::ALL)?,
            target: plan::target(u)?,
            options: plan::options(u)?,
            level: *u.choose(&levels)?,
            entry: *u.choose(&[Entry::Whole, Entry::Shares, Entry::Tiles])?,
            threads: u.int_in_range(1..=3)?,
            misalignment: u.int_in_range(0..=64)?,
        })
    }

    /// The plainest way to run it: one lane, one thread, tiles as large as can be, all the workspace it likes.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self {
            target: TargetSpec::host(1),
            options: PlanOptions::default(),
            level: Level::scalar(),
            entry: Entry::Whole,
            threads: 1,
            misalignment: 0,
            ..self.clone()
        }
    }

    /// A workspace of so many bytes with anything in it.
    #[must_use]
    pub fn workspace(&self, bytes: usize) -> Workspace {
        Workspace { bytes: vec![POISON; self.misalignment + bytes], start: self.misalignment }
    }
}

/// Bytes that a plan asked for.
#[derive(Debug)]
pub struct Workspace {
    bytes: Vec<u8>,
    start: usize,
}

impl Workspace {
    /// They.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

/// Threads that take shares from one queue, the caller's among them.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub usize);

impl Parallel for Threads {
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        let queue = Mutex::new(items);
        let next = || queue.lock().expect("no share has failed").next();
        let work_through = || {
            while let Some(item) = next() {
                work(item);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.0 {
                scope.spawn(work_through);
            }
            work_through();
        });
    }
}

/// A tensor as the kernels read it.
#[must_use]
pub fn values(data: &Data) -> Values<'_> {
    Values::from_bytes(data.dtype(), data.bytes()).expect("a whole number of aligned elements")
}

/// A tensor as the kernels write it.
#[must_use]
pub fn values_mut(data: &mut Data) -> ValuesMut<'_> {
    ValuesMut::from_bytes(data.dtype(), data.bytes_mut()).expect("a whole number of aligned elements")
}

/// Some of a tensor's elements as the kernels write them.
#[must_use]
pub fn part(data: &mut Data, elements: Range<usize>) -> ValuesMut<'_> {
    let (dtype, size) = (data.dtype(), data.dtype().size());
    let bytes = &mut data.bytes_mut()[elements.start * size..elements.end * size];
    ValuesMut::from_bytes(dtype, bytes).expect("a whole number of aligned elements")
}

/// A box without gaps, poisoned.
#[must_use]
pub fn boxed(dtype: Dtype, elements: usize) -> Data {
    Data::filled(contiguous(dtype, &[elements]), POISON)
}

/// Copies elements between tensors of one dtype, given by their offsets in elements.
pub fn copy(from: &Data, to: &mut Data, pairs: impl Iterator<Item = (usize, usize)>) {
    let size = from.dtype().size();
    for (source, target) in pairs {
        let element = &from.bytes()[source * size..][..size];
        to.bytes_mut()[target * size..][..size].copy_from_slice(element);
    }
}

/// The boxes of a tile, without gaps: those it reads and those it writes, which it may have written before.
#[derive(Debug)]
pub struct Boxes<'a, const INPUTS: usize, const OUTPUTS: usize> {
    /// In the order of the kernel's arguments.
    pub inputs: [&'a Data; INPUTS],
    /// The same.
    pub outputs: [&'a mut Data; OUTPUTS],
}

/// Which tile: the number of its phase, of its share and its own.
pub type At = [usize; 3];

/// All shares of all phases, the last share of a phase first.
pub fn shares(phases: impl Iterator<Item = Phase>) -> impl Iterator<Item = (usize, usize)> {
    phases.enumerate().flat_map(|(number, phase)| (0..phase.shares).rev().map(move |share| (number, share)))
}

/// All tiles of some shares, and which they are.
pub fn tiles<T, I: Iterator<Item = T>>(
    shares: impl Iterator<Item = (usize, usize)>,
    of: impl Fn(usize, usize) -> I,
) -> impl Iterator<Item = (At, T)> {
    shares.flat_map(move |(phase, share)| (0..).map(move |number| [phase, share, number]).zip(of(phase, share)))
}

/// The copies of inputs that a plan's first phases make.
#[derive(Debug)]
pub struct Copies(Vec<(Tensor, Data)>);

impl Copies {
    /// Makes them share by share, the last one first. `stage` is given the phase, the share and its part of the copy.
    pub fn made(
        stagings: impl Iterator<Item = Staging>,
        mut stage: impl FnMut(usize, usize, ValuesMut<'_>) -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let mut copies = Vec::new();
        for (phase, staging) in stagings.enumerate() {
            let mut copy = Data::filled(contiguous(staging.slot.dtype, staging.slot.shape.as_slice()), POISON);
            for share in (0..staging.shares).rev() {
                let planes = staging.planes(share);
                let elements = planes.start * staging.plane()..planes.end * staging.plane();
                stage(phase, share, part(&mut copy, elements))?;
            }
            copies.push((staging.slot.tensor, copy));
        }
        Ok(Self(copies))
    }

    /// All shares of the other phases, as [`shares`] orders them.
    pub fn shares_behind(&self, phases: impl Iterator<Item = Phase>) -> impl Iterator<Item = (usize, usize)> {
        shares(phases).filter(|(phase, _)| *phase >= self.0.len())
    }

    /// What the other phases read: the copy of a tensor, or the tensor itself.
    #[must_use]
    pub fn read<'a>(&'a self, tensor: Tensor, whole: Values<'a>) -> Values<'a> {
        self.0.iter().find(|(of, _)| *of == tensor).map_or(whole, |(_, copy)| values(copy))
    }
}

fn contiguous(dtype: Dtype, shape: &[usize]) -> TensorDesc {
    TensorDesc::contiguous(dtype, shape).expect("no more dimensions than a tensor has")
}

/// What the plainest run gives for a problem: each output that it writes.
///
/// # Errors
/// An index of an unpooling that is outside of the plane.
///
/// # Panics
/// If the inputs are another operator's.
pub fn plainly(problem: &Problem, setup: &Setup, inputs: &Inputs) -> Result<Vec<(Tensor, Data)>, RunError> {
    const PLANNED: &str = "planned for any machine";
    let plain = setup.plain();
    match (problem, inputs) {
        (Problem::GridSampler2dBackward(p), Inputs::GridSampler2dBackward(inputs)) => {
            let outputs = grid_sampler_2d_backward::run(p, &plain, inputs).expect(PLANNED);
            let named = [Tensor::InputGrad, Tensor::GridGrad].into_iter().zip(outputs);
            Ok(named.filter(|(tensor, _)| p.slot(*tensor).is_some()).collect())
        }
        (Problem::MaxUnpool2dBackward(p), Inputs::MaxUnpool2dBackward(inputs)) => {
            let (result, out) = max_unpool2d_backward::run(p, &plain, inputs).expect(PLANNED);
            result.map(|()| vec![(Tensor::Out, out)])
        }
        (Problem::ReplicationPad2dBackward(p), Inputs::ReplicationPad2dBackward(grad_output)) => {
            let grad_input = replication_pad2d_backward::run(p, &plain, grad_output).expect(PLANNED);
            Ok(vec![(Tensor::GradInput, grad_input)])
        }
        (Problem::Im2colBackward(p), Inputs::Im2colBackward(grad_output)) => {
            Ok(vec![(Tensor::Out, im2col_backward::run(p, &plain, grad_output).expect(PLANNED))])
        }
        _ => panic!("the inputs of {} are of another operator", problem.operator()),
    }
}

/// A result is the one of the plain run, bit by bit, and what the reference expects; nothing lies between its elements.
pub fn judge(got: &Data, plain: &Data, expected: &Expected) {
    assert!(got.gaps_hold(POISON), "{got:?} is written to between its elements");
    if let Err(difference) = bits_equal(got, plain) {
        panic!("another way to run it gives other bits: {difference}");
    }
    if let Err(mismatch) = compare(got, expected) {
        panic!("not what the reference expects: {mismatch}");
    }
}

#[cfg(test)]
mod tests {
    use ubtile_testkit::{Coordinates, IndexFill, Rng};
    use ubtile_tiling::{Edition, Operator};

    use super::*;
    use crate::generate::{Scale, sensible};

    /// What the fuzzer does, with bytes that are random: whole problems, shares and tiles of every operator.
    #[test]
    fn every_entry_gives_the_plain_result() {
        let mut rng = Rng::new(1);
        for (operator, entry) in
            Operator::ALL.into_iter().flat_map(|o| [Entry::Whole, Entry::Shares, Entry::Tiles].map(|e| (o, e)))
        {
            let mut computed = 0;
            while computed < 150 {
                let bytes: Vec<u8> = (0..512).map(|_| rng.next_u64() as u8).collect();
                let mut u = Unstructured::new(&bytes);
                let setup = Setup { entry, ..Setup::new(&mut u).expect("enough bytes") };
                let description = sensible(&mut u, operator, Scale::Small).expect("enough bytes");
                let Ok(problem) = description.check(None, Edition::Any) else { continue };
                let coordinates = rng.pick(&Coordinates::ALL);
                let indices = rng.pick(&[IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange]);
                match &problem {
                    Problem::GridSampler2dBackward(p) => grid_sampler_2d_backward::check(p, &setup, coordinates),
                    Problem::MaxUnpool2dBackward(p) => max_unpool2d_backward::check(p, &setup, indices),
                    Problem::ReplicationPad2dBackward(p) => replication_pad2d_backward::check(p, &setup),
                    Problem::Im2colBackward(p) => im2col_backward::check(p, &setup),
                }
                computed += 1;
            }
        }
    }
}
