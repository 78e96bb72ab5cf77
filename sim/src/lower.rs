//! From a plan to the tile program that an Ascend would run.
//!
//! [`native`] lowers ubtile's own plans. These programs are not the vendor's kernels: each core makes what the plan's shares are, and
//! streams it through the UB in pieces that fit beside each other, so that loads, vector instructions and stores of neighbouring
//! pieces run at the same time. A plan's tiles are those of the kernels, which have all of a tile's boxes at hand at once; pieces are as
//! large as the UB allows, or as [`native_in`] is told. What kernels stage in a workspace stays in the UB, so programs ask for none. Their
//! results are those of `docs/numerics.md`, bit by bit.
//!
//! [`vendor`] does the same for the vendor's tilings, as its published kernels go about it. Sums that cores add to in global memory
//! have no fixed order there, so results agree within what their rounding allows.
//!
//! Tensors have the names of the contract's: `grad_output`, `input`, `grid`, `indices`, `input_grad`, `grid_grad`, `out`, `grad_input`.
//! Loops, tiles and buffers name the plan's field that they follow from, so that a finding can.

mod builder;
mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod pieces;
mod replication_pad2d_backward;
mod ring;
mod room;
mod shape;
mod shares;
mod substitute;
mod zero;

use std::fmt;

use ubtile_tiling::{Choice, Dtype, Problem, Tensor, TensorSlot, TilingPlan, VendorPlan};

use crate::product::{Element, Soc, Unknown};
use crate::program::{Program, ProgramError, Role, Source, TensorId, lacks_transpose};

use builder::Builder;
use pieces::Most;
use room::Room;
use shape::BLOCK_BYTES;
use substitute::{OF_PIXELS, OF_ROWS, OF_WORDS};

/// The generation whose published kernels this model has: that of Atlas A2 and A3.
const KERNELS_OF: u32 = 2201;

/// Why there is no program for a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LowerError {
    /// A tensor has gaps or another order than its shape: programs are of contiguous ones.
    Strided(Tensor),
    /// The cores do not compute a dtype; the vendor's library runs it on the device's CPU.
    NotOnCore(Dtype),
    /// This model has no program for it.
    NotLowered(&'static str),
    /// The smallest pieces take more local memory than the plan may use.
    LocalBytes {
        /// What the plan may use.
        got: usize,
        /// What they take.
        want: usize,
    },
    /// A size of the program's pieces that is not possible.
    Piece {
        /// Which.
        name: &'static str,
        /// The size that was asked for.
        got: usize,
        /// The largest that fits.
        fits: usize,
    },
    /// A size below the least that the program's pieces can have.
    PieceLeast {
        /// Which.
        name: &'static str,
        /// The size that was asked for.
        got: usize,
        /// The least.
        least: usize,
    },
    /// A size that the program's pieces do not have.
    NoPiece {
        /// Which.
        asked: String,
        /// Those that can be asked for.
        names: Vec<&'static str>,
    },
    /// Too few flags from one pipe to another.
    Flags {
        /// Those of the product.
        got: u32,
        /// What programs take.
        want: u32,
    },
    /// The product does not say what a program may use.
    Unknown(Unknown),
    /// The product cannot run it.
    Program(ProgramError),
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strided(tensor) => {
                write!(f, "{tensor} is not contiguous: tile programs are made for contiguous tensors")
            }
            Self::NotOnCore(dtype) => {
                write!(f, "the cores do not compute {dtype}: there is no program to model")
            }
            Self::NotLowered(what) => write!(f, "no tile program for {what}"),
            Self::LocalBytes { got, want } => {
                write!(f, "local_bytes {got}: the smallest pieces of the program take {want}, {} more", want - got)
            }
            Self::PieceLeast { name, got, least } => {
                write!(f, "{name} {got} is {} less than the program's pieces can have; {least} fits", least - got)
            }
            Self::Piece { name, got, fits } => {
                write!(f, "{name} {got} is {} more than the program's pieces can have; {fits} fits", got - fits)
            }
            Self::NoPiece { asked, names } if names.is_empty() => {
                write!(f, "{asked}: the program has no pieces of a size to set")
            }
            Self::NoPiece { asked, names } => write!(f, "{asked}: the program's pieces have {}", names.join(", ")),
            Self::Flags { got, want } => {
                write!(
                    f,
                    "sync.event_ids {got}: programs take {want} flags from one pipe to another, {} more",
                    want - got
                )
            }
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Program(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LowerError {}

impl From<ProgramError> for LowerError {
    fn from(error: ProgramError) -> Self {
        Self::Program(error)
    }
}

/// A program and its pieces.
#[derive(Debug)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// The sizes of its pieces, and why they are no larger; none where there is nothing to compute.
    pub pieces: Vec<Choice>,
}

/// The program of a native plan, in pieces as large as fit.
///
/// # Errors
/// There is none, or the product cannot run it.
pub fn native(plan: &TilingPlan, soc: &Soc) -> Result<Program, LowerError> {
    let room = room(plan, soc)?;
    let (source, _) = in_pieces(plan, room)?;
    program(source, soc, room)
}

/// The same in pieces whose named sizes are at most as said.
///
/// # Errors
/// As of [`native`]; a size that the pieces do not have, or that is more than fits.
pub fn native_in(plan: &TilingPlan, soc: &Soc, sizes: &[(&str, usize)]) -> Result<Lowered, LowerError> {
    let mut room = room(plan, soc)?;
    for (i, &(asked, got)) in sizes.iter().enumerate() {
        // What fits beside the others that are asked for.
        room.most = Most::of(sizes.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, size)| *size));
        let (_, fit) = in_pieces(plan, room)?;
        fits(&fit, (asked, got))?;
    }
    room.most = Most::of(sizes.iter().copied());
    let (source, mut pieces) = in_pieces(plan, room)?;
    for &(asked, got) in sizes {
        if let Some(&Choice { name, value: least, .. }) = pieces.iter().find(|c| c.name == asked && c.value > got) {
            return Err(LowerError::PieceLeast { name, got, least });
        }
    }
    for piece in &mut pieces {
        piece.alternative = smaller(plan, room, sizes, piece);
    }
    Ok(Lowered { program: program(source, soc, room)?, pieces })
}

