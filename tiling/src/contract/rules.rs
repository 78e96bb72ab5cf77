//! The rules that operators share. Each function is one rule: nothing, or the error that names it.

use crate::support::support;
use crate::{Attribute, ContractError, Dtype, Edition, Operator, Product, Tensor, TensorDesc};

/// Whose rules hold.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) operator: Operator,
    pub(crate) product: Option<Product>,
    pub(crate) edition: Edition,
}

impl Rules {
    /// The support table takes the tensor's dtype.
    pub(crate) fn takes_dtype_of(self, named: Named<'_>) -> Result<(), ContractError> {
        let Self { operator, product, edition } = self;
        let takes = |dtype| support(operator, dtype, product, edition).accepted;
        let got = named.desc.dtype;
        if takes(got) {
            return Ok(());
        }
        match product {
            Some(product) if !Dtype::ALL.into_iter().any(takes) => {
                Err(ContractError::Product { operator, product, edition })
            }
            _ => Err(ContractError::Dtype { tensor: named.tensor, got, operator, product, edition }),
        }
    }

    /// An edition that takes the first tensor's dtype takes the second's too: of [`Edition::Any`] each may be another's.
    pub(crate) fn takes_dtypes_together(self, first: Named<'_>, second: Named<'_>) -> Result<(), ContractError> {
        let Self { operator, product, .. } = self;
        if product.is_none() || self.edition != Edition::Any {
            return Ok(());
        }
        let takes = |named: Named<'_>, edition| support(operator, named.desc.dtype, product, edition).accepted;
        let mut editions = [Edition::Master, Edition::V8_3, Edition::V8_0].into_iter().filter(|&e| takes(first, e));
        let Some(edition) = editions.next() else { return Ok(()) };
        if takes(second, edition) || editions.any(|edition| takes(second, edition)) {
            return Ok(());
        }
        Err(ContractError::Dtype { tensor: second.tensor, got: second.desc.dtype, operator, product, edition })
    }
}

/// A tensor's description with its name.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    tensor: Tensor,
    desc: &'a TensorDesc,
}

impl<'a> Named<'a> {
    pub(crate) const fn new(tensor: Tensor, desc: &'a TensorDesc) -> Self {
        Self { tensor, desc }
    }

    pub(crate) const fn rank(self) -> usize {
        self.desc.shape.rank()
    }

    /// Size of a dimension; 0 where there is none. Not inlined: a check asks for many.
    #[inline(never)]
    pub(crate) fn dim(self, dim: usize) -> usize {
        self.desc.shape.get(dim)
    }

    pub(crate) fn dtype_equals(self, other: Named<'_>) -> Result<(), ContractError> {
        let (tensor, got, want) = (self.tensor, self.desc.dtype, other.desc.dtype);
        if got == want { Ok(()) } else { Err(ContractError::DtypeMismatch { tensor, got, other: other.tensor, want }) }
    }

    pub(crate) fn rank_within(self, min: usize, max: usize) -> Result<(), ContractError> {
        let (tensor, got) = (self.tensor, self.rank());
        if (min..=max).contains(&got) { Ok(()) } else { Err(ContractError::Rank { tensor, got, min, max }) }
    }

    pub(crate) fn rank_equals(self, other: Named<'_>) -> Result<(), ContractError> {
        let (tensor, got, want) = (self.tensor, self.rank(), other.rank());
        if got == want { Ok(()) } else { Err(ContractError::RankMismatch { tensor, got, other: other.tensor, want }) }
    }

    pub(crate) fn dim_is(self, dim: usize, want: usize, why: &'static str) -> Result<(), ContractError> {
        let (tensor, got) = (self.tensor, self.dim(dim));
        if got == want { Ok(()) } else { Err(ContractError::Dim { tensor, dim, got, want, why }) }
    }

    pub(crate) fn dim_equals(self, dim: usize, other: Named<'_>, other_dim: usize) -> Result<(), ContractError> {
        let (tensor, got, want) = (self.tensor, self.dim(dim), other.dim(other_dim));
        if got == want {
            return Ok(());
        }
        Err(ContractError::DimMismatch { tensor, dim, got, other: other.tensor, other_dim, want })
    }

    pub(crate) fn dim_equals_value(
        self,
        dim: usize,
        attribute: Attribute,
        index: usize,
        want: i64,
    ) -> Result<(), ContractError> {
        let (tensor, got) = (self.tensor, self.dim(dim));
        if u64::try_from(want).is_ok_and(|want| want == got as u64) {
            return Ok(());
        }
        Err(ContractError::AttributeMismatch { tensor, dim, got, attribute, index, want })
    }

