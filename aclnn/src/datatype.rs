//! The vendor's codes of data types and formats.

use ubtile_tiling::Dtype;

/// Code, size of an element in bytes (0 where it is less than one, or differs), and what the kernels call it.
const TYPES: [(i32, usize, Option<Dtype>); 27] = [
    (0, 4, Some(Dtype::F32)),
    (1, 2, Some(Dtype::F16)),
    (2, 1, Some(Dtype::I8)),
    (3, 4, Some(Dtype::I32)),
    (4, 1, Some(Dtype::U8)),
    (6, 2, Some(Dtype::I16)),
    (7, 2, None),
    (8, 4, None),
    (9, 8, Some(Dtype::I64)),
    (10, 8, None),
    (11, 8, Some(Dtype::F64)),
    (12, 1, Some(Dtype::Bool)),
    (13, 0, None),
    (16, 8, Some(Dtype::C64)),
    (17, 16, Some(Dtype::C128)),
    (27, 2, Some(Dtype::Bf16)),
    (29, 0, None),
    (30, 0, None),
    (33, 4, None),
    (34, 1, None),
    (35, 1, None),
    (36, 1, None),
    (37, 1, None),
    (38, 0, None),
    (39, 0, None),
    (40, 0, None),
    (41, 0, None),
];

/// Formats that only the vendor's kernels use between each other.
const PRIVATE_FORMATS: [i32; 11] = [3, 4, 12, 29, 32, 33, 50, 51, 52, 53, 54];

/// All other formats.
const FORMATS: [i32; 9] = [-1, 0, 1, 2, 16, 27, 30, 35, 47];

/// Bytes of an element; `None` for a code that is none.
pub(crate) fn size(code: i32) -> Option<usize> {
    TYPES.iter().find(|(known, ..)| *known == code).map(|(_, size, _)| *size)
}

/// The kernels' name of a type, for those that an operator may take.
pub(crate) fn dtype(code: i32) -> Option<Dtype> {
    TYPES.iter().find(|(known, ..)| *known == code).and_then(|(.., dtype)| *dtype)
}

/// Whether a code is a format.
pub(crate) fn is_format(code: i32) -> bool {
    FORMATS.contains(&code) || is_private_format(code)
}

/// Whether a code is a format that only the vendor's kernels use.
pub(crate) fn is_private_format(code: i32) -> bool {
    PRIVATE_FORMATS.contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_agree_with_the_kernels() {
        for (code, bytes, known) in TYPES {
            assert_eq!(size(code), Some(bytes));
            assert!(known.is_none_or(|dtype| dtype.size() == bytes));
        }
        for known in Dtype::ALL {
            assert_eq!(TYPES.iter().filter(|(.., dtype)| *dtype == Some(known)).count(), 1);
        }
        assert_eq!((size(-1), size(5), dtype(7)), (None, None, None));
    }
}
