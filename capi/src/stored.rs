//! Plans as bytes, for flash or another program.
//!
//! 64-bit words, little endian whatever the machine: a word with the name and version of the format, the number of the operator,
//! the description, the target, the options, and a digest (FNV-1a, 64 bits) of all bytes before it and of the plan that they
//! lead to. Decisions are not stored: whoever loads a plan derives it again from what is stored, and compares digests. So
//! damaged bytes are refused, and so are those of another version of the library that would plan otherwise.

use ubtile_tiling::{Phase, Status, Workspace};

use crate::types::{Options, Target, Tensor, UBTILE_DEFAULT};

/// "ubtile", 0, and version 1.
const FORMAT: u64 = u64::from_le_bytes(*b"ubtile\0\x01");

/// Words around a description: format, operator, target, options, digest.
const AROUND: usize = 2 + 5 + 2 + 1;

/// Bytes of a stored plan whose description has so many words.
pub(crate) const fn stored_bytes(desc_words: usize) -> usize {
    (AROUND + desc_words) * 8
}

/// Words of a tensor.
pub(crate) const TENSOR_WORDS: usize = 2 + 2 * crate::types::UBTILE_MAX_RANK;

/// Reads or writes words one after the other: the same visit of a description serves both.
pub(crate) trait Words {
    /// Writes `word`, or gives the one that is read in its place.
    fn word(&mut self, word: u64) -> Result<u64, Status>;

    fn size(&mut self, size: &mut usize) -> Result<(), Status> {
        // No limit on one machine is none on the other.
        let word = if *size == UBTILE_DEFAULT { u64::MAX } else { *size as u64 };
        let word = self.word(word)?;
        *size = if word == u64::MAX {
            UBTILE_DEFAULT
        } else {
            usize::try_from(word).ok().filter(|&size| size != UBTILE_DEFAULT).ok_or(Status::ParamInvalid)?
        };
        Ok(())
    }

    fn signed(&mut self, value: &mut i64) -> Result<(), Status> {
        *value = self.word(value.cast_unsigned())?.cast_signed();
        Ok(())
    }

    fn flag(&mut self, flag: &mut bool) -> Result<(), Status> {
        *flag = match self.word(u64::from(*flag))? {
            0 => false,
            1 => true,
            _ => return Err(Status::ParamInvalid),
        };
        Ok(())
    }

    fn tensor(&mut self, tensor: &mut Tensor) -> Result<(), Status> {
        let mut dtype = i64::from(tensor.dtype);
        self.signed(&mut dtype)?;
        tensor.dtype = i32::try_from(dtype).map_err(|_| Status::ParamInvalid)?;
        tensor.rank = u32::try_from(self.word(u64::from(tensor.rank))?).map_err(|_| Status::ParamInvalid)?;
        for (i, size) in tensor.shape.iter_mut().chain(&mut tensor.strides).enumerate() {
            // What lies beyond the rank is nobody's: 0, so that a plan has one way to be stored.
            let beyond = i % crate::types::UBTILE_MAX_RANK >= tensor.rank as usize;
            if beyond {
                *size = 0;
            }
            self.size(size)?;
            if beyond && *size != 0 {
                return Err(Status::ParamInvalid);
            }
        }
        Ok(())
    }
}

/// The operator's part of a stored plan.
pub(crate) trait Described: Copy {
    /// The number of the operator.
    const OPERATOR: u64;

    /// Every field, in an order that never changes.
    fn visit(&mut self, words: &mut impl Words) -> Result<(), Status>;
}

/// All that a plan is made from.
#[derive(Clone, Copy)]
pub(crate) struct Recipe<D> {
    pub(crate) desc: D,
    pub(crate) target: Target,
    pub(crate) options: Options,
}

impl<D: Described> Recipe<D> {
    fn visit(&mut self, words: &mut impl Words) -> Result<(), Status> {
        for fixed in [FORMAT, D::OPERATOR] {
            if words.word(fixed)? != fixed {
                return Err(Status::ParamInvalid);
            }
        }
        self.desc.visit(words)?;
        let Target { cores, local_bytes, block_bytes, vector_bytes, caches } = &mut self.target;
        for size in [cores, local_bytes, block_bytes, vector_bytes] {
            words.size(size)?;
        }
        words.flag(caches)?;
        words.size(&mut self.options.workspace_limit)?;
        words.size(&mut self.options.local_bytes)
    }

    /// Writes the recipe and the digest of it and its plan.
    pub(crate) fn store(mut self, digest_of_plan: impl FnOnce(&mut Digest), bytes: &mut [u8]) -> Result<(), Status> {
        let mut writer = Writer { words: bytes.as_chunks_mut().0.iter_mut(), digest: Digest::new() };
        self.visit(&mut writer)?;
        let mut digest = writer.digest;
        digest_of_plan(&mut digest);
        writer.word(digest.0).map(drop)
    }

    /// Reads a recipe over this one. Gives the digest so far and the one that it should become with the plan's.
    pub(crate) fn load(&mut self, bytes: &[u8]) -> Result<(Digest, u64), Status> {
        let (words, rest) = bytes.as_chunks();
        let mut reader = Reader { words: words.iter(), digest: Digest::new() };
        self.visit(&mut reader)?;
        let digest = reader.digest;
        let want = reader.word(0)?;
        if reader.words.next().is_some() || !rest.is_empty() {
            return Err(Status::ParamInvalid);
        }
        Ok((digest, want))
    }
}

/// FNV-1a with 64 bits. One changed byte always changes it.
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds a plan's decisions.
    pub(crate) fn plan(
        &mut self,
        phases: impl Iterator<Item = Phase>,
        workspace: &Workspace,
        block_dim: usize,
        tile_sizes: impl IntoIterator<Item = (&'static str, usize)>,
    ) {
        phases.for_each(|phase| self.add(phase.shares as u64));
        for region in workspace.regions() {
            self.add(region.offset as u64);
            self.add(region.bytes as u64);
        }
        self.add(block_dim as u64);
        tile_sizes.into_iter().for_each(|(_, size)| self.add(size as u64));
    }

    /// Whether it is the stored one.
    pub(crate) fn equals(self, want: u64) -> Result<(), Status> {
        if self.0 == want { Ok(()) } else { Err(Status::ParamInvalid) }
    }
}

struct Writer<'a> {
    words: core::slice::IterMut<'a, [u8; 8]>,
    digest: Digest,
}

impl Words for Writer<'_> {
    fn word(&mut self, word: u64) -> Result<u64, Status> {
        *self.words.next().ok_or(Status::ParamInvalid)? = word.to_le_bytes();
        self.digest.add(word);
        Ok(word)
    }
}

struct Reader<'a> {
    words: core::slice::Iter<'a, [u8; 8]>,
    digest: Digest,
}

impl Words for Reader<'_> {
    fn word(&mut self, _: u64) -> Result<u64, Status> {
        let word = u64::from_le_bytes(*self.words.next().ok_or(Status::ParamInvalid)?);
        self.digest.add(word);
        Ok(word)
    }
}
