//! Builds a graph step by step, then gives each intermediate its place.

use ubtile_tiling::{Route, TensorSlot};

use super::graph::{Buffer, Graph, GraphError, Kind, Step};

/// Slack and granularity of an intermediate in bytes.
const SLACK: u64 = 32;
const PIECE: u64 = 512;

/// Steps of the graph that a kernel does itself, so that their intermediates are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Conversions between dtypes.
    pub casts: bool,
    /// Transposes and changes of the format.
    pub layouts: bool,
    /// Copies from strided inputs and to the caller's outputs.
    pub copies: bool,
}

/// A tensor of the graph: an intermediate, or the caller's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Caller,
    Buffer(usize),
}

#[derive(Debug)]
pub(super) struct Builder {
    route: Route,
    inside: Inside,
    steps: Vec<Step>,
    buffers: Vec<Buffer>,
    unmodelled: Vec<&'static str>,
}

impl Builder {
    pub(super) const fn new(route: Route, inside: Inside) -> Self {
        Self { route, inside, steps: Vec::new(), buffers: Vec::new(), unmodelled: Vec::new() }
    }

    /// Where the operator's own kernel runs.
    pub(super) const fn route(&self) -> Route {
        self.route
    }

    /// What the kernel does itself.
    pub(super) const fn inside(&self) -> Inside {
        self.inside
    }

    /// An input, copied unless it is contiguous.
    pub(super) fn input(&mut self, slot: Option<TensorSlot>) -> Value {
        let Some(slot) = slot else { return Value::Caller };
        if self.inside.copies || slot.shape.contiguous_strides() == Some(slot.strides) {
            return Value::Caller;
        }
        let bytes = bytes(slot.shape.as_slice(), slot.dtype.size());
        self.helper("Contiguous", slot.tensor.name(), Value::Caller, bytes)
    }

    /// Another dtype of a tensor, where it `differs`.
    pub(super) fn cast(&mut self, tensor: &'static str, from: Value, bytes: u64, differs: bool) -> Value {
        if self.inside.casts || !differs { from } else { self.helper("Cast", tensor, from, bytes) }
    }

    /// Another order or format of a tensor.
    pub(super) fn layout(&mut self, kernel: &'static str, tensor: &'static str, from: Value, bytes: u64) -> Value {
        if self.inside.layouts { from } else { self.helper(kernel, tensor, from, bytes) }
    }

    fn helper(&mut self, kernel: &'static str, tensor: &'static str, from: Value, bytes: u64) -> Value {
        let step = self.step(Step { kernel, tensor: Some(tensor), route: Route::AiCore }, &[from]);
        self.made(step, tensor, Kind::Tensor, bytes)
    }

