//! The elements of a tensor as text: one hexadecimal word for each, and so exactly.

use ubtile_testkit::{Data, component};
use ubtile_tiling::TensorDesc;

/// The elements in row-major order; a complex one is two words.
pub(super) fn write(data: &Data) -> String {
    let digits = 2 * component(data.dtype()).0.size();
    let words: Vec<_> = data.offsets().map(|offset| format!("{:0digits$x}", data.bits(offset))).collect();
    words.join(" ")
}

/// The tensor with these elements.
pub(super) fn read(desc: TensorDesc, text: &str) -> Result<Data, String> {
    let (dtype, parts) = component(desc.dtype);
    let count = desc.shape.numel().and_then(|n| n.checked_mul(parts)).ok_or("has too many elements")?;
    let words: Result<Vec<u64>, _> = text.split_ascii_whitespace().map(|word| u64::from_str_radix(word, 16)).collect();
    let words = words.map_err(|e| format!("has a word that is no hexadecimal number ({e})"))?;
    if words.len() != count {
        return Err(format!("has {} words: its shape takes {count}", words.len()));
    }
    let most = u64::MAX >> (64 - 8 * dtype.size());
    if let Some(word) = words.iter().find(|&&word| word > most) {
        return Err(format!("has the word {word:x}: {dtype} takes {} bytes", dtype.size()));
    }
    Ok(Data::from_bits_fn(desc, |i| words.get(i).copied().unwrap_or_default()))
}

/// Bytes, two digits each.
pub(super) fn write_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(digit.into(), 16));
        }
    }
    text
}

/// The bytes of such a text.
pub(super) fn read_bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let bytes = pairs.iter().map(|&[high, low]| Some(value(high)? << 4 | value(low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use ubtile_testkit::{Fill, Rng, bits_equal, fill};
    use ubtile_tiling::Dtype;

    use super::*;

    #[test]
    fn every_dtype_round_trips() {
        for dtype in Dtype::ALL {
            for shape in [&[][..], &[0, 3], &[2, 3, 5]] {
                let data = fill(TensorDesc::contiguous(dtype, shape).unwrap(), Fill::Specials, &mut Rng::new(1));
                bits_equal(&read(*data.desc(), &write(&data)).unwrap(), &data).unwrap();
            }
        }
    }

    #[test]
    fn bytes_round_trip() {
        let bytes: Vec<_> = (0..=255).collect();
        assert_eq!(read_bytes(&write_bytes(&bytes)), Some(bytes));
        assert!(["0", "0g", "000"].map(read_bytes).iter().all(Option::is_none));
    }

    #[test]
    fn other_texts_are_refused() {
        let read = |text| read(TensorDesc::contiguous(Dtype::I16, &[2]).unwrap(), text).unwrap_err();
        assert_eq!(read("1"), "has 1 words: its shape takes 2");
        assert_eq!(read("1 2 3"), "has 3 words: its shape takes 2");
        assert_eq!(read("1 10000"), "has the word 10000: i16 takes 2 bytes");
        assert!(read("1 x").starts_with("has a word that is no hexadecimal number"));
        assert!(read("1 -1").starts_with("has a word that is no hexadecimal number"));
    }
}
