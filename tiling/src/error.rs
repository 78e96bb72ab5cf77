//! Why a description is refused, or a plan cannot be made.

use core::fmt;

use crate::{Attribute, Bound, Dtype, Edition, Operator, Product, Status, Tensor};

/// A broken rule of the contract, with both numbers. [`Display`](fmt::Display) reads as a sentence.
///
/// Dimensions and the values of an attribute count from 0, as the caller stated them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContractError {
    /// A product that does not support the operator at all.
    Product {
        /// The operator.
        operator: Operator,
        /// The product.
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
        /// The product whose column decided; `None` for the host.
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
    /// A result that must not be converted to the dtype of `out`.
    Cast {
        /// Dtype of the result.
        from: Dtype,
        /// Dtype of `out`.
        to: Dtype,
    },
    /// Indices that are neither I32 nor I64.
    IndexDtype {
        /// Dtype of `indices`.
        got: Dtype,
    },
    /// A tensor with too few or too many dimensions.
    Rank {
        /// The tensor.
        tensor: Tensor,
        /// How many it has.
        got: usize,
        /// The fewest it may have.
        min: usize,
        /// The most it may have.
        max: usize,
    },
    /// Two tensors that must have equally many dimensions.
    RankMismatch {
        /// The tensor that differs.
        tensor: Tensor,
        /// How many it has.
        got: usize,
        /// The tensor it must agree with.
        other: Tensor,
        /// How many that has.
        want: usize,
    },
    /// A size that must be another.
    Dim {
        /// The tensor.
        tensor: Tensor,
        /// The dimension.
        dim: usize,
        /// Its size.
        got: usize,
        /// The size it must have.
        want: usize,
        /// What makes it so, in a few words.
        why: &'static str,
    },
    /// Two sizes that must be equal.
    DimMismatch {
        /// The tensor that differs.
        tensor: Tensor,
        /// Its dimension.
        dim: usize,
        /// Its size.
        got: usize,
        /// The tensor it must agree with.
        other: Tensor,
        /// That tensor's dimension.
        other_dim: usize,
        /// That tensor's size.
        want: usize,
    },
    /// A size that must be what an attribute says.
    AttributeMismatch {
        /// The tensor.
        tensor: Tensor,
        /// The dimension.
        dim: usize,
        /// Its size.
        got: usize,
        /// The attribute.
        attribute: Attribute,
        /// Which of its values.
        index: usize,
        /// That value.
        want: i64,
    },
    /// A side of replication padding's `grad_output` that is not `self`'s with the padding.
    PaddedSize {
        /// Dimension of `grad_output`.
        dim: usize,
        /// Its size.
        got: usize,
        /// The size in `self`.
        size: usize,
        /// Padding before it (left or top).
        before: i64,
        /// Padding behind it (right or bottom).
        after: i64,
    },
    /// Rows of Im2col's `grad_output` that are no multiple of the taps of the kernel.
    Rows {
        /// Dimension of `grad_output`.
        dim: usize,
        /// Its size.
        got: usize,
        /// `[kh, kw]`.
        kernel: [usize; 2],
    },
    /// Columns of Im2col's `grad_output` that are not one for each position of the window.
    Columns {
        /// Dimension of `grad_output`.
        dim: usize,
        /// Its size.
        got: usize,
        /// Positions along height and width.
        windows: [usize; 2],
    },
    /// An image that Im2col's window exceeds so far that the formula gives a negative number of positions.
    Windows {
        /// 0 for height, 1 for width.
        axis: usize,
        /// Positions along it.
        got: i64,
    },
    /// A size that must not be 0.
    EmptyDim {
        /// The tensor.
        tensor: Tensor,
        /// The dimension of size 0.
        dim: usize,
    },
    /// An empty tensor in an edition that has none.
    EmptyTensor {
        /// The tensor.
        tensor: Tensor,
        /// The edition that was asked.
        edition: Edition,
    },
    /// An attribute with too few or too many values.
    ArrayLength {
        /// The attribute.
        attribute: Attribute,
        /// How many it has.
        got: usize,
        /// How many it must have.
        want: usize,
    },
    /// A value outside its range.
    AttributeRange {
        /// The attribute.
        attribute: Attribute,
        /// Which of its values; `None` where it has one.
        index: Option<usize>,
        /// The value.
        got: i64,
        /// The least it may be.
        min: i64,
        /// The most it may be; `i64::MAX` where there is no bound.
        max: i64,
    },
    /// A value that the edition does not have.
    AttributeEdition {
        /// The attribute.
        attribute: Attribute,
        /// The value.
        got: i64,
        /// The edition that was asked.
        edition: Edition,
    },
    /// BF16 replication padding on a product: its kernel takes no such padding.
    Bf16Padding {
        /// Which of the four values.
        index: usize,
        /// The value.
        got: i64,
    },
    /// A value whose products with others do not fit `isize`.
    AttributeTooLarge {
        /// The attribute.
        attribute: Attribute,
        /// Which of its values.
        index: usize,
        /// The value.
        got: i64,
    },
    /// Strides that are not one for each dimension.
    StrideRank {
        /// The tensor.
        tensor: Tensor,
        /// How many strides it has.
        got: usize,
        /// How many dimensions it has.
        want: usize,
    },
    /// Sizes or a span that do not fit `isize` bytes.
    TooLarge {
        /// The tensor.
        tensor: Tensor,
    },
    /// An output whose strides may reach an element twice.
    Overlap {
        /// The output.
        tensor: Tensor,
        /// The dimension.
        dim: usize,
        /// Its stride.
        got: usize,
        /// The least stride that clears the dimensions inside it.
        want: usize,
    },
}

