//! MaxUnpool2dBackward from a native plan.
//!
//! A plane of `grad_output` lies in the UB as a table; a run's indices become byte offsets, and a gather picks the elements. A table of
//! a slice has a zero in front and behind, where indices of other slices are sent, so that the bits of all slices are put together
//! by `or`.

mod path;
mod table;

use ubtile_tiling::max_unpool2d_backward::Plan;
use ubtile_tiling::{Choice, Problem, Tensor};

use super::builder::{Builder, int};
use super::pieces::{Limits, choice, whole_steps};
use super::ring::Ring;
use super::room::Room;
use super::shape::{BLOCK_BYTES, binary, blocks, cast, fill, largest, scalar};
use super::{LowerError, element, shares, tensor};
use crate::product::Element;
use crate::program::{
    BinaryOp, BufferId, Burst, Expr, IntOp, Local, Pipe, ScalarOp, Source, TensorId, Vector, VectorOp, size_of,
};

use path::{Path, Way};
use table::Table;

/// Most elements of a run: behind some thousands, more of them save nothing, and several planes pass through the UB side by side.
const MOST_ELEMENTS: usize = 4096;

/// Sizes, and what follows from them.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    path: Path,
    /// Of an index.
    index: Element,
    /// Elements of a run, and of a slice.
    elements: usize,
    cells: usize,
    /// Cells of a plane.
    all: usize,
    /// Slots of the table.
    tables: u32,
    /// Whether planes begin within blocks, where copies do not.
    between_blocks: bool,
    /// How many elements of indices and results are whole blocks, where copies take these alone, planes do not begin with them, and vector
    /// instructions shift nothing.
    run_blocks: Option<usize>,
}

impl Sizes {
    fn is_sliced(&self) -> bool {
        self.cells < self.all
    }

    /// Whether the blocks come that a plane lies in.
    fn comes_in_blocks(&self) -> bool {
        self.between_blocks && self.path.widened.is_none() && !self.is_sliced()
    }

    fn index_bytes(&self) -> usize {
        blocks(self.elements * size_of(self.index) as usize)
    }

    /// Bytes of 32 bits for each lane of a run, and for no fewer than sixteen.
    fn lane_bytes(&self) -> usize {
        blocks(4 * (self.elements * self.path.lanes).max(16))
    }

    /// Bytes of a run's elements as they are gathered.
    fn taken_bytes(&self) -> usize {
        blocks(self.elements * self.path.taken())
    }

    fn out_bytes(&self) -> usize {
        blocks(self.elements * self.path.stored)
    }

    fn bytes(&self) -> usize {
        let pairs = if self.path.lanes == 2 { 3 * self.lane_bytes() } else { 0 };
        let part = if self.is_sliced() { self.taken_bytes() } else { 0 };
        let parts = part + Way::bytes(&self.path, self.elements);
        let run = 2 * self.index_bytes() + 2 * blocks(self.elements * 4) + pairs + parts + 2 * self.out_bytes();
        run + Table::bytes(self)
    }
}

/// The program's parts.
struct Lowering {
    sizes: Sizes,
    indices: TensorId,
    output: TensorId,
    table: Table,
    loaded: Ring,
    /// Indices in 32 bits, and byte offsets.
    positions: BufferId,
    offsets: BufferId,
    pairs: Option<Pairs>,
    /// Where what the gather gives is not what is stored.
    way: Option<Way>,
    /// What a slice adds.
    part: Option<BufferId>,
    out: Ring,
}

/// Offsets of both halves of an element: which offset each lane takes, what it adds, and the result.
#[derive(Clone, Copy)]
struct Pairs {
    twice: BufferId,
    half: BufferId,
    offsets: BufferId,
}

/// The program.
pub(super) fn native(plan: &Plan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
    let problem = plan.problem();
    let (plane, all) = (problem.h * problem.w, problem.out_h * problem.out_w);
    let path = Path::new(problem.dtype, problem.out_dtype)?;
    let index = element(problem.index_dtype)?;
    let budget = room.local_bytes;
    let most = plane.min(room.most.elements).min(MOST_ELEMENTS);
    let between_blocks = room.scratch.is_some() && !(all * path.loaded).is_multiple_of(BLOCK_BYTES);
    let cells = all.min(room.most.cells);
    // Where copies take whole blocks alone, runs that the UB cuts short end with one.
    let step = if room.scratch.is_some() { BLOCK_BYTES / path.stored.min(size_of(index) as usize) } else { 1 };
    let sizes = Sizes { path, index, elements: most, cells, all, tables: 2, between_blocks, run_blocks: None };
    let mut sizes = fit(sizes, budget)?;
    if step < sizes.elements && sizes.elements < most {
        sizes.elements = whole_steps(sizes.elements, step);
    }
    let shifts = room.scratch.is_some_and(|scratch| scratch.shifted.is_some());
    let whole = sizes.elements == plane || sizes.elements.is_multiple_of(step);
    let pays = !plane.is_multiple_of(step) && !shifts && !sizes.is_sliced();
    sizes.run_blocks = (pays && whole).then_some(step);

    let mut b = Builder::new(plan.block_dim(), room);
    let limits = Limits { all: plane, instructions: MOST_ELEMENTS, bytes: budget };
    b.piece(choice("tile_elements", sizes.elements, step, limits, |elements| Sizes { elements, ..sizes }.bytes()));
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
    shares::planes(&mut b, &ranges, plane, |b, at, from, to| {
        let first = at.clone() * int(plane);
        lowering.plane(b, at, (&first, from, to));
    });
    lowering.end(&mut b);
    Ok(b.finish_in_pieces())
}

