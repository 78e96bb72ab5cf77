//! Why a description is refused, or a plan cannot be made.

use core::fmt;

use crate::{Dtype, Edition, Operator, Product, Status, Tensor};

/// A broken rule of the contract, with both numbers. [`Display`](fmt::Display) reads as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContractError {
    /// The product's row of the support table is empty.
    Product {
        /// The operator.
        operator: Operator,
        /// The product that does not support it.
        product: Product,
        /// The edition that was asked.
        edition: Edition,
    },
    /// A dtype that the operator does not take (there).
    Dtype {
        /// The tensor.
        tensor: Tensor,
        /// Its dtype.
        got: Dtype,
        /// The operator.
        operator: Operator,
        /// The product whose row decided; `None` for the host.
        product: Option<Product>,
        /// The edition that was asked.
        edition: Edition,
    },
    /// Two tensors whose dtypes must agree.
    DtypeMismatch {
        /// The tensor that differs.
        tensor: Tensor,
        /// Its dtype.
        got: Dtype,
        /// The tensor it must agree with.
        other: Tensor,
        /// That tensor's dtype.
        want: Dtype,
    },
    /// A sum or product of sizes that does not fit `isize`.
    TooLarge {
        /// The tensor.
        tensor: Tensor,
    },
}

impl ContractError {
    /// What aclnn's first phase returns for it.
    #[must_use]
    pub const fn status(&self) -> Status {
        Status::ParamInvalid
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl core::error::Error for ContractError {}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// Local memory that does not even hold the smallest tile.
    LocalBytes {
        /// Bytes there are.
        got: usize,
        /// Bytes the smallest tile takes.
        want: usize,
    },
    /// Sizes beyond what `isize` counts.
    TooLarge,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalBytes { got, want } => {
                write!(f, "the local memory of {got} bytes does not hold the smallest tile, which takes {want} bytes")
            }
            Self::TooLarge => f.write_str("the sizes of the plan do not fit this machine's address space"),
        }
    }
}

impl core::error::Error for PlanError {}
