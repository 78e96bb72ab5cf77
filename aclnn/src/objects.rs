//! What clients describe their arguments with: tensors, scalars, arrays and lists of them.

use ubtile_tiling::{Dtype, TensorDesc};

use crate::datatype;
use crate::failure::{Failure, Outcome, code};
use crate::monitor::Monitor;
use crate::registry::Registry;

pub(crate) static TENSORS: Registry<Monitor<Tensor>> = Registry::new("aclTensor");
pub(crate) static SCALARS: Registry<Scalar> = Registry::new("aclScalar");
pub(crate) static INT_ARRAYS: Registry<Vec<i64>> = Registry::new("aclIntArray");
pub(crate) static FLOAT_ARRAYS: Registry<Vec<f32>> = Registry::new("aclFloatArray");
pub(crate) static BOOL_ARRAYS: Registry<Vec<bool>> = Registry::new("aclBoolArray");
pub(crate) static TENSOR_LISTS: Registry<Vec<usize>> = Registry::new("aclTensorList");
pub(crate) static SCALAR_LISTS: Registry<Vec<usize>> = Registry::new("aclScalarList");

/// The most dimensions that a description may have; operators take fewer.
const MAX_DIMS: u64 = 25;

/// A view of memory, as a client describes it.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) view: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) storage: Vec<i64>,
    /// In elements.
    pub(crate) offset: i64,
    /// The vendor's code.
    pub(crate) dtype: i32,
    /// The vendor's code.
    pub(crate) format: i32,
    pub(crate) address: usize,
}

/// A value of some type. No operator here takes one, so nothing is kept of it.
#[derive(Debug)]
pub(crate) struct Scalar;

impl Tensor {
    /// Refuses so many dimensions, of which nothing should be read then.
    pub(crate) fn check_count(name: &str, dims: u64) -> Outcome {
        if dims <= MAX_DIMS {
            return Ok(());
        }
        Err(invalid(format!("{name} has {dims} dimensions: at most {MAX_DIMS} are possible")))
    }

    /// A description that makes sense. Without strides the view is contiguous.
    pub(crate) fn new(
        view: Vec<i64>,
        strides: Option<Vec<i64>>,
        storage: Vec<i64>,
        [dtype, format]: [i32; 2],
        offset: i64,
        address: usize,
    ) -> Outcome<Self> {
        let strides = strides.unwrap_or_else(|| contiguous(&view));
        for (name, values) in [("viewDims", &view), ("stride", &strides), ("storageDims", &storage)] {
            if let Some((i, value)) = values.iter().enumerate().find(|(_, value)| **value < 0) {
                return Err(invalid(format!("{name}[{i}] is {value}: at least 0 is required")));
            }
        }
        if offset < 0 {
            return Err(invalid(format!("offset is {offset}: at least 0 is required")));
        }
        if datatype::size(dtype).is_none() {
            return Err(invalid(format!("dataType is {dtype}, which is no aclDataType")));
        }
        if !datatype::is_format(format) {
            return Err(invalid(format!("format is {format}, which is no aclFormat")));
        }
        Ok(Self { view, strides, storage, offset, dtype, format, address })
    }

    /// The description as the operators' checks take it.
    pub(crate) fn desc(&self, name: &str) -> Outcome<TensorDesc> {
        let sizes = |values: &[i64]| values.iter().map(|&value| usize::try_from(value).unwrap_or(usize::MAX)).collect();
        let (shape, strides): (Vec<_>, Vec<_>) = (sizes(&self.view), sizes(&self.strides));
        TensorDesc::strided(self.dtype(name)?, &shape, &strides).map_err(|e| invalid(format!("{name}: {e}")))
    }

    fn dtype(&self, name: &str) -> Outcome<Dtype> {
        let refused = || invalid(format!("{name} has the aclDataType {}, which no operator here takes", self.dtype));
        datatype::dtype(self.dtype).ok_or_else(refused)
    }
}

impl Scalar {
    /// Bytes of a value of a type.
    pub(crate) fn size_of(dtype: i32) -> Outcome<usize> {
        let none = || invalid(format!("dataType is {dtype}: a scalar has a type of whole bytes"));
        datatype::size(dtype).filter(|&size| size > 0).ok_or_else(none)
    }
}

fn invalid(message: String) -> Failure {
    Failure::new(code::PARAM_INVALID, message)
}

/// Strides of a contiguous view; sizes that overflow give ones that no check takes.
fn contiguous(view: &[i64]) -> Vec<i64> {
    let mut step = 1i64;
    let mut strides: Vec<_> = view
        .iter()
        .rev()
        .map(|&size| {
            let stride = step;
            step = step.saturating_mul(size.max(1));
            stride
        })
        .collect();
    strides.reverse();
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(view: &[i64], strides: Option<&[i64]>, codes: [i32; 2], offset: i64) -> Outcome<Tensor> {
        Tensor::new(view.to_vec(), strides.map(<[_]>::to_vec), view.to_vec(), codes, offset, 0)
    }

    #[test]
    fn descriptions() {
        let desc = tensor(&[2, 3, 4], None, [1, 2], 0).unwrap().desc("x").unwrap();
        assert_eq!(desc, TensorDesc::contiguous(Dtype::F16, &[2, 3, 4]).unwrap());
        assert!(tensor(&[2, 0, 4], None, [0, -1], 7).unwrap().desc("x").unwrap().is_empty());
        assert!(tensor(&[2, -1], None, [0, 2], 0).is_err());
        assert!(tensor(&[2, 2], Some(&[2, -1]), [0, 2], 0).is_err());
        assert!(tensor(&[2], None, [5, 2], 0).is_err());
        assert!(tensor(&[2], None, [0, 77], 0).is_err());
        assert!(tensor(&[2], None, [0, 2], -1).is_err());
        assert!(tensor(&[1; 9], None, [0, 2], 0).unwrap().desc("x").is_err());
        assert!(tensor(&[1], None, [7, 2], 0).unwrap().desc("x").is_err());
        assert!(Tensor::check_count("x", 25).is_ok() && Tensor::check_count("x", 26).is_err());
        assert!(tensor(&[i64::MAX, i64::MAX], None, [0, 2], 0).unwrap().desc("x").unwrap().span().is_none());
    }
}