    pub(crate) fn dim_not_zero(self, dim: usize) -> Result<(), ContractError> {
        if self.dim(dim) == 0 { Err(ContractError::EmptyDim { tensor: self.tensor, dim }) } else { Ok(()) }
    }

    pub(crate) fn not_empty(self, edition: Edition) -> Result<(), ContractError> {
        if self.desc.is_empty() { Err(ContractError::EmptyTensor { tensor: self.tensor, edition }) } else { Ok(()) }
    }

    pub(crate) fn shape_equals(self, other: Named<'_>) -> Result<(), ContractError> {
        self.rank_equals(other)?;
        (0..self.rank()).try_for_each(|dim| self.dim_equals(dim, other, dim))
    }

    /// Ours: as many strides as sizes; all sizes multiplied, and the span, zeros read as ones, fit `isize` bytes. So any
    /// product of a tensor's sizes and any offset in it are safe behind the check, also when one of the sizes is 0.
    pub(crate) fn addressable(self) -> Result<(), ContractError> {
        let (tensor, got, want) = (self.tensor, self.desc.strides.rank(), self.rank());
        if got != want {
            return Err(ContractError::StrideRank { tensor, got, want });
        }
        let (mut numel, mut span) = (1usize, 1usize);
        for (size, stride) in self.desc.dims() {
            numel = numel.saturating_mul(size.max(1));
            span = span.saturating_add(stride.saturating_mul(size.saturating_sub(1)));
        }
        let bytes = numel.max(span).saturating_mul(self.desc.dtype.size());
        if isize::try_from(bytes).is_err() { Err(ContractError::TooLarge { tensor }) } else { Ok(()) }
    }

    /// Ours: no two indices reach the same element. Conservative: each stride must exceed all that the dimensions with
    /// smaller strides reach together, as it does in every tensor made by permuting, slicing or padding dimensions.
    pub(crate) fn writable(self) -> Result<(), ContractError> {
        if self.desc.is_empty() {
            return Ok(());
        }
        let mut culprit: Option<(usize, usize, usize)> = None;
        for (dim, (size, got)) in self.desc.dims().enumerate() {
            let mut want = 1usize;
            for (d, (size, stride)) in self.desc.dims().enumerate() {
                if (stride, d) < (got, dim) {
                    want = want.saturating_add(stride.saturating_mul(size.saturating_sub(1)));
                }
            }
            // The innermost culprit: the dimensions outside it may only suffer from it.
            if size > 1 && got < want && culprit.is_none_or(|(least, _, _)| got < least) {
                culprit = Some((got, dim, want));
            }
        }
        match culprit {
            Some((got, dim, want)) => Err(ContractError::Overlap { tensor: self.tensor, dim, got, want }),
            None => Ok(()),
        }
    }

    /// Shape with leading dimensions of size 1 up to four, and its strides. Dimensions of size 1 get the stride that lets
    /// them merge with the one inside, so that a contiguous tensor always shows contiguous strides.
    pub(crate) fn padded(self) -> ([usize; 4], [usize; 4]) {
        let (mut shape, mut strides) = ([1; 4], [0; 4]);
        // One by one: a copy of so many as there are would be a call.
        for (i, (size, stride)) in shape.iter_mut().zip(&mut strides).enumerate() {
            if let Some(dim) = self.rank().saturating_add(i).checked_sub(4) {
                (*size, *stride) = (self.desc.shape.get(dim), self.desc.strides.get(dim));
            }
        }
        let mut merging = 1usize;
        for (stride, &size) in strides.iter_mut().zip(&shape).rev() {
            if size <= 1 {
                *stride = merging;
            }
            merging = stride.saturating_mul(size.max(1));
        }
        (shape, strides)
    }
}

/// The values of an attribute that has `N` of them.
pub(crate) fn values<const N: usize, T: Copy>(attribute: Attribute, given: &[T]) -> Result<[T; N], ContractError> {
    given.try_into().map_err(|_| ContractError::ArrayLength { attribute, got: given.len(), want: N })
}

/// No value of the attribute is below `min`.
pub(crate) fn at_least(attribute: Attribute, values: &[i64], min: i64) -> Result<(), ContractError> {
    match values.iter().enumerate().find(|(_, value)| **value < min) {
        Some((index, &got)) => {
            Err(ContractError::AttributeRange { attribute, index: Some(index), got, min, max: i64::MAX })
        }
        None => Ok(()),
    }
}
