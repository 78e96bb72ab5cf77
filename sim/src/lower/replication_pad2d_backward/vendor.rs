//! The vendor's PadV3GradReplicate on A2 and A3, as its published code goes about it, with the vendor's tiling.
//!
//! A core takes planes, or rows of them where only the width is padded. Planes of which one side at most is longer than 64 pass through the
//! UB in strips ([`strips`]), larger ones in blocks of 16 rows and of 16 columns ([`large`]); with one direction alone there are no
//! transpositions ([`rows`], [`columns`]). F16 and BF16 are added up in f32.

mod columns;
mod large;
mod rows;
mod strips;
mod tile;

use ubtile_tiling::VendorPlan;
use ubtile_tiling::replication_pad2d_backward::Problem;

use crate::lower::builder::{Builder, int};
use crate::lower::room::Room;
use crate::lower::shape::Compute;
use crate::lower::{LowerError, field};
use crate::program::{Expr, Global, Role, Source, TensorId};

/// Rows and columns that are folded together, as wide as a transposition.
const EDGE: usize = 16;

/// What all kernels know.
#[derive(Clone, Debug)]
struct Planes {
    input: TensorId,
    output: TensorId,
    compute: Compute,
    /// Rows and columns of `grad_output` and of `grad_input`.
    padded: [usize; 2],
    size: [usize; 2],
    top: usize,
    bottom: usize,
    left: usize,
    right: usize,
    /// `ubFactorElement`.
    factor: usize,
    /// Items of each core, and how many cores take one more.
    each: usize,
    tail: usize,
    cores: usize,
    /// Bytes of the UB.
    budget: usize,
}

/// The program.
pub(in crate::lower) fn vendor(problem: &Problem, plan: &VendorPlan, room: Room) -> Result<Source, LowerError> {
    let key = plan.tiling_key();
    if key >= 10_000 {
        return Err(LowerError::NotLowered("the vendor's kernel for one row of large planes"));
    }
    let mut b = Builder::new(plan.block_dim(), room);
    let [batch, channel] = ["batch", "channel"].map(|name| field(plan, name));
    let [height, width] = ["height", "width"].map(|name| field(plan, name));
    let [out_height, out_width] = ["outHeight", "outWidth"].map(|name| field(plan, name));
    let (padded, size) = ([height?, width?], [out_height?, out_width?]);
    let planes = [batch?, channel?];
    let shape = |[rows, columns]: [usize; 2]| [planes[0], planes[1], rows, columns].map(|size| size as u64);
    let input = b.source().tensor("grad_output", problem.dtype, &shape(padded), Role::Input);
    let output = b.source().tensor("grad_input", problem.dtype, &shape(size), Role::Output);
    let of = Planes {
        input,
        output,
        compute: Compute::of(problem.dtype)?,
        padded,
        size,
        top: field(plan, "padTop")?,
        bottom: field(plan, "padBottom")?,
        left: field(plan, "padLeft")?,
        right: field(plan, "padRight")?,
        factor: field(plan, "ubFactorElement")?,
        each: field(plan, "ncPerCore")?,
        tail: field(plan, "tailNC")?,
        cores: plan.block_dim(),
        budget: room.local_bytes,
    };
    let class = key % 1000;
    if !matches!(class, 110 | 101) && [of.top, of.bottom, of.left, of.right].into_iter().any(|pad| pad >= EDGE) {
        // The vendor's library has the device's CPU do those with more than 7.
        return Err(LowerError::NotLowered("padding of 16 or more together with the other direction's"));
    }
    match class {
        110 => rows::lower(&mut b, &of),
        101 => columns::lower(&mut b, &of, problem.dtype, field(plan, "wCalCount")?),
        111 => large::lower(&mut b, &of, problem.dtype, field(plan, "workspacePerCore")?)?,
        0 | 100 | 10 => strips::lower(&mut b, &of)?,
        _ => return Err(LowerError::NotLowered("this tiling key")),
    }
    Ok(b.finish())
}

impl Planes {
    /// `body` for each item of a core.
    fn each(&self, b: &mut Builder, name: &str, body: impl FnOnce(&mut Builder, Expr)) {
        let first = |core: usize| int(core * self.each + core.min(self.tail));
        let from = b.per_core("first", (0..self.cores).map(first).collect());
        let to = b.per_core("last", (1..=self.cores).map(first).collect());
        b.repeat(name, (from, to, 1), Some("ncPerCore"), body);
    }

    /// An element of `grad_output`.
    fn from(&self, plane: &Expr, row: impl Into<Expr>, column: impl Into<Expr>) -> Global {
        self.input.at(offset(self.padded, plane, row.into(), column.into(), self.compute.size))
    }

    /// An element of `grad_input`.
    fn to(&self, plane: &Expr, row: impl Into<Expr>, column: impl Into<Expr>) -> Global {
        self.output.at(offset(self.size, plane, row.into(), column.into(), self.compute.size))
    }

    /// Bytes of a row of `grad_output`, and of `grad_input`.
    fn pitches(&self) -> [usize; 2] {
        [self.padded[1] * self.compute.size, self.size[1] * self.compute.size]
    }
}

fn offset([rows, columns]: [usize; 2], plane: &Expr, row: Expr, column: Expr, size: usize) -> Expr {
    ((plane.clone() * int(rows) + row) * int(columns) + column) * int(size)
}
