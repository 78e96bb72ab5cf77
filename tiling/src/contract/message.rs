//! The sentences of the contract's errors.

use core::fmt;

use crate::support::support;
use crate::{Attribute, ContractError, Dtype, Edition, Operator, Product};

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Product { operator, product, edition } => {
                write!(f, "{} is not supported on {product} (edition {edition})", operator.vendor_name())
            }
            Self::Dtype { tensor, got, operator, product, edition } => {
                write!(f, "{tensor} is {got}: {} ", operator.vendor_name())?;
                write_dtypes(f, operator, product, edition)
            }
            Self::DtypeMismatch { tensor, got, other, want } => {
                write!(f, "{tensor} is {got}: {want} is required, as {other} is")
            }
            Self::Cast { from, to } => write!(f, "out is {to}: a result of {from} cannot be stored as that"),
            Self::IndexDtype { got } => write!(f, "indices is {got}: i32 or i64 is required"),
            Self::Rank { tensor, got, min, max } => {
                write!(f, "{tensor} has {got} dimensions: ")?;
                if min == max { write!(f, "{min} are required") } else { write!(f, "{min} or {max} are required") }
            }
            Self::RankMismatch { tensor, got, other, want } => {
                write!(f, "{tensor} has {got} dimensions: {want} are required, as many as {other} has")
            }
            Self::Dim { tensor, dim, got, want, why } => {
                write!(f, "{tensor} has {got} in dimension {dim}: {want} is required ({why})")
            }
            Self::DimMismatch { tensor, dim, got, other, other_dim, want } => {
                write!(f, "{tensor} has {got} in dimension {dim}: {other} has {want} in dimension {other_dim}")
            }
            Self::AttributeMismatch { tensor, dim, got, attribute, index, want } => {
                write!(f, "{tensor} has {got} in dimension {dim}: {attribute}[{index}] says {want}")
            }
            Self::PaddedSize { dim, got, size, before, after } => {
                write!(f, "grad_output has {got} in dimension {dim}: self's {size} with padding {before} and {after}")?;
                f.write_str(" is required")
            }
            Self::Rows { dim, got, kernel: [kh, kw] } => {
                write!(f, "grad_output has {got} in dimension {dim}: a multiple of kernel-size {kh} x {kw} is required")
            }
            Self::Columns { dim, got, windows: [lh, lw] } => {
                write!(f, "grad_output has {got} in dimension {dim}: {lh} x {lw} is required, one per window position")
            }
            Self::Windows { axis, got } => {
                let axis = if axis == 0 { "height" } else { "width" };
                write!(
                    f,
                    "the window has {got} positions along the {axis}: 0 is the least, the kernel must fit the image"
                )
            }
            Self::EmptyDim { tensor, dim } => {
                write!(f, "{tensor} has 0 in dimension {dim}: at least 1 is required")
            }
            Self::EmptyTensor { tensor, edition } => {
                write!(f, "{tensor} is empty: edition {edition} takes no empty tensors")
            }
            Self::ArrayLength { attribute, got, want } => {
                write!(f, "{attribute} has {got} values: {want} are required")
            }
            Self::AttributeRange { attribute, index, got, min, max } => {
                write!(f, "{attribute}")?;
                if let Some(index) = index {
                    write!(f, "[{index}]")?;
                }
                write!(f, " is {got}: ")?;
                if max == i64::MAX {
                    write!(f, "at least {min} is required")
                } else {
                    write!(f, "{min} to {max} is required")
                }
            }
            Self::AttributeEdition { attribute, got, edition } => {
                let word = match (attribute, got) {
                    (Attribute::Interpolation, 2) => " (bicubic)",
                    (Attribute::PaddingMode, 2) => " (reflection)",
                    _ => "",
                };
                write!(f, "{attribute} is {got}{word}: edition {edition} does not have that value")
            }
            Self::Bf16Padding { index, got } => {
                write!(
                    f,
                    "padding[{index}] is {got}: for bf16 on a product 0 to 7 is required, or any left and right "
                )?;
                f.write_str("from 0 where top and bottom are 0")
            }
            Self::AttributeTooLarge { attribute, index, got } => {
                write!(f, "{attribute}[{index}] is {got}: sizes made with it do not fit this machine's address space")
            }
            Self::StrideRank { tensor, got, want } => {
                write!(f, "{tensor} has {got} strides: {want} are required, one for each dimension")
            }
            Self::TooLarge { tensor } => {
                write!(f, "the sizes of {tensor} do not fit this machine's address space")
            }
            Self::Overlap { tensor, dim, got, want } => {
                write!(f, "{tensor} has stride {got} in dimension {dim}: at least {want} is required, ")?;
                f.write_str("an output must not overlap itself")
            }
        }
    }
}

impl core::error::Error for ContractError {}

/// "on atlas-training takes f16, f32 (edition master)".
fn write_dtypes(
    f: &mut fmt::Formatter<'_>,
    operator: Operator,
    product: Option<Product>,
    edition: Edition,
) -> fmt::Result {
    match product {
        Some(product) => write!(f, "on {product} takes ")?,
        None => f.write_str("on the host takes ")?,
    }
    let taken = Dtype::ALL.into_iter().filter(|&dtype| support(operator, dtype, product, edition).accepted);
    for (i, dtype) in taken.enumerate() {
        write!(f, "{}{dtype}", if i == 0 { "" } else { ", " })?;
    }
    // The host takes the same whatever the edition.
    if product.is_some() { write!(f, " (edition {edition})") } else { Ok(()) }
}
