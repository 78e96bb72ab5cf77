//! What stands before the code.

use std::collections::HashSet;

use crate::program::error::{At, Problem, ProgramError};
use crate::program::isa::{Field, Limits};
use crate::program::source::{Buffer, Content, Source};
use crate::program::vector::BLOCK;

pub(super) fn check(source: &Source, limits: &Limits) -> Result<(), ProgramError> {
    let whole = |problem| Err(ProgramError { at: At::Program, problem });
    let of_cores = |problem| Err(ProgramError { at: At::Cores, problem });
    if source.cores == 0 || source.cores > 65535 {
        return of_cores(Problem::Field {
            field: Field { name: "cores", min: 1, max: 65535, multiple: 1 },
            value: source.cores.into(),
        });
    }
    if source.cores > limits.cores {
        return of_cores(Problem::Cores { given: source.cores, most: limits.cores });
    }
    let most = usize::from(u16::MAX);
    if source.tensors.len() > most || source.buffers.len() > most || source.registers.len() > most {
        return whole(Problem::TooLarge);
    }
    let mut names = HashSet::new();
    let mut name = |name: &str| {
        let mut letters = name.chars();
        let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        // These two are numbers.
        let number = name == "inf" || name == "nan";
        if number || !starts || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(Problem::BadName(name.into()));
        }
        if names.insert(name.to_owned()) { Ok(()) } else { Err(Problem::SameName(name.into())) }
    };
    for (i, register) in source.registers.iter().enumerate() {
        let checked = name(&register.name).and_then(|()| match &register.content {
            Content::Core if i == 0 && register.name == "core" => Ok(()),
            Content::Core => Err(Problem::Shape("the core's index in the first register alone, and named core")),
            _ if i == 0 => Err(Problem::Shape("the core's index in the first register")),
            Content::PerCore(values) if values.len() as u64 != u64::from(source.cores) => {
                Err(Problem::PerCore { given: values.len(), cores: source.cores })
            }
            _ => Ok(()),
        });
        checked.map_err(|problem| ProgramError { at: At::Register(i), problem })?;
    }
    if source.registers.is_empty() {
        return whole(Problem::Shape("the core's index in the first register"));
    }
    for (i, tensor) in source.tensors.iter().enumerate() {
        let bytes = tensor.shape.iter().try_fold(tensor.dtype.size() as u64, |n, size| n.checked_mul(*size));
        let fits = bytes.is_some_and(|bytes| bytes <= 1 << 60);
        let checked = name(&tensor.name).and(if fits { Ok(()) } else { Err(Problem::TooLarge) });
        checked.map_err(|problem| ProgramError { at: At::Tensor(i), problem })?;
    }
    for (i, buffer) in source.buffers.iter().enumerate() {
        let checked = name(&buffer.name).and_then(|()| extent(buffer));
        checked.map_err(|problem| ProgramError { at: At::Buffer(i), problem })?;
    }
    Ok(())
}

fn extent(buffer: &Buffer) -> Result<(), Problem> {
    if !buffer.bytes.is_multiple_of(BLOCK) {
        return Err(Problem::NotBlocks("size", buffer.bytes));
    }
    if !buffer.address.is_multiple_of(BLOCK) {
        return Err(Problem::NotBlocks("address", buffer.address));
    }
    if buffer.slots == 0 || buffer.slots > 1 << 16 {
        let field = Field { name: "slots", min: 1, max: 1 << 16, multiple: 1 };
        return Err(Problem::Field { field, value: buffer.slots.into() });
    }
    let end = buffer.bytes.checked_mul(buffer.slots).and_then(|bytes| bytes.checked_add(buffer.address));
    // Beyond what any product has; whether it fits the product at hand is a question of capacity, which the sanitizer answers.
    if end.is_some_and(|end| end <= 1 << 24) { Ok(()) } else { Err(Problem::TooLarge) }
}
