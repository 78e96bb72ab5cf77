//! MaxUnpool2dBackward from a native plan.
//!
//! A plane of `grad_output` lies in the UB as a table, and elements are picked from it run by run: by a [`gather`], or
//! [one by one](one_by_one) where there is none. Where a plane does not fit, each slice of it is a table in turn.
//!
//! Where copies take whole blocks alone, a plane comes as the blocks that it lies in, and runs begin with a block of indices and of
//! results. What is in front of a plane there was picked from the plane before: it is [kept](carry) until the block is whole.

mod carry;
mod gather;
mod one_by_one;
mod path;
mod sizes;
mod table;

use ubtile_tiling::max_unpool2d_backward::Plan;
use ubtile_tiling::{Choice, Problem, Tensor};

use super::builder::{Builder, int};
use super::pieces::{Limits, choice};
use super::ring::Ring;
use super::room::Room;
use super::shape::BLOCK_BYTES;
use super::{LowerError, shares, tensor};
use crate::program::{Burst, Expr, IntOp, Local, Pipe, Relation, Source, TensorId};

use carry::Carry;
use gather::Gather;
use one_by_one::OneByOne;
use path::Way;
use sizes::{MOST_ELEMENTS, Sizes};
use table::Table;

/// The program's parts.
struct Lowering {
    sizes: Sizes,
    indices: TensorId,
    output: TensorId,
    table: Table,
    loaded: Ring,
    picker: Picker,
    /// Where what is picked is not what is stored.
    way: Option<Way>,
    carry: Option<Carry>,
    out: Ring,
}

/// What picks elements.
enum Picker {
    Gather(Gather),
    OneByOne(OneByOne),
}

/// Some elements of a plane: as the lanes of a run, behind some of the plane before.
struct Run<'a> {
    plane: &'a Expr,
    /// Cells that the plane begins behind a block.
    origin: &'a Expr,
    /// Of all planes' elements, which the first lane is.
    first: Expr,
    lanes: Expr,
    /// Lanes of the plane before; less than none behind a plane's first run.
    ahead: Expr,
    /// Lanes that are whole blocks where copies take these alone.
    whole: Expr,
}

/// The program.
pub(super) fn native(plan: &Plan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
    let problem = plan.problem();
    let (plane, all) = (problem.h * problem.w, problem.out_h * problem.out_w);
    let sizes = Sizes::new(plan, room)?;
    let (unit, budget) = (sizes.unit(), room.local_bytes);

    let mut b = Builder::new(plan.block_dim(), room);
    let limits = Limits { all: plane, instructions: MOST_ELEMENTS, bytes: budget };
    b.piece(choice("tile_elements", sizes.elements, unit, limits, |elements| Sizes { elements, ..sizes }.bytes()));
    let limits = Limits { all, instructions: usize::MAX, ..limits };
    // A slice is whole blocks.
    let step = BLOCK_BYTES / sizes.path.loaded;
    b.piece(choice("tile_cells", sizes.cells, step, limits, |cells| Sizes { cells, ..sizes }.bytes()));
    let of = Problem::MaxUnpool2dBackward(*problem);
    let source = tensor(&mut b, &of, Tensor::GradOutput)?;
    let indices = tensor(&mut b, &of, Tensor::Indices)?;
    let output = tensor(&mut b, &of, Tensor::Out)?;
    let lowering = Lowering::new(&mut b, sizes, source, [indices, output]);
    let ranges: Vec<_> = (0..plan.block_dim()).map(|share| plan.share_range(0, share)).collect();
    shares::planes(&mut b, &ranges, plane, |b, at, from, to| lowering.plane(b, at, (from, to)));
    lowering.end(&mut b);
    Ok(b.finish_in_pieces())
}

impl Lowering {
    fn new(b: &mut Builder, sizes: Sizes, source: TensorId, [indices, output]: [TensorId; 2]) -> Self {
        let field = Some("tile_elements");
        let table = Table::new(b, &sizes, source);
        let loaded = Ring::new(b, ("index", sizes.index_bytes(), 2), field, &[Pipe::Mte2, Pipe::V]);
        let picker =
            if sizes.gathers { Picker::Gather(Gather::new(b, &sizes)) } else { Picker::OneByOne(OneByOne::new(b)) };
        let way = Way::new(b, sizes.path, sizes.elements);
        let out = Ring::new(b, ("run", sizes.out_bytes(), 2), field, &[Pipe::V, Pipe::Mte3]);
        let carry = Carry::new(b, &sizes);
        let lowering = Self { sizes, indices, output, table, loaded, picker, way, carry, out };
        lowering.table.begin(b);
        lowering.loaded.begin(b);
        lowering.out.begin(b);
        if let Picker::Gather(gather) = &lowering.picker {
            gather.begin(b, &sizes);
        }
        if let Some(way) = way {
            way.begin(b, sizes.elements);
        }
        lowering
    }

    fn end(&self, b: &mut Builder) {
        self.table.end(b);
        self.loaded.end(b);
        self.out.end(b);
    }