/// The largest sizes that fit: a whole plane twice, once, or slices of it.
fn fit(sizes: Sizes, budget: usize) -> Result<Sizes, LowerError> {
    let least = Sizes { elements: sizes.elements.min(256), ..sizes };
    for tables in [2, 1] {
        let whole = Sizes { tables, ..sizes };
        let fits = |elements| Sizes { elements, ..whole }.bytes();
        if !sizes.is_sliced() && fits(least.elements) <= budget {
            return Ok(Sizes { elements: largest(sizes.elements, budget, fits)?, ..whole });
        }
    }
    // A slice ends where a block does, so that the zero behind it is in a block of its own.
    let block = BLOCK_BYTES / sizes.path.loaded;
    let slices = (sizes.all.min(sizes.cells) / block).max(1).min((sizes.all - 1) / block);
    if slices == 0 {
        // A plane of a block at most is not cut.
        let smallest = Sizes { elements: 1, tables: 1, cells: sizes.all, ..sizes };
        let elements = largest(sizes.elements, budget, |elements| Sizes { elements, ..smallest }.bytes())?;
        return Ok(Sizes { elements, ..smallest });
    }
    let with = |elements: usize, blocks: usize| Sizes { elements, cells: blocks * block, tables: 2, ..sizes };
    let elements = largest(sizes.elements, budget / 2, |n| with(n, 1).bytes())
        .or_else(|_| largest(sizes.elements, budget, |n| with(n, 1).bytes()))?;
    let cells = largest(slices, budget, |blocks| with(elements, blocks).bytes())?;
    Ok(with(elements, cells))
}

