//! What the instructions of each core did, summed up.

use crate::clock::{Accesses, Event};
use crate::product::Element;
use crate::program::{Access, Action, Layout, NodeId, PlaceAt, VectorStep, is_float, size_of};

/// What a core did. Times are in 1/1024 cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Of instructions on f32.
    pub fp32: u64,
    /// Of instructions on 16-bit floats.
    pub fp16: u64,
    /// Of instructions on 32-bit integers.
    pub int32: u64,
    /// Of instructions on 16-bit integers.
    pub int16: u64,
    /// Of all other instructions of the vector pipe.
    pub misc: u64,
    /// Lanes of arithmetic on floats.
    pub float_lanes: u64,
    /// Bytes of an operand of these.
    pub float_bytes: u64,
    /// Time that bank conflicts took.
    pub conflicts: u64,
    /// Bytes of the UB that vector instructions read.
    pub vector_read: u64,
    /// Bytes of the UB that vector instructions wrote.
    pub vector_written: u64,
    /// Bytes of the UB that the scalar unit read.
    pub scalar_read: u64,
    /// Bytes of the UB that the scalar unit wrote.
    pub scalar_written: u64,
    /// What loads and the scalar unit's reads did in global memory.
    pub reads: Accesses,
    /// What stores and the scalar unit's writes did in global memory.
    pub writes: Accesses,
    /// Of each node: how often it ran, and its time.
    pub nodes: Vec<(u64, u64)>,
}

/// What all cores did.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// By core.
    pub cores: Vec<Counted>,
}

impl Gathered {
    /// Nothing yet.
    #[must_use]
    pub fn new(cores: u32) -> Self {
        Self { cores: vec![Counted::default(); cores as usize] }
    }

    /// Adds an instruction.
    pub fn add(&mut self, event: &Event<'_>) {
        if let Some(core) = self.cores.get_mut(event.core as usize) {
            core.add(event);
        }
    }
}

impl Counted {
    fn add(&mut self, event: &Event<'_>) {
        let time = event.end - event.start;
        let NodeId(node) = event.step.node;
        let node = node as usize;
        if self.nodes.len() <= node {
            self.nodes.resize(node + 1, (0, 0));
        }
        let (calls, ticks) = &mut self.nodes[node];
        *calls += 1;
        *ticks += time;
        self.conflicts += event.conflicts;
        match &event.step.action {
            Action::Vector(vector) => {
                let element = vector.op.element();
                *self.time_of(element) += time;
                self.vector(vector, element);
            }
            Action::Move(step) => {
                self.misc += time;
                let bytes = u64::from(step.blocks) * u64::from(step.bytes);
                self.vector_read += bytes;
                self.vector_written += bytes;
            }
            Action::Transpose(step) => {
                self.misc += time;
                let bytes = u64::from(step.repeats) * step.repeat_bytes();
                self.vector_read += bytes;
                self.vector_written += bytes;
            }
            Action::Transfer(transfer) => {
                add(if transfer.load { &mut self.reads } else { &mut self.writes }, &event.accesses)
            }
            Action::Read(read) => match read.from {
                PlaceAt::Local(_) => self.scalar_read += u64::from(size_of(read.element)),
                PlaceAt::Global(_) => add(&mut self.reads, &without_copies(&event.accesses)),
            },
            Action::Write(write) => match write.to {
                PlaceAt::Local(_) => self.scalar_written += u64::from(size_of(write.element)),
                PlaceAt::Global(_) => add(&mut self.writes, &without_copies(&event.accesses)),
            },
            _ => {}
        }
    }

    /// Two cores as one, without what is of each node.
    pub(super) fn and(mut self, other: &Self) -> Self {
        for (sum, more) in [
            (&mut self.fp32, other.fp32),
            (&mut self.fp16, other.fp16),
            (&mut self.int32, other.int32),
            (&mut self.int16, other.int16),
            (&mut self.misc, other.misc),
            (&mut self.float_lanes, other.float_lanes),
            (&mut self.float_bytes, other.float_bytes),
            (&mut self.conflicts, other.conflicts),
            (&mut self.vector_read, other.vector_read),
            (&mut self.vector_written, other.vector_written),
            (&mut self.scalar_read, other.scalar_read),
            (&mut self.scalar_written, other.scalar_written),
        ] {
            *sum += more;
        }
        add(&mut self.reads, &other.reads);
        add(&mut self.writes, &other.writes);
        self
    }

    /// Where the time of an instruction on such elements belongs.
    const fn time_of(&mut self, element: Element) -> &mut u64 {
        match element {
            Element::F32 => &mut self.fp32,
            Element::F16 | Element::Bf16 => &mut self.fp16,
            Element::I32 | Element::U32 => &mut self.int32,
            Element::I16 | Element::U16 => &mut self.int16,
            Element::I8 | Element::U8 | Element::I64 => &mut self.misc,
        }
    }

    fn vector(&mut self, vector: &VectorStep, element: Element) {
        let repeats = u64::from(vector.repeats);
        let of = |mask: u128| u64::from(mask.count_ones());
        let lanes = if repeats == 0 { 0 } else { (repeats - 1) * of(vector.mask) + of(vector.last) };
        if is_float(element) {
            self.float_lanes += lanes;
            self.float_bytes += lanes * u64::from(size_of(element));
        }
        for part in vector.op.parts().iter() {
            let bytes = match part.layout {
                // As many elements as lanes: of what is kept, that is the most there can be.
                Layout::Lanes | Layout::Table | Layout::Kept => lanes * u64::from(part.size),
                Layout::PerRepeat { bytes, .. } | Layout::Packed { bytes } => repeats * u64::from(bytes),
                Layout::Bits => repeats * u64::from(vector.op.lanes() / 8),
            };
            if part.access != Access::Write {
                self.vector_read += bytes;
            }
            if part.access != Access::Read {
                self.vector_written += bytes;
            }
        }
    }
}

/// What an access of the scalar unit did to L2 and main memory: it copies nothing to or from the UB.
const fn without_copies(accesses: &Accesses) -> Accesses {
    Accesses { read: 0, written: 0, ..*accesses }
}

fn add(to: &mut Accesses, more: &Accesses) {
    let Accesses { read, written, hits, misses, memory_read, memory_written } = more;
    to.read += read;
    to.written += written;
    to.hits += hits;
    to.misses += misses;
    to.memory_read += memory_read;
    to.memory_written += memory_written;
}
