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
    let [magic @ .., major, minor] = &start;
    if magic != MAGIC {
        return Err("is not a numpy array".into());
    }
    let (fixed, text_len) = match [major, minor] {
        [1, 0] => {
            let mut len = [0; 2];
            reader.read_exact(&mut len).map_err(cut)?;
            (10, usize::from(u16::from_le_bytes(len)))
        }
        [2 | 3, 0] => {
            let mut len = [0; 4];
            reader.read_exact(&mut len).map_err(cut)?;
            (12, u32::from_le_bytes(len) as usize)
        }
        _ => return Err(format!("has version {major}.{minor} of numpy's format: 1.0 to 3.0 are read")),
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
    let invalid = || "has a numpy header that is no dictionary".to_owned();
    let mut rest = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(invalid)?.trim();
    let (mut descr, mut order, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, behind) = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).ok_or_else(invalid)?;
        let value = behind.trim_start().strip_prefix(':').ok_or_else(invalid)?.trim_start();
        let (place, found) = match key {
            "descr" if value.starts_with('[') => return Err("holds records, not numbers of one dtype".into()),
            "descr" => (&mut descr, value.strip_prefix('\'').and_then(|value| value.split_once('\''))),
            "fortran_order" => {
                (&mut order, value.find([',', ' ']).or(Some(value.len())).map(|end| value.split_at(end)))
            }
            "shape" => (&mut shape, value.strip_prefix('(').and_then(|value| value.split_once(')'))),
            _ => return Err(format!("has a numpy header with the key {key:?}")),
        };
        let (value, behind) = found.ok_or_else(|| format!("has a numpy header without a valid {key}"))?;
        if place.replace(value).is_some() {
            return Err(format!("has a numpy header with two of {key}"));
        }
        let behind = behind.trim_start();
        rest = match behind.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if behind.is_empty() => behind,
            None => return Err(invalid()),
        };
    }
    let missing = |key: &str| format!("has a numpy header without {key}");
    let dtype = dtype(descr.ok_or_else(|| missing("descr"))?)?;
    let shape = shape.ok_or_else(|| missing("shape"))?;
    let sizes = sizes(shape)
        .ok_or_else(|| format!("has the shape ({shape}): a tuple of whole numbers that fit 64 bits is expected"))?;
    match order.ok_or_else(|| missing("fortran_order"))? {
        "False" => TensorDesc::contiguous(dtype, &sizes).map_err(|e| format!("cannot be used: {e}")),
        "True" => Err("is in Fortran order: store numpy.ascontiguousarray of it".into()),
        other => Err(format!("has the fortran_order {other:?}: False is expected")),
    }
}

/// The numbers of a tuple, of which one alone has a comma behind it.
fn sizes(tuple: &str) -> Option<Vec<usize>> {
    let tuple = tuple.trim();
    if tuple.is_empty() {
        return Some(Vec::new());
    }
    let (first, behind) = tuple.split_once(',')?;
    let behind = behind.strip_suffix(',').unwrap_or(behind).trim();
    let others = behind.split(',').filter(|_| !behind.is_empty());
    let digits = |size: &str| size.bytes().all(|byte| byte.is_ascii_digit()).then(|| size.parse().ok()).flatten();
    std::iter::once(first).chain(others).map(|size| digits(size.trim())).collect()
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
        for (key, entry) in
            [("descr", "'descr': '<f4',"), ("fortran_order", "'fortran_order': False,"), ("shape", "'shape': (3,),")]
        {
            assert_eq!(refusal(&plain.replace(entry, "")), format!("has a numpy header without {key}"));
            let twice = plain.replace(entry, &format!("{entry} {entry}"));
            assert_eq!(refusal(&twice), format!("has a numpy header with two of {key}"));
            assert_eq!(refusal(&plain.replace(key, "other")), "has a numpy header with the key \"other\"");
        }
        for (broken, what) in [
            (plain.replace('}', ""), "no dictionary"),
            (plain.replace("(3,), }", "(3,) 'other': 1}"), "no dictionary"),
            (plain.replace("(3,)", "3"), "without a valid shape"),
            (plain.replace("(3,)", "(3)"), "has the shape (3)"),
            (plain.replace("(3,)", "(+3,)"), "has the shape (+3,)"),
            (plain.replace("(3,)", "(3,,4)"), "has the shape (3,,4)"),
            (plain.replace("(3,)", "(,)"), "has the shape (,)"),
            (plain.replace("False", "FalseButNot"), "has the fortran_order \"FalseButNot\""),
        ] {
            assert!(refusal(&broken).contains(what), "{broken}: {}", refusal(&broken));
        }
        let tight = "{'shape':(3,4),'fortran_order':False,'descr':'<f4'}";
        assert_eq!(parse(tight), Ok(TensorDesc::contiguous(Dtype::F32, &[3, 4]).unwrap()));
        assert_eq!(parse(&plain.replace("(3,)", "()")), Ok(TensorDesc::contiguous(Dtype::F32, &[]).unwrap()));
        let long = [MAGIC.as_slice(), &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert!(read_header(long.as_slice()).unwrap_err().contains("4294967295 bytes"));
        let new = [MAGIC.as_slice(), &[4, 0], &[0; 4]].concat();
        assert!(read_header(new.as_slice()).unwrap_err().starts_with("has version 4.0"));
    }
}