impl ContractError {
    /// What aclnn's first phase returns for it.
    #[must_use]
    pub const fn status(&self) -> Status {
        // Of the vendor's checks only null pointers have a status of their own, and a description has none.
        Status::ParamInvalid
    }
}

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
    /// A size of a tile that was asked for and is not possible.
    Tile {
        /// Which.
        name: &'static str,
        /// The size that was asked for.
        got: usize,
        /// What it breaks: the local memory, or how much there is to cut.
        bound: Bound,
        /// What it would take of the bound.
        used: usize,
        /// The bound.
        limit: usize,
        /// The largest size that is possible; 0 where none is.
        fits: usize,
    },
    /// A size of a tile that plans of the operator do not have.
    NoTile {
        /// The operator.
        operator: Operator,
        /// Those that they have.
        names: &'static [&'static str],
    },
    /// A plan that needs a feature of this crate that the build left out.
    NotBuilt {
        /// Its name in `Cargo.toml`.
        feature: &'static str,
    },
    /// Sizes beyond what `isize` counts.
    TooLarge,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalBytes { got, want } => {
                let short = want.saturating_sub(*got);
                write!(
                    f,
                    "the local memory of {got} bytes does not hold the smallest tile, which takes {want} bytes: {short} more"
                )
            }
            Self::Tile { name, got, bound, used, limit, fits } => {
                let over = used.saturating_sub(*limit);
                match bound {
                    Bound::LocalBytes => write!(
                        f,
                        "{name} {got} takes {used} bytes of local memory, {over} more than the {limit} there are"
                    )?,
                    Bound::Vendor => write!(f, "{name} {got} is no multiple of {limit}")?,
                    _ if *got == 0 => write!(f, "{name} 0 cuts nothing: 1 is the least")?,
                    _ => write!(f, "{name} {got} is {over} more than the {limit} there are")?,
                }
                if *fits > 0 { write!(f, "; {fits} fits") } else { Ok(()) }
            }
            Self::NoTile { operator, names: [] } => write!(f, "of tiles of {operator} no size can be set"),
            Self::NoTile { operator, names } => {
                write!(f, "of tiles of {operator} these sizes can be set: {}", names.first().unwrap_or(&""))?;
                names.iter().skip(1).try_for_each(|name| write!(f, ", {name}"))
            }
            Self::NotBuilt { feature } => write!(f, "the planner was built without the feature {feature}"),
            Self::TooLarge => f.write_str("the sizes of the plan do not fit this machine's address space"),
        }
    }
}

impl core::error::Error for PlanError {}