/// What a product runs of a native plan's code.
fn program(source: Source, soc: &Soc, room: Room) -> Result<Program, LowerError> {
    Ok(Program::new(substitute::substitute(source, soc, room), soc)?)
}

/// The next smaller size of pieces: what they have where one less is asked for, which other sizes may follow.
fn smaller(plan: &TilingPlan, mut room: Room, sizes: &[(&str, usize)], piece: &Choice) -> Option<usize> {
    let less = piece.value.checked_sub(1).filter(|less| *less > 0 && Most::ALL.can_have(piece.name))?;
    room.most = Most::of(sizes.iter().copied().chain([(piece.name, less)]));
    let (_, pieces) = in_pieces(plan, room).ok()?;
    let found = pieces.iter().find(|other| other.name == piece.name)?.value;
    (found < piece.value).then_some(found)
}

/// Whether pieces have a size of that name, and it is no more than what fits.
fn fits(fit: &[Choice], (asked, got): (&str, usize)) -> Result<(), LowerError> {
    let known = fit.iter().filter(|choice| Most::ALL.can_have(choice.name));
    match known.clone().find(|choice| choice.name == asked) {
        None => Err(LowerError::NoPiece { asked: asked.into(), names: known.map(|choice| choice.name).collect() }),
        Some(&Choice { name, value: fits, .. }) if got > fits => Err(LowerError::Piece { name, got, fits }),
        Some(_) => Ok(()),
    }
}

/// What a plan's program may use of a core, if there is a program.
fn room(plan: &TilingPlan, soc: &Soc) -> Result<Room, LowerError> {
    let problem = plan.problem();
    contiguous(&problem)?;
    if problem.tensors().any(|slot| slot.dtype == Dtype::Bf16) && !plan.target().capabilities.bf16 {
        return Err(LowerError::NotOnCore(Dtype::Bf16));
    }
    let room = |shifted| Room::new(plan.target(), soc, shifted);
    let most = room(shifted(&problem, plan.target().local_bytes, soc))?;
    if let TilingPlan::ReplicationPad2dBackward(plan) = plan {
        return replication_pad2d_backward::room(plan, most, room);
    }
    Ok(most)
}

/// Bytes that a program shifts at a time where copies take whole blocks alone.
fn shifted(problem: &Problem, local_bytes: usize, soc: &Soc) -> usize {
    match problem {
        Problem::ReplicationPad2dBackward(_) | Problem::Im2colBackward(_) => OF_ROWS,
        // Channels and points are exchanged all the time, element by element where nothing else does so.
        Problem::GridSampler2dBackward(_) if lacks_transpose(soc, Element::F32) => {
            if local_bytes / 8 >= OF_WORDS {
                OF_WORDS
            } else {
                0
            }
        }
        // Pieces begin with rows of pixels or of points.
        Problem::GridSampler2dBackward(p) => {
            let in_blocks = [p.wi, p.wo].iter().all(|w| (w * p.dtype.size()).is_multiple_of(BLOCK_BYTES));
            if in_blocks || local_bytes / 16 < OF_PIXELS { 0 } else { OF_PIXELS }
        }
        // Its planes come and go as the blocks that they lie in.
        Problem::MaxUnpool2dBackward(_) => 0,
    }
}