impl Lowering {
    fn new(b: &mut Builder, sizes: Sizes, source: TensorId, [indices, output]: [TensorId; 2]) -> Self {
        let field = Some("tile_elements");
        let table = Table::new(b, &sizes, source);
        let loaded = Ring::new(b, ("index", sizes.index_bytes(), 2), field, &[Pipe::Mte2, Pipe::V]);
        let positions = b.buffer("positions", blocks(sizes.elements * 4), 1, field);
        let offsets = b.buffer("offsets", blocks(sizes.elements * 4), 1, field);
        let pairs = (sizes.path.lanes == 2).then(|| {
            let [twice, half, offsets] =
                ["twice", "half", "pair_offsets"].map(|name| b.buffer(name, sizes.lane_bytes(), 1, field));
            Pairs { twice, half, offsets }
        });
        let way = Way::new(b, sizes.path, sizes.elements);
        let part = sizes.is_sliced().then(|| b.buffer("part", sizes.taken_bytes(), 1, field));
        let out = Ring::new(b, ("run", sizes.out_bytes(), 2), field, &[Pipe::V, Pipe::Mte3]);
        let lowering = Self { sizes, indices, output, table, loaded, positions, offsets, pairs, way, part, out };
        lowering.table.begin(b);
        lowering.loaded.begin(b);
        lowering.out.begin(b);
        if let Some(pairs) = pairs {
            lowering.begin_pairs(b, pairs);
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

    /// 0, 0, 4, 4, 8, 8, ... and 0, 4, 0, 4, ...: sixteen one by one, then twice as many each time.
    fn begin_pairs(&self, b: &mut Builder, Pairs { twice, half, .. }: Pairs) {
        b.repeat("k", (0, 8, 1), None, |b, k| {
            for side in [0, 4] {
                b.write(twice.at(k.clone() * 8 + side), Element::U32, k.clone() * 4);
                b.write(half.at(k.clone() * 8 + side), Element::U32, side);
            }
        });
        let flag = b.flag_id(Pipe::S, Pipe::V);
        b.after(Pipe::S, Pipe::V, flag);
        let (mut done, all) = (16, 2 * self.sizes.elements);
        while done < all {
            let more = done.min(all - done);
            for (of, by) in [(twice, done * 2), (half, 0)] {
                let operands = [of.at(int(4 * done)), of.at(0)];
                scalar(b, ScalarOp::Adds, Element::I32, operands, int(by), int(more));
            }
            done += more;
        }
    }

    /// Some elements of a plane, which is so many elements behind the first one.
    fn plane(&self, b: &mut Builder, plane: &Expr, (first, from, to): (&Expr, &Expr, &Expr)) {
        let (step, sliced) = (self.sizes.elements, self.sizes.is_sliced());
        let all = int(self.sizes.all).into();
        let begin = if sliced { 0.into() } else { self.table.load(b, plane, (&0.into(), &all)) };
        let field = Some("tile_elements");
        let one = |b: &mut Builder, at: Expr, elements: &Expr| {
            b.tile("run", |b| self.run(b, (plane, &begin), &(first.clone() + at), elements));
        };
        match self.sizes.run_blocks {
            None => b.repeat("element", (from.clone(), to.clone(), step), field, |b, at| {
                let elements = b.min("elements", int(step), to.clone() - at.clone());
                one(b, at, &elements);
            }),
            // What is in front of the first block of indices and of results is a run by itself.
            Some(unit) => {
                let ahead = b.op("ahead", IntOp::Mod, first.clone() + from.clone(), int(unit));
                let any = b.min("any", 1, ahead.clone());
                // Where a run holds a plane, no more of it is left.
                let step = step.next_multiple_of(unit);
                let begin = from.clone() - ahead - any * (int(step) - int(unit));
                b.repeat("element", (begin, to.clone(), step), field, |b, at| {
                    let end = b.min("end", to.clone(), at.clone() + int(step));
                    let at = b.max("begin", at, from.clone());
                    one(b, at.clone(), &(end - at));
                });
            }
        }
        if !sliced {
            self.table.leave(b);
        }
    }

    /// Some elements, whose plane begins so far behind what offsets count from.
    fn run(&self, b: &mut Builder, (plane, begin): (&Expr, &Expr), at: &Expr, elements: &Expr) {
        let Sizes { path, index, cells, all, .. } = self.sizes;
        let index_size = size_of(index);
        self.loaded.enter(b);
        let bytes = elements.clone() * i64::from(index_size);
        b.load(self.loaded.at(0), self.indices.at(at.clone() * i64::from(index_size)), Burst::of(bytes), None);
        self.loaded.pass(b, 0);
        let positions = self.positions.at(0);
        if index == Element::I64 {
            cast(b, (positions.clone(), Element::I32), (self.loaded.at(0), Element::I64), elements.clone());
        } else {
            scalar(b, ScalarOp::Adds, Element::I32, [positions.clone(), self.loaded.at(0)], 0, elements.clone());
        }
        self.loaded.leave(b);

        self.out.enter(b);
        let result = self.way.map_or_else(|| self.out.at(0), |way| way.gathered.at(0));
        let offsets = self.offsets.at(0);
        let size = int(path.in_table());
        match self.part {
            None => {
                let operands = [offsets.clone(), positions];
                scalar(b, ScalarOp::Muls, Element::I32, operands, size, elements.clone());
                if begin.as_constant() != Some(0) {
                    let operands = [offsets.clone(), offsets];
                    scalar(b, ScalarOp::Adds, Element::I32, operands, begin.clone(), elements.clone());
                }
                self.gather(b, result.clone(), elements);
            }
            Some(part) => {
                let words = b.div("words", elements.clone() * int(path.taken()) + 1, 2);
                fill(b, result.clone(), Element::U16, 0, words.clone());
                b.repeat("cell", (0, int(all), cells), Some("tile_cells"), |b, cell| {
                    let n = b.min("cells", int(cells), Expr::from(int(all)) - cell.clone());
                    let begin = self.table.load(b, plane, (&cell, &n));
                    let mut step = |op, from: &Local, number: Expr| {
                        scalar(b, op, Element::I32, [offsets.clone(), from.clone()], number, elements.clone());
                    };
                    step(ScalarOp::Adds, &positions, Expr::from(0) - cell);
                    step(ScalarOp::Mins, &offsets, n);
                    step(ScalarOp::Maxs, &offsets, (-1).into());
                    step(ScalarOp::Muls, &offsets, size.into());
                    step(ScalarOp::Adds, &offsets, begin);
                    self.gather(b, part.at(0), elements);
                    self.table.leave(b);
                    let operands = [result.clone(), result.clone(), part.at(0)];
                    binary(b, BinaryOp::Or, Element::U16, operands, words.clone());
                });
            }
        }
        if let Some(way) = self.way {
            way.go(b, self.out.at(0), elements);
        }
        self.out.pass(b, 0);
        let stored = int(path.stored);
        b.store(self.output.at(at.clone() * stored), self.out.at(0), Burst::of(elements.clone() * stored));
        self.out.leave(b);
    }

    /// Elements of the table at the offsets.
    fn gather(&self, b: &mut Builder, to: Local, elements: &Expr) {
        let lanes = elements.clone() * int(self.sizes.path.lanes);
        let offsets = match self.pairs {
            None => self.offsets,
            Some(Pairs { twice, half, offsets }) => {
                let operands = [offsets.at(0), self.offsets.at(0), twice.at(0)];
                b.vector(Vector::new(VectorOp::Gather(Element::U32), operands).count(lanes.clone()));
                let operands = [offsets.at(0), offsets.at(0), half.at(0)];
                binary(b, BinaryOp::Add, Element::I32, operands, lanes.clone());
                offsets
            }
        };
        let operands = [to, self.table.at(), offsets.at(0)];
        b.vector(Vector::new(VectorOp::Gather(self.sizes.path.lane), operands).count(lanes));
    }
}
