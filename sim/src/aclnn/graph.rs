//! A graph: kernels in order, and the intermediates between them with their place in the workspace.

use std::fmt;

use ubtile_tiling::{Operator, Product, Route, VendorError};

/// A kernel of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The vendor's name.
    pub kernel: &'static str,
    /// The tensor that it copies or converts; `None` for the operator's own kernel.
    pub tensor: Option<&'static str>,
    /// Where it runs.
    pub route: Route,
}

/// What an intermediate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tensor between two kernels.
    Tensor,
    /// What a kernel asks for.
    KernelWorkspace,
}

/// An intermediate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What it holds.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Bytes that are used.
    pub bytes: u64,
    /// Bytes that it takes of its bucket.
    pub aligned_bytes: u64,
    /// Number of the bucket that it lies in.
    pub bucket: usize,
    /// Where that starts in the workspace, in bytes.
    pub offset: u64,
    /// The step that makes it.
    pub first_step: usize,
    /// The last step that uses it.
    pub last_step: usize,
}

impl Buffer {
    pub(super) const fn lives_with(&self, other: &Self) -> bool {
        self.first_step <= other.last_step && other.first_step <= self.last_step
    }
}

/// What a call becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub(super) route: Route,
    pub(super) steps: Vec<Step>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) buckets: Vec<u64>,
    pub(super) unmodelled: Vec<&'static str>,
}

impl Graph {
    /// Where the operator's own kernel runs.
    #[must_use]
    pub const fn route(&self) -> Route {
        self.route
    }

    /// The kernels in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The intermediates in the order in which they are made.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// What the model leaves out of the workspace because nothing about it is published.
    #[must_use]
    pub fn unmodelled(&self) -> &[&'static str] {
        &self.unmodelled
    }

    /// Bytes of the workspace, as the first phase reports them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Bytes that would be needed if no two intermediates shared any.
    #[must_use]
    pub fn bytes_without_reuse(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.aligned_bytes).sum()
    }

    /// Bytes of the intermediates that live at the same time, at the worst step.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        let living = |step: usize| {
            let buffers = self.buffers.iter().filter(move |b| b.first_step <= step && step <= b.last_step);
            buffers.map(|b| b.aligned_bytes).sum()
        };
        (0..self.steps.len()).map(living).max().unwrap_or(0)
    }

    /// Bytes that the operator's own kernel asks for; `None` where no source says it.
    #[must_use]
    pub fn kernel_workspace_bytes(&self) -> Option<u64> {
        let kernels = self.buffers.iter().filter(|buffer| buffer.kind == Kind::KernelWorkspace);
        (self.unmodelled.is_empty() && self.route == Route::AiCore).then(|| kernels.map(|buffer| buffer.bytes).sum())
    }
}

/// Why there is no graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// The product does not take the problem.
    Refused {
        /// The operator.
        operator: Operator,
        /// The product.
        product: Product,
    },
    /// The vendor's tiling fails.
    Tiling(VendorError),
    /// Sizes beyond 63 bits.
    TooLarge,
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { operator, product } => write!(f, "{product} does not take this {operator}"),
            Self::Tiling(error) => error.fmt(f),
            Self::TooLarge => f.write_str("the intermediates are larger than 63 bits can count"),
        }
    }
}

impl std::error::Error for GraphError {}

impl From<VendorError> for GraphError {
    fn from(error: VendorError) -> Self {
        Self::Tiling(error)
    }
}