    /// The operator's own kernel.
    pub(super) fn kernel<const N: usize>(
        &mut self,
        kernel: &'static str,
        inputs: &[Value],
        outputs: [(&'static str, u64); N],
    ) -> [Value; N] {
        let step = self.step(Step { kernel, tensor: None, route: self.route }, inputs);
        if self.route == Route::Aicpu {
            self.unmodelled.push("device memory of the AICPU task");
        }
        outputs.map(|(name, bytes)| self.made(step, name, Kind::Tensor, bytes))
    }

    /// Something that the kernel that was added last asks for.
    pub(super) fn workspace(&mut self, name: &'static str, bytes: u64) {
        self.made(self.steps.len().saturating_sub(1), name, Kind::KernelWorkspace, bytes);
    }

    /// Something that it asks for whose size no source says.
    pub(super) fn unmodelled(&mut self, what: &'static str) {
        self.unmodelled.push(what);
    }

    /// A result goes to the caller's tensor.
    pub(super) fn output(&mut self, tensor: &'static str, from: Value) {
        if !self.inside.copies {
            self.step(Step { kernel: "ViewCopy", tensor: Some(tensor), route: Route::AiCore }, &[from]);
        } else if let Value::Buffer(i) = from
            && let Some(buffer) = self.buffers.get_mut(i)
        {
            // The kernel writes where the caller wants it.
            buffer.bytes = 0;
        }
    }

    fn step(&mut self, step: Step, inputs: &[Value]) -> usize {
        let number = self.steps.len();
        self.steps.push(step);
        for input in inputs {
            if let Value::Buffer(i) = input
                && let Some(buffer) = self.buffers.get_mut(*i)
            {
                buffer.last_step = number;
            }
        }
        number
    }

    fn made(&mut self, step: usize, name: &'static str, kind: Kind, bytes: u64) -> Value {
        let (first_step, last_step, aligned_bytes) = (step, step, aligned(bytes));
        self.buffers.push(Buffer { name, kind, bytes, aligned_bytes, bucket: 0, offset: 0, first_step, last_step });
        Value::Buffer(self.buffers.len() - 1)
    }

    /// Fills the buckets, the largest intermediates first. One joins the last bucket in which nothing lives when it does.
    pub(super) fn finish(self) -> Result<Graph, GraphError> {
        let Self { route, steps, mut buffers, unmodelled, .. } = self;
        buffers.retain(|buffer| buffer.bytes > 0);
        let sum = buffers.iter().try_fold(0u64, |sum, buffer| sum.checked_add(buffer.aligned_bytes));
        sum.filter(|&sum| i64::try_from(sum).is_ok()).ok_or(GraphError::TooLarge)?;

        let mut order: Vec<usize> = (0..buffers.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(buffers[i].aligned_bytes));
        let mut buckets: Vec<Vec<usize>> = Vec::new();
        for i in order {
            let free = |bucket: &Vec<usize>| bucket.iter().all(|&other| !buffers[other].lives_with(&buffers[i]));
            match buckets.iter().rposition(free) {
                Some(bucket) => buckets[bucket].push(i),
                None => buckets.push(vec![i]),
            }
        }
        let mut sizes = Vec::new();
        for (number, bucket) in buckets.iter().enumerate() {
            let offset = sizes.iter().sum();
            // The first is the largest.
            sizes.push(bucket.first().map_or(0, |&i| buffers[i].aligned_bytes));
            for &i in bucket {
                (buffers[i].bucket, buffers[i].offset) = (number, offset);
            }
        }
        Ok(Graph { route, steps, buffers, buckets: sizes, unmodelled })
    }
}

/// Bytes that the vendor allocates for an intermediate.
const fn aligned(bytes: u64) -> u64 {
    bytes.saturating_add(SLACK + PIECE - 1) & !(PIECE - 1)
}

/// Bytes of a tensor; more than 63 bits can count is refused in the end.
pub(super) fn bytes(shape: &[usize], size: usize) -> u64 {
    shape.iter().chain(&[size]).fold(1u64, |n, &d| n.saturating_mul(u64::try_from(d).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intermediates_take_whole_pieces_with_slack() {
        let cases = [(0, 512), (1, 512), (480, 512), (481, 1024), (992, 1024), (16 << 20, 16_777_728)];
        for (bytes, want) in cases {
            assert_eq!(aligned(bytes), want, "{bytes}");
        }
    }

    #[test]
    fn a_bucket_is_used_again_when_its_tenant_is_gone() {
        let mut b = Builder::new(Route::AiCore, Inside::default());
        let x = b.layout("Transpose", "x", Value::Caller, 5000);
        let [y] = b.kernel("Kernel", &[x], [("y", 3000)]);
        b.workspace("sums", 100);
        let z = b.layout("Transpose", "z", y, 4000);
        b.output("z", z);
        let graph = b.finish().unwrap();
        let place = |name: &str| {
            let buffer = graph.buffers().iter().find(|b| b.name == name).unwrap();
            (buffer.bucket, buffer.first_step, buffer.last_step)
        };
        assert_eq!(place("x"), (0, 0, 1));
        assert_eq!(place("z"), (0, 2, 3), "x is gone");
        assert_eq!(place("y"), (1, 1, 2), "x and z are not");
        assert_eq!(place("sums"), (2, 1, 1));
        assert_eq!(graph.bytes(), 5120 + 3072 + 512);
        assert_eq!((graph.peak_bytes(), graph.bytes_without_reuse()), (8704, 8704 + 4096));
    }
}
