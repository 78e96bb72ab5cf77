//! The vendor's GridSampler2DGrad on A2 and A3, as its published code goes about it, with the vendor's tiling.
//!
//! All tensors but the grid have their channels last. A core takes a run of points and works on `ubFactorElement` of them at a time:
//! vector instructions find their cells, then the scalar unit takes point after point. With bilinear interpolation it loads the channels
//! of `grad_output`, and those of each pixel that is there; it adds up how they change, and adds weighted channels to `input_grad` in
//! global memory, where cores meet. `grid_grad` is put together element by element. With the nearest pixel, `group` points are
//! loaded at a time, and `grid_grad` is zero.
//!
//! F16 and BF16 are added up in f32 in the workspace, which is zeroed first and rounded at the end, ties away from zero.

mod cast;
mod point;

use std::ops::Range;

use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, Problem};
use ubtile_tiling::{Dtype, VendorPlan};

use super::coordinates::Coordinates;
use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::room::Room;
use crate::lower::shape::{Compute, binary, cast, fill};
use crate::lower::{LowerError, field};
use crate::product::{Element, Rounding};
use crate::program::{BinaryOp, BufferId, Burst, Expr, Pipe, Role, Source, TensorId, Vector, VectorOp};

use point::Channels;

/// The program's part.
struct Lowering {
    compute: Compute,
    channels: usize,
    /// Pixels of each axis, x first.
    size: [usize; 2],
    /// Points of an image, and of a chunk.
    points: usize,
    chunk: usize,
    nearest: bool,
    group: usize,
    grad_output: TensorId,
    input: TensorId,
    sums: TensorId,
    grid_grad: TensorId,
    coordinates: Coordinates,
    /// Whole numbers of the columns and rows of cells.
    cells: [BufferId; 2],
    /// Of the corners nw, ne, sw, se.
    weights: [BufferId; 4],
    /// From V to the scalar unit.
    found: u8,
    rows: Channels,
    /// `grid_grad` of a chunk: by the scalar unit, and in the tensor's type where that is another one.
    pairs: Ring,
    stored: Option<Ring>,
}

/// The program.
pub(in crate::lower) fn vendor(problem: &Problem, plan: &VendorPlan, room: Room) -> Result<Source, LowerError> {
    if problem.interpolation == Interpolation::Bicubic {
        return Err(LowerError::NotLowered("the vendor's bicubic interpolation"));
    }
    let compute = Compute::of(problem.dtype)?;
    let ([n, c], [hi, wi], [ho, wo]) = ([problem.n, problem.c], [problem.hi, problem.wi], [problem.ho, problem.wo]);
    let mut b = Builder::new(plan.block_dim(), room);
    let shape = |sizes: [usize; 4]| sizes.map(|size| size as u64);
    let (image, grid) = (shape([n, hi, wi, c]), shape([n, ho, wo, 2]));
    let dtype = problem.dtype;
    let source = b.source();
    let grad_output = source.tensor("grad_output", dtype, &shape([n, ho, wo, c]), Role::Input);
    let input = source.tensor("input", dtype, &image, Role::Input);
    let grid_values = source.tensor("grid", dtype, &grid, Role::Input);
    // Both gradients are computed; what nobody wants goes to the workspace.
    let role = |wanted, output, workspace| if wanted { output } else { workspace };
    let (sums, input_grad) = if compute.is_short() {
        let role = role(problem.want_input_grad, Role::Output, Role::Workspace);
        let input_grad = source.tensor("input_grad", dtype, &image, role);
        (source.tensor("sums", Dtype::F32, &image, Role::Workspace), Some(input_grad))
    } else {
        let role = role(problem.want_input_grad, Role::ZeroedOutput, Role::ZeroedWorkspace);
        (source.tensor("input_grad", dtype, &image, role), None)
    };
    let role = role(problem.want_grid_grad, Role::Output, Role::Workspace);
    let grid_grad = source.tensor("grid_grad", dtype, &grid, role);

    let pixels = cast::parts(plan)?;
    if input_grad.is_some() {
        cast::zero(&mut b, &pixels, sums, plan)?;
        b.begin_together();
    }
    let parts = parts(plan)?;
    let longest = parts.iter().map(Range::len).max().unwrap_or(1).max(1);
    let chunk = field(plan, "ubFactorElement")?.min(longest).next_multiple_of(8);
    let coordinates = Coordinates::new(&mut b, problem, grid_values, chunk)?;
    let tile = Some("ubFactorElement");
    let short = compute.is_short();
    let cells = ["x_cell", "y_cell"].map(|name| b.buffer(name, 4 * chunk, 1, tile));
    let weights = ["nw", "ne", "sw", "se"].map(|corner| b.buffer(&format!("{corner}_weight"), 4 * chunk, 1, tile));
    let found = b.flag_id(Pipe::V, Pipe::S);
    let nearest = problem.interpolation == Interpolation::Nearest;
    let group = if nearest { field(plan, "group")? } else { 1 };
    let rows = Channels::new(&mut b, compute, c, group, nearest);
    // Zeros come from V, sums from the scalar unit.
    let stores = [Pipe::V, Pipe::Mte3];
    let pairs = match (nearest, short) {
        (true, _) => Ring::new(&mut b, ("pairs", 2 * compute.size * chunk, 1), tile, &stores),
        (false, true) => Ring::new(&mut b, ("pairs_f32", 8 * chunk, 1), tile, &[Pipe::S, Pipe::V]),
        (false, false) => Ring::new(&mut b, ("pairs", 8 * chunk, 1), tile, &[Pipe::S, Pipe::Mte3]),
    };
    let stored = (short && !nearest).then(|| Ring::new(&mut b, ("pairs", 2 * compute.size * chunk, 1), tile, &stores));
    let lowering = Lowering {
        compute,
        channels: c,
        size: [wi, hi],
        points: ho * wo,
        chunk,
        nearest,
        group,
        grad_output,
        input,
        sums,
        grid_grad,
        coordinates,
        cells,
        weights,
        found,
        rows,
        pairs,
        stored,
    };
    lowering.share(&mut b, &parts);
    if let Some(input_grad) = input_grad {
        b.begin_together();
        cast::round(&mut b, &pixels, (sums, input_grad), (compute, plan))?;
    }
    Ok(b.finish())
}