/// A native plan's code, and its pieces.
fn in_pieces(plan: &TilingPlan, room: Room) -> Result<(Source, Vec<Choice>), LowerError> {
    if plan.problem().early_success().is_some() {
        return Ok((zero::zero(&plan.problem(), room)?, Vec::new()));
    }
    match plan {
        TilingPlan::ReplicationPad2dBackward(plan) => replication_pad2d_backward::native(plan, room),
        TilingPlan::Im2colBackward(plan) => im2col_backward::native(plan, room),
        TilingPlan::MaxUnpool2dBackward(plan) => max_unpool2d_backward::native(plan, room),
        TilingPlan::GridSampler2dBackward(plan) => grid_sampler_2d_backward::native(plan, room),
    }
}

/// The program of the vendor's kernel with its tiling, where this model has one: GridSampler2DBackward (bilinear, nearest) and
/// ReplicationPad2dBackward.
///
/// It is the kernel alone. The vendor's library calls that of the grid sampler between transpositions: its `grad_output`, `input` and
/// `input_grad` have the channels last, `[N, H, W, C]` ([`transposed`] brings them there and back).
///
/// # Errors
/// There is none, or the product cannot run it.
pub fn vendor(problem: &Problem, plan: &VendorPlan, soc: &Soc) -> Result<Program, LowerError> {
    if soc.version.npu_arch.get().map_err(|unknown| LowerError::Unknown(unknown.clone()))? != &KERNELS_OF {
        return Err(LowerError::NotLowered("the vendor's kernels of this generation"));
    }
    contiguous(problem)?;
    let room = Room::new(&soc.target_spec().map_err(LowerError::Unknown)?, soc, 0)?;
    let source = match problem {
        Problem::GridSampler2dBackward(problem) => grid_sampler_2d_backward::vendor(problem, plan, room)?,
        Problem::ReplicationPad2dBackward(problem) => replication_pad2d_backward::vendor(problem, plan, room)?,
        Problem::Im2colBackward(_) => return Err(LowerError::NotLowered("the vendor's Im2colBackward")),
        Problem::MaxUnpool2dBackward(_) => return Err(LowerError::NotLowered("the vendor's MaxUnpool2dBackward")),
    };
    Ok(Program::new(source, soc)?)
}

/// Elements of so many bytes in another order: of each of `n` matrices, rows become columns.
#[must_use]
pub fn transposed(bytes: &[u8], [n, rows, columns]: [usize; 3], size: usize) -> Vec<u8> {
    let place = |at: usize| {
        let (matrix, within) = (at / (rows * columns), at % (rows * columns));
        let (column, row) = (within / rows, within % rows);
        ((matrix * rows + row) * columns + column) * size
    };
    (0..n * rows * columns).flat_map(|at| bytes[place(at)..].iter().take(size).copied()).collect()
}

/// A field of the vendor's tiling data.
fn field(plan: &VendorPlan, name: &'static str) -> Result<usize, LowerError> {
    plan.field(name).ok_or(LowerError::NotLowered("a tiling of another operator"))
}

/// Whether there is a program for a problem's tensors as they lie, and for their dtypes.
fn contiguous(problem: &Problem) -> Result<(), LowerError> {
    for slot in problem.tensors() {
        if !is_contiguous(&slot) {
            return Err(LowerError::Strided(slot.tensor));
        }
        element(slot.dtype)?;
    }
    Ok(())
}

/// Whether elements lie one behind the other in the order of their indices.
fn is_contiguous(slot: &TensorSlot) -> bool {
    let mut expected = 1;
    slot.shape.as_slice().iter().zip(slot.strides.as_slice()).rev().all(|(&size, &stride)| {
        let fits = size <= 1 || stride == expected;
        expected *= size.max(1);
        fits
    })
}

/// How the cores see a dtype.
fn element(dtype: Dtype) -> Result<Element, LowerError> {
    let known = Element::ALL.into_iter().find(|(element, _)| element.dtype() == Some(dtype));
    match (known, dtype) {
        (Some((element, _)), _) => Ok(element),
        (None, Dtype::Bool) => Ok(Element::U8),
        (None, _) => Err(LowerError::NotOnCore(dtype)),
    }
}

/// The unsigned type of the same size, for elements that are only moved.
const fn bits_of(element: Element) -> Element {
    match crate::program::size_of(element) {
        1 => Element::U8,
        2 => Element::U16,
        _ => Element::U32,
    }
}

/// Adds a tensor of a problem to a program.
fn tensor(b: &mut Builder, problem: &Problem, tensor: Tensor) -> Result<TensorId, LowerError> {
    let slot = problem.slot(tensor).ok_or(LowerError::NotLowered("a tensor that the problem does not have"))?;
    let shape: Vec<u64> = slot.shape.as_slice().iter().map(|&size| size as u64).collect();
    let role = if slot.output { Role::Output } else { Role::Input };
    Ok(b.source().tensor(tensor.name(), slot.dtype, &shape, role))
}
