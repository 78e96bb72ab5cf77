//! Plans as bytes: what was stored comes back, anything else is refused or is a plan that would be stored as these bytes.

use std::fmt::Debug;
use std::ptr::null_mut;

use ubtile_capi::{Options, Target, UBTILE_ERROR_PARAM_INVALID, UBTILE_ERROR_PARAM_NULLPTR, UBTILE_SUCCESS};
use ubtile_testkit::Description;
use ubtile_tiling::TargetSpec;

use super::{Api, expected, options as in_c, target as of_spec};

/// Words behind a description: target, options, digest.
const BEHIND: usize = 5 + 2 + 1;

impl<D: Copy, T: Copy, B> Api<D, T, B> {
    /// `store`: the bytes, or the status.
    fn stored(&self, desc: &D, target: &Target, options: &Options) -> Result<Vec<u8>, i32> {
        let mut bytes = vec![0xa5; self.stored_bytes];
        // SAFETY: references are to what they say, here and below.
        let status = unsafe { (self.store)(desc, target, options, bytes.as_mut_ptr(), bytes.len()) };
        if status == UBTILE_SUCCESS { Ok(bytes) } else { Err(status) }
    }

    /// `load`: the description, the plan and its workspace, or the status.
    fn loaded(&self, bytes: &[u8]) -> Result<(D, T, usize), i32> {
        let (mut desc, mut tiling, mut workspace_bytes) = ((self.no_desc)(), (self.no_plan)(), 0);
        // SAFETY: as above.
        let status = unsafe { (self.load)(bytes.as_ptr(), bytes.len(), &mut desc, &mut tiling, &mut workspace_bytes) };
        let mut again = (self.no_plan)();
        // SAFETY: as above; NULL is allowed where it is given.
        let plain = unsafe { (self.load)(bytes.as_ptr(), bytes.len(), null_mut(), &mut again, null_mut()) };
        assert_eq!(status, plain, "what is asked for besides the plan changes nothing");
        assert_eq!(self.all_shares(&tiling), self.all_shares(&again));
        if status == UBTILE_SUCCESS {
            return Ok((desc, tiling, workspace_bytes));
        }
        assert!(self.all_shares(&tiling).is_empty(), "a plan is left behind");
        Err(status)
    }

    /// Stores a plan and loads it. `None` where there is no plan to store.
    fn round_trip(&self, description: &Description, spec: &TargetSpec, options: &Options) -> Option<Vec<u8>> {
        let desc = (self.desc)(description)?;
        let (target, spec) = of_spec(spec);
        let bytes = match (self.stored(&desc, &target, options), expected(description, &spec, options)) {
            (Err(status), Err(want)) => {
                assert_eq!(status, want);
                return None;
            }
            (stored, want) => {
                let bytes = stored.expect("what can be planned can be stored");
                let (_, tiling, workspace_bytes) = self.loaded(&bytes).expect("what was stored can be loaded");
                self.is_plan(&tiling, workspace_bytes, &want.expect("what was stored can be planned"));
                bytes
            }
        };
        self.canonical(&bytes);
        // From an odd address, and with a byte more or less.
        let longer = [&[0][..], &bytes, &[0]].concat();
        assert!(self.loaded(&longer[1..=bytes.len()]).is_ok(), "bytes may start anywhere");
        for wrong in [&longer[1..], &bytes[1..], &[]] {
            assert_eq!(self.loaded(wrong).err(), Some(UBTILE_ERROR_PARAM_INVALID));
        }
        let mut tiling = (self.no_plan)();
        // SAFETY: NULL is refused before anything is read.
        let none = unsafe { (self.load)(null_mut::<u8>(), bytes.len(), null_mut(), &mut tiling, null_mut()) };
        assert_eq!(none, UBTILE_ERROR_PARAM_NULLPTR);
        Some(bytes)
    }

    /// Bytes that can be loaded are those that the same plan is stored as.
    fn canonical(&self, bytes: &[u8]) {
        let word = |i: usize| u64::from_le_bytes(bytes[bytes.len() - 8 * i..][..8].try_into().expect("eight bytes"));
        match self.loaded(bytes) {
            Err(status) => assert_eq!(status, UBTILE_ERROR_PARAM_INVALID),
            Ok((desc, tiling, workspace_bytes)) => {
                let size = |i: usize| usize::try_from(word(i)).expect("64-bit sizes");
                let target = Target {
                    cores: size(BEHIND),
                    local_bytes: size(BEHIND - 1),
                    block_bytes: size(BEHIND - 2),
                    vector_bytes: size(BEHIND - 3),
                    caches: word(BEHIND - 4) == 1,
                };
                let options = Options { workspace_limit: size(3), local_bytes: size(2) };
                assert_eq!(self.stored(&desc, &target, &options).as_deref(), Ok(bytes));
                let (planned, planned_bytes) = self.planned(&desc, &target, &options).expect("stored, so planned");
                assert_eq!(planned_bytes, workspace_bytes);
                assert_eq!(self.all_shares(&planned), self.all_shares(&tiling));
            }
        }
    }
}

/// Stores a plan, if there is one, and loads it whole and with damages: a position and what is flipped there.
pub fn check<D: Copy + Debug, T: Copy, B>(
    api: &Api<D, T, B>,
    description: &Description,
    spec: &TargetSpec,
    options: &ubtile_tiling::PlanOptions,
    damages: &[(u16, u8)],
) {
    let Some(mut bytes) = api.round_trip(description, spec, &in_c(options)) else { return };
    let whole = bytes.clone();
    for &(position, flipped) in damages {
        let at = usize::from(position) % bytes.len();
        bytes[at] ^= flipped;
    }
    if bytes != whole {
        assert_eq!(api.loaded(&bytes).err(), Some(UBTILE_ERROR_PARAM_INVALID), "damages {damages:x?} are not noticed");
    }
}

/// Loads any bytes, cut or filled with zeros to the length of a stored plan.
pub fn check_bytes<D: Copy, T: Copy, B>(api: &Api<D, T, B>, bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    bytes.resize(api.stored_bytes, 0);
    api.canonical(&bytes);
}
