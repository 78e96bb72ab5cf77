//! The header of a numpy array: a Python dictionary of dtype, order and shape in front of the elements.

use std::io::{self, Read};

use ubtile_tiling::{Dims, Dtype, TensorDesc};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The header is padded so that elements begin at a multiple of this.
const ALIGN: usize = 64;

/// No array that an operator takes needs a longer header.
const MAX_TEXT: usize = 1 << 16;

const DTYPES: [(Dtype, &str); 11] = [
    (Dtype::F16, "<f2"),
    (Dtype::F32, "<f4"),
    (Dtype::F64, "<f8"),
    (Dtype::I8, "|i1"),
    (Dtype::U8, "|u1"),
    (Dtype::I16, "<i2"),
    (Dtype::I32, "<i4"),
    (Dtype::I64, "<i8"),
    (Dtype::Bool, "|b1"),
    (Dtype::C64, "<c8"),
    (Dtype::C128, "<c16"),
];

/// numpy's name of a dtype; BF16 has none.
pub(super) fn descr(dtype: Dtype) -> Option<&'static str> {
    DTYPES.iter().find(|(d, _)| *d == dtype).map(|(_, descr)| *descr)
}

/// Reads a header and leaves the reader at the first element; the length of the header, and the array that it states.
///
/// # Errors
/// What is wrong, to follow the name of the tensor.
pub(super) fn read_header(mut reader: impl Read) -> Result<(usize, TensorDesc), String> {
    let cut = |e: io::Error| match e.kind() {
        io::ErrorKind::UnexpectedEof => format!("has no whole numpy header ({e})"),
        _ => format!("cannot be read ({e})"),
    };
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(cut)?;
    let [magic @ .., major, _minor] = &start;
    if magic != MAGIC {
        return Err("is not a numpy array".into());
    }
    let (fixed, text_len) = if *major == 1 {
        let mut len = [0; 2];
        reader.read_exact(&mut len).map_err(cut)?;
        (10, usize::from(u16::from_le_bytes(len)))
    } else {
        let mut len = [0; 4];
        reader.read_exact(&mut len).map_err(cut)?;
        (12, u32::from_le_bytes(len) as usize)
    };
    if text_len > MAX_TEXT {
        return Err(format!("has a numpy header of {text_len} bytes: at most {MAX_TEXT} are read"));
    }
    let mut text = vec![0; text_len];
    reader.read_exact(&mut text).map_err(cut)?;
    let text = std::str::from_utf8(&text).map_err(|_| "has a numpy header that is not text")?;
    Ok((fixed + text_len, parse(text)?))
}

/// Understands `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
fn parse(text: &str) -> Result<TensorDesc, String> {
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("'{key}'"))?;
        rest.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let missing = |key: &str| format!("has a numpy header without a valid {key}");

    let descr = value("descr").ok_or_else(|| missing("descr"))?;
    let dtype = match descr.strip_prefix('\'').and_then(|rest| rest.split_once('\'')) {
        Some((name, _)) => dtype(name)?,
        None => return Err("holds records, not numbers of one dtype".into()),
    };
    let shape = value("shape").and_then(|v| v.strip_prefix('(')?.split_once(')')).ok_or_else(|| missing("shape"))?.0;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let sizes: Result<Vec<usize>, _> = sizes.map(str::parse).collect();
    let sizes = sizes.map_err(|_| format!("has the shape ({shape}): sizes must be whole numbers that fit 64 bits"))?;
    let fortran = value("fortran_order").ok_or_else(|| missing("fortran_order"))?;
    if !fortran.starts_with("False") {
        return Err("is in Fortran order: store numpy.ascontiguousarray of it".into());
    }
    TensorDesc::contiguous(dtype, &sizes).map_err(|e| format!("cannot be used: {e}"))
}

fn dtype(name: &str) -> Result<Dtype, String> {
    if let Some((dtype, _)) = DTYPES.iter().find(|(_, descr)| *descr == name) {
        return Ok(*dtype);
    }
    let known = DTYPES.map(|(_, descr)| descr).join(" ");
    Err(if name.starts_with('>') {
        format!("is big-endian ('{name}'): store it little-endian, the dtypes are {known}")
    } else if name.ends_with("V2") {
        format!("has dtype '{name}', which numpy does not explain: bf16 is read from .safetensors only")
    } else {
        format!("has dtype '{name}': the dtypes are {known}")
    })
}

/// The header of a contiguous array.
pub(super) fn header(descr: &str, shape: &Dims) -> Vec<u8> {
    let sizes: String = shape.as_slice().iter().map(|size| format!("{size}, ")).collect();
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    let fixed = MAGIC.len() + 2 + 2;
    let padded = (fixed + text.len() + 1).next_multiple_of(ALIGN);
    text.extend(std::iter::repeat_n(' ', padded - fixed - text.len() - 1));
    text.push('\n');
    // At most eight sizes: far below 2^16 bytes.
    let len = (text.len() as u16).to_le_bytes();
    [MAGIC.as_slice(), &[1, 0], &len, text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        for (dtype, descr) in DTYPES {
            for shape in [&[][..], &[3], &[0, 7], &[2, 3, 4, 5], &[1, 2, 3, 4, 5, 6, 7, 1 << 40]] {
                let desc = TensorDesc::contiguous(dtype, shape).unwrap();
                let bytes = header(descr, &desc.shape);
                assert_eq!(bytes.len() % ALIGN, 0);
                assert_eq!(read_header(bytes.as_slice()), Ok((bytes.len(), desc)));
                for cut in 0..bytes.len() {
                    assert!(read_header(&bytes[..cut]).is_err(), "{cut}");
                }
            }
        }
    }

    #[test]
    fn what_numpy_may_write_and_we_refuse() {
        let refusal = |text: &str| parse(text).unwrap_err();
        let plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(parse(plain), Ok(TensorDesc::contiguous(Dtype::F32, &[3]).unwrap()));
        assert!(refusal(&plain.replace("<f4", ">f4")).starts_with("is big-endian ('>f4')"));
        assert!(refusal(&plain.replace("<f4", "<V2")).contains("bf16 is read from .safetensors"));
        assert!(refusal(&plain.replace("<f4", "<u4")).starts_with("has dtype '<u4': the dtypes are <f2"));
        assert!(refusal(&plain.replace("'<f4'", "[('a', '<f4')]")).contains("records"));
        assert!(refusal(&plain.replace("False", "True")).starts_with("is in Fortran order"));
        assert!(refusal(&plain.replace("(3,)", "(-3,)")).starts_with("has the shape (-3,)"));
        assert!(refusal(&plain.replace("(3,)", "(99999999999999999999,)")).starts_with("has the shape"));
        assert!(refusal(&plain.replace("(3,)", "(1,1,1,1,1,1,1,1,1)")).contains("9 dimensions"));
        for key in ["descr", "fortran_order", "shape"] {
            assert!(refusal(&plain.replace(key, "other")).contains(&format!("without a valid {key}")));
        }
        let long = [MAGIC.as_slice(), &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert!(read_header(long.as_slice()).unwrap_err().contains("4294967295 bytes"));
    }
}