/// The points of each core, counted over all images.
fn parts(plan: &VendorPlan) -> Result<Vec<Range<usize>>, LowerError> {
    let of = |name| field(plan, name);
    let plane = of("gridH")? * of("gridW")?;
    let (each, tail, images) = (of("pNumPerCore")?, of("tailPNum")?, of("tailBNum")?);
    let mut first = 0;
    let run = |core: usize| {
        let more = usize::from(core < tail) + if core < images { plane } else { 0 };
        let run = first..first + each + more;
        first = run.end;
        run
    };
    Ok((0..plan.block_dim()).map(run).collect())
}

impl Lowering {
    fn share(&self, b: &mut Builder, parts: &[Range<usize>]) {
        let rings = [Some(&self.pairs), self.stored.as_ref()];
        self.coordinates.begin(b);
        self.rows.begin(b);
        rings.iter().flatten().for_each(|ring| ring.begin(b));
        let first = b.per_core("first_point", parts.iter().map(|part| int(part.start)).collect());
        let last = b.per_core("last_point", parts.iter().map(|part| int(part.end)).collect());
        let step = self.chunk;
        b.repeat("point", (first, last.clone(), step), Some("pNumPerCore"), |b, point| {
            let count = b.min("points", int(step), last - point.clone());
            b.tile("points", |b| self.chunk(b, &point, &count));
        });
        rings.iter().flatten().for_each(|ring| ring.end(b));
        self.rows.end(b);
        self.coordinates.finish(b);
    }

    /// Some points.
    fn chunk(&self, b: &mut Builder, point: &Expr, count: &Expr) {
        self.coordinates.find(b, point, count);
        let [x, y] = self.coordinates.axes();
        for (axis, to) in [x, y].into_iter().zip(self.cells) {
            let op = VectorOp::Cast { to: Element::I32, from: Element::F32, rounding: Rounding::Even };
            b.vector(Vector::new(op, [to.at(0), axis.cell.at(0)]).count(count.clone()));
        }
        let size = int(2 * self.compute.size);
        if self.nearest {
            b.after(Pipe::V, Pipe::S, self.found);
            self.pairs.enter(b);
            fill(b, self.pairs.at(0), Element::U16, 0, count.clone() * (size / 2));
            self.pairs.pass(b, 0);
            b.store(self.grid_grad.at(point.clone() * size), self.pairs.at(0), Burst::of(count.clone() * size));
            self.pairs.leave(b);
            b.repeat("group", (0, count.clone(), self.group), Some("group"), |b, group| {
                let n = b.min("n", int(self.group), count.clone() - group.clone());
                self.group(b, point, &group, &n);
            });
            return;
        }
        let factors = [(x.before, y.before), (x.after, y.before), (x.before, y.after), (x.after, y.after)];
        for (to, (x, y)) in self.weights.into_iter().zip(factors) {
            let operands = [to.at(0), x.at(0), y.at(0)];
            binary(b, BinaryOp::Mul, Element::F32, operands, count.clone());
        }
        b.after(Pipe::V, Pipe::S, self.found);
        self.pairs.enter(b);
        b.repeat("k", (0, count.clone(), 1), Some("ubFactorElement"), |b, k| self.point(b, point, &k));
        self.pairs.pass(b, 0);
        let out = match &self.stored {
            None => &self.pairs,
            Some(stored) => {
                stored.enter(b);
                let (to, from) = (stored.at(0), self.pairs.at(0));
                cast(b, (to, self.compute.element), (from, Element::F32), count.clone() * 2);
                self.pairs.leave(b);
                stored.pass(b, 0);
                stored
            }
        };
        b.store(self.grid_grad.at(point.clone() * size), out.at(0), Burst::of(count.clone() * size));
        out.leave(b);
    }
}
