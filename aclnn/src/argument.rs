//! Tensors as arguments of an operator.

use ubtile_tiling as tiling;
use ubtile_tiling::{ContractError, TensorDesc};

use crate::datatype;
use crate::failure::{Failure, Outcome, code};
use crate::memory::{Place, Region};
use crate::objects::{BOOL_ARRAYS, INT_ARRAYS, TENSORS, Tensor};

/// Addresses of tensors are multiples of so many bytes, as the vendor's documents of aclCreateTensor demand.
const ALIGN: usize = 32;

/// A tensor that phase 1 was given.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// The parameter's name in the header.
    pub(crate) name: &'static str,
    pub(crate) tensor: tiling::Tensor,
    pub(crate) output: bool,
    described: Tensor,
}

impl Argument {
    pub(crate) fn input(name: &'static str, tensor: tiling::Tensor, handle: usize) -> Outcome<Self> {
        Self::new(name, tensor, false, handle)
    }

    pub(crate) fn output(name: &'static str, tensor: tiling::Tensor, handle: usize) -> Outcome<Self> {
        Self::new(name, tensor, true, handle)
    }

    fn new(name: &'static str, tensor: tiling::Tensor, output: bool, handle: usize) -> Outcome<Self> {
        let described = TENSORS.get(name, handle, code::PARAM_NULLPTR, code::PARAM_INVALID)?.lock().clone();
        Ok(Self { name, tensor, output, described })
    }

    /// The description for the operator's check.
    pub(crate) fn desc(&self) -> Outcome<TensorDesc> {
        self.described.desc(self.name)
    }

    /// Refuses formats that only the vendor's kernels use.
    pub(crate) fn public_format(&self) -> Outcome {
        let format = self.described.format;
        if !datatype::is_private_format(format) {
            return Ok(());
        }
        let message = format!("{} has the private aclFormat {format}: ND, NCHW or the like is required", self.name);
        Err(Failure::new(code::PARAM_INVALID, message))
    }

    /// Refuses another format than that of `other`.
    pub(crate) fn format_of(&self, other: &Self) -> Outcome {
        let (got, want) = (self.described.format, other.described.format);
        if got == want {
            return Ok(());
        }
        let message = format!("{} has the aclFormat {got}: {want} is required, as {} has", self.name, other.name);
        Err(Failure::new(code::PARAM_INVALID, message))
    }

    /// Lets it lie elsewhere.
    pub(crate) fn set_address(&mut self, address: usize) {
        self.described.address = address;
    }

    /// The memory of its elements, of which the strides reach `span`.
    pub(crate) fn region(&self, element: usize, span: usize) -> Outcome<Region> {
        let (name, address) = (self.name, self.described.address);
        if address == 0 {
            return Err(Failure::new(code::PARAM_NULLPTR, format!("the address of {name} is null")));
        }
        if !address.is_multiple_of(ALIGN) {
            let message = format!("the address of {name} is {address:#x}: a multiple of {ALIGN} is required");
            return Err(Failure::new(code::PARAM_INVALID, message));
        }
        let reach = || {
            let offset = usize::try_from(self.described.offset).ok()?.checked_mul(element)?;
            Some((address.checked_add(offset)?, span.checked_mul(element)?))
        };
        let too_far = || {
            let offset = self.described.offset;
            Failure::new(code::PARAM_INVALID, format!("{name} has the offset {offset}, beyond the address space"))
        };
        let (start, bytes) = reach().ok_or_else(too_far)?;
        // The start is looked up first, so that the offset cannot lead to another allocation.
        Region::new(&format!("the address of {name}"), address, 0, Place::Device)
            .and_then(|allocation| allocation.extended(&format!("the first element of {name}"), start, bytes))
            .map_err(|failure| failure.coded(code::PARAM_INVALID))
    }
}

/// The integers of a parameter.
pub(crate) fn integers(name: &'static str, handle: usize) -> Outcome<Vec<i64>> {
    Ok(INT_ARRAYS.get(name, handle, code::PARAM_NULLPTR, code::PARAM_INVALID)?.to_vec())
}

/// The booleans of a parameter.
pub(crate) fn booleans(name: &'static str, handle: usize) -> Outcome<Vec<bool>> {
    Ok(BOOL_ARRAYS.get(name, handle, code::PARAM_NULLPTR, code::PARAM_INVALID)?.to_vec())
}

/// A broken rule, with the names that the headers use.
pub(crate) fn refused(error: ContractError) -> Failure {
    /// Names on ubtile's command line, and in the headers.
    const NAMES: [(&str, &str); 12] = [
        ("grad_output", "gradOutput"),
        ("grad_input", "gradInput"),
        ("input_grad", "inputGrad"),
        ("grid_grad", "gridGrad"),
        ("padding-mode", "paddingMode"),
        ("output-mask", "outputMask"),
        ("output-size", "outputSize"),
        ("input-size", "inputSize"),
        ("kernel-size", "kernelSize"),
        ("interpolation", "interpolationMode"),
        ("on the host", "here"),
        (" (edition any)", ""),
    ];
    let message = NAMES.iter().fold(error.to_string(), |text, (from, to)| text.replace(from, to));
    Failure::new(error.status().code(), message)
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::{Attribute, ContractError, Tensor};

    use super::*;

    #[test]
    fn messages_use_the_names_of_the_headers() {
        let error = ContractError::AttributeMismatch {
            tensor: Tensor::GradOutput,
            dim: 2,
            got: 3,
            attribute: Attribute::OutputSize,
            index: 0,
            want: 4,
        };
        let Failure { code, message } = refused(error);
        assert_eq!(code, code::PARAM_INVALID);
        assert_eq!(message, "gradOutput has 3 in dimension 2: outputSize[0] says 4");
    }
}
