//! What a product has, found out by asking it.

use ubtile_tiling::Dtype;

use crate::product::{Element, Soc, Unknown};
use crate::program::{
    Action, BufferId, Instruction, Limits, Node, Program, Role, Source, Space, Statement, SyncAll, TensorId, Touch,
    VectorOp, Walker, lacks_vector, mnemonic,
};

/// Bytes of a buffer in which an instruction is tried.
const ROOM: u32 = 1 << 20;

/// A product, and what programs for it can be made of.
#[derive(Clone, Debug)]
pub(super) struct Has {
    pub(super) soc: Soc,
    pub(super) limits: Limits,
    /// Vector instructions.
    pub(super) ops: Vec<VectorOp>,
    /// Those of them that any value may go through, lane by lane: of two operands, of one, of one and a number.
    pub(super) lanes: Vec<VectorOp>,
    /// Types of elements that can be added to global memory.
    pub(super) adds: Vec<Element>,
    /// Ways in which all cores can wait for each other: by hardware, through memory.
    pub(super) syncs: [bool; 2],
}

impl Has {
    pub(super) fn new(soc: &Soc) -> Result<Self, Unknown> {
        let ops: Vec<_> = mnemonic::all().filter(|op| !lacks_vector(soc, *op)).collect();
        let simple =
            |op: &&VectorOp| matches!(op, VectorOp::Binary(..) | VectorOp::Unary(..) | VectorOp::WithScalar(..));
        let lanes = ops.iter().filter(simple).copied().collect();
        let has = |known: Result<&bool, Unknown>| known.is_ok_and(|has| *has);
        Ok(Self {
            soc: soc.clone(),
            limits: Limits::of(soc)?,
            ops,
            lanes,
            adds: soc.capabilities.atomic_add.get().cloned().unwrap_or_default(),
            syncs: [has(soc.sync.sync_all_hard.get()), has(soc.sync.sync_all_soft.get())],
        })
    }

    /// What an instruction touches; `None` where the product does not have it. Its operands are buffers 0 to 3 and tensor 0.
    pub(super) fn touches(&self, instruction: &Instruction) -> Option<Vec<Touch>> {
        let mut source = Source::new(1);
        for name in ["a", "b", "c", "d"] {
            source.buffer(name, ROOM, 1, None);
        }
        source.tensor("t", Dtype::U8, &[u64::from(ROOM)], Role::InOut);
        source.body.push(Node::Do(Statement { instruction: instruction.clone(), field: None }));
        let program = Program::new(source, &self.soc).ok()?;
        let step = Walker::new(&program, 0).step().ok()??;
        program.check_action(&step.action).ok()?;
        let mut all = Vec::new();
        step.action.touches(|touch| all.push(touch));
        let nothing = matches!(step.action, Action::Vector(_)) && all.is_empty();
        (!nothing).then_some(all)
    }

    /// Where the operand in a buffer ends; `None` where data decide.
    pub(super) fn end(touches: &[Touch], buffer: BufferId) -> Option<u32> {
        let slot_start = u64::from(u32::from(buffer.0) * ROOM);
        let of_buffer = |touch: &&Touch| touch.space == Space::Local(buffer, 0);
        let end = |touch: &Touch| (!touch.by_data).then(|| touch.end().saturating_sub(slot_start));
        let ends = touches.iter().filter(of_buffer).map(end).collect::<Option<Vec<_>>>()?;
        u32::try_from(ends.into_iter().max().unwrap_or(0)).ok()
    }

    /// Whether the product has an instruction that names nothing but itself.
    pub(super) fn sync(&self, sync: &SyncAll) -> bool {
        self.syncs[usize::from(*sync != SyncAll::Hard)]
    }
}

/// The tensor in which an instruction is tried.
pub(super) const TRIED: TensorId = TensorId(0);