    /// Some elements of a plane.
    fn plane(&self, b: &mut Builder, plane: &Expr, (from, to): (&Expr, &Expr)) {
        let Sizes { elements: step, all, .. } = self.sizes;
        let origin = &self.table.origin(b, plane);
        if !self.sizes.is_sliced() {
            self.table.load(b, (plane, origin), (&0.into(), &(origin.clone() + int(all))));
        }
        let begin = plane.clone() * int(self.sizes.plane);
        let (unit, carries) = (self.sizes.unit(), self.carry.is_some());
        let ahead = if carries { b.op("ahead", IntOp::Mod, begin.clone() + from.clone(), int(unit)) } else { 0.into() };
        b.repeat("element", (from.clone() - ahead, to.clone(), step), Some("tile_elements"), |b, at| {
            let lanes = b.min("elements", int(step), to.clone() - at.clone());
            let ahead = if carries { from.clone() - at.clone() } else { 0.into() };
            let whole = if carries { b.div("whole", lanes.clone(), unit) * int(unit) } else { lanes.clone() };
            b.tile("run", |b| self.run(b, &Run { plane, origin, first: begin + at, lanes, ahead, whole }));
        });
        if !self.sizes.is_sliced() {
            self.table.leave(b);
        }
    }

    fn run(&self, b: &mut Builder, run: &Run) {
        self.loaded.enter(b);
        self.load_indices(b, run);
        self.loaded.pass(b, 0);
        match &self.picker {
            Picker::Gather(gather) => {
                gather.take(b, &self.sizes, self.loaded.at(0), &run.lanes);
                self.loaded.leave(b);
                self.out.enter(b);
                gather.pick(b, self, run);
            }
            Picker::OneByOne(one_by_one) => {
                self.out.enter(b);
                one_by_one.pick(b, self, run);
                self.loaded.leave(b);
            }
        }
        let exchange = |b: &mut Builder, at: &Local, stored: bool| {
            if let Some(carry) = self.carry.as_ref().filter(|carry| carry.stored == stored) {
                carry.exchange(b, at, run);
            }
        };
        exchange(b, &self.picked(), false);
        if let Some(way) = self.way {
            way.go(b, self.out.at(0), &run.lanes);
        }
        exchange(b, &self.out.at(0), true);
        self.out.pass(b, 0);
        self.store(b, run);
        self.out.leave(b);
    }

    /// Where lanes are as they are picked.
    fn picked(&self) -> Local {
        self.way.map_or_else(|| self.out.at(0), |way| way.gathered.at(0))
    }

    fn load_indices(&self, b: &mut Builder, Run { first, lanes, .. }: &Run) {
        let size = int(self.sizes.index_size());
        let from = first.clone() * size;
        if !self.sizes.in_blocks {
            return b.load(self.loaded.at(0), self.indices.at(from), Burst::of(lanes.clone() * size), None);
        }
        let bytes = lanes.clone() * size;
        let bytes = if self.carry.is_some() { b.round_up("up", bytes, BLOCK_BYTES) } else { bytes };
        let high = from.clone() + bytes;
        load_within(b, self.loaded.at(0), self.indices, [&from, &high]);
    }

    fn store(&self, b: &mut Builder, Run { first, lanes, whole, .. }: &Run) {
        let size = int(self.sizes.path.stored);
        let to = self.output.at(first.clone() * size);
        if !self.sizes.in_blocks {
            return b.store(to, self.out.at(0), Burst::of(lanes.clone() * size));
        }
        b.when(whole.clone(), Relation::Gt, 0, |b| {
            b.store_blocks(to, self.out.at(0), Burst::of(whole.clone() * size));
        });
        let all = b.bytes_of(self.output);
        if all % (int(self.sizes.unit()) * size) == 0 {
            return;
        }
        // The tensor ends within a block.
        let end = first.clone() + lanes.clone();
        b.when(end * size, Relation::Eq, all, |b| {
            let [to, from] = [first.clone() + whole.clone(), whole.clone()].map(|element| element * size);
            let bytes = (lanes.clone() - whole.clone()) * size;
            b.store(self.output.at(to), self.out.at(from), Burst::of(bytes));
        });
    }
}

/// Loads what there is of a tensor from a block to before another.
fn load_within(b: &mut Builder, to: Local, tensor: TensorId, [low, high]: [&Expr; 2]) {
    let load = |b: &mut Builder, high: Expr| {
        b.load_blocks(to.clone(), tensor.at(low.clone()), Burst::of(high - low.clone()));
    };
    let bytes = b.bytes_of(tensor);
    let whole = bytes / int(BLOCK_BYTES) * int(BLOCK_BYTES);
    if whole == bytes {
        return load(b, high.clone());
    }
    let end = b.min("whole", whole, high.clone());
    b.when(low.clone(), Relation::Lt, end.clone(), |b| load(b, end));
    b.when(high.clone(), Relation::Gt, whole, |b| {
        b.load(to.further(Expr::from(whole) - low.clone()), tensor.at(whole), Burst::of(bytes - whole), None);
    });
}
