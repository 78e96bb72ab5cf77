//! The functions of the C library, called as C calls them.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use ubtile_capi::{
    Input, Level, Options, Output, Target, UBTILE_DEFAULT, UBTILE_ERROR_PARAM_INVALID, UBTILE_ERROR_TILING,
    UBTILE_MAX_RANK, UBTILE_SUCCESS,
};
use ubtile_testkit::{Data, Description, Inputs};
use ubtile_tiling::{Capabilities, Edition, PlanOptions, Problem, TargetSpec, Tensor, TensorDesc, TilingPlan};

pub mod buffers;
pub mod grid_sampler_2d_backward;
pub mod im2col_backward;
pub mod max_unpool2d_backward;
pub mod replication_pad2d_backward;
pub mod stored;
pub mod tiles;

/// The outputs of a run, by name.
pub type Outputs = Vec<(Tensor, Data)>;

/// The functions of one operator and how its structs are made; `D`, `T` and `B` are its description, plan and buffers.
#[derive(Debug)]
pub struct Api<D, T, B> {
    /// `ubtile_..._plan`.
    pub plan: unsafe extern "C" fn(*const D, *const Target, *const Options, *mut T, *mut usize) -> i32,
    /// `ubtile_..._store`.
    pub store: unsafe extern "C" fn(*const D, *const Target, *const Options, *mut u8, usize) -> i32,
    /// `ubtile_..._load`.
    pub load: unsafe extern "C" fn(*const u8, usize, *mut D, *mut T, *mut usize) -> i32,
    /// `ubtile_..._phases`.
    pub phases: unsafe extern "C" fn(*const T) -> usize,
    /// `ubtile_..._shares`.
    pub shares: unsafe extern "C" fn(*const T, usize) -> usize,
    /// `ubtile_..._tiles`.
    pub tiles: unsafe extern "C" fn(*const T, usize, usize) -> usize,
    /// All tiles by `ubtile_..._tile` and `ubtile_..._run_tile`: the outputs, or the first status that is not success.
    pub by_tiles: fn(&T, &TilingPlan, &Inputs, Option<&Level>) -> Result<Outputs, i32>,
    /// `ubtile_..._run`.
    pub run: unsafe extern "C" fn(*const T, *const Level, *const B) -> i32,
    /// `ubtile_..._run_share`.
    pub run_share: unsafe extern "C" fn(*const T, *const Level, usize, usize, *const B) -> i32,
    /// Bytes of a stored plan.
    pub stored_bytes: usize,
    /// The description in C, unless its lists have lengths that the struct cannot say.
    pub desc: fn(&Description) -> Option<D>,
    /// An empty description.
    pub no_desc: fn() -> D,
    /// A plan that was never made.
    pub no_plan: fn() -> T,
    /// The tensors that a run has buffers of: inputs, then outputs.
    pub tensors: &'static [Tensor],
    /// The buffers: inputs, outputs, workspace.
    pub buffers: fn(&[Input], &[Output], Output) -> B,
}

/// A tensor in C.
#[must_use]
pub fn tensor(desc: TensorDesc) -> ubtile_capi::Tensor {
    let list = |values: &[usize]| {
        let mut all = [0; UBTILE_MAX_RANK];
        all[..values.len()].copy_from_slice(values);
        all
    };
    ubtile_capi::Tensor {
        dtype: desc.dtype.acl(),
        rank: u32::try_from(desc.shape.rank()).expect("a few dimensions"),
        shape: list(desc.shape.as_slice()),
        strides: list(desc.strides.as_slice()),
    }
}

/// A machine in C, and what the library makes of it: C callers have the capabilities of a host.
#[must_use]
pub fn target(spec: &TargetSpec) -> (Target, TargetSpec) {
    let TargetSpec { cores, local_bytes, block_bytes, vector_bytes, capabilities: Capabilities { caches, .. } } = *spec;
    let capabilities = Capabilities { caches, ..Capabilities::HOST };
    (
        Target { cores, local_bytes, block_bytes, vector_bytes, caches },
        TargetSpec { cores, local_bytes, block_bytes, vector_bytes, capabilities },
    )
}

/// Options in C; the largest number means none.
#[must_use]
pub fn options(options: &PlanOptions) -> Options {
    Options {
        workspace_limit: options.workspace_limit.unwrap_or(UBTILE_DEFAULT),
        local_bytes: options.local_bytes.unwrap_or(UBTILE_DEFAULT),
    }
}

/// What Rust makes of a description: a plan, or the status that C gives: it refuses a machine without cores, blocks or vectors.
pub fn expected(description: &Description, target: &TargetSpec, options: &Options) -> Result<TilingPlan, i32> {
    if [target.cores, target.block_bytes, target.vector_bytes].contains(&0) {
        return Err(UBTILE_ERROR_PARAM_INVALID);
    }
    let problem: Problem = description.check(None, Edition::Any).map_err(|error| error.status().code())?;
    let given = |bytes| (bytes != UBTILE_DEFAULT).then_some(bytes);
    let options =
        PlanOptions { workspace_limit: given(options.workspace_limit), local_bytes: given(options.local_bytes) };
    ubtile_tiling::plan(&problem, target, &options).map_err(|_| UBTILE_ERROR_TILING)
}

impl<D: Copy, T: Copy, B> Api<D, T, B> {
    /// `plan`: the plan and its workspace, or the status.
    pub fn planned(&self, desc: &D, target: &Target, options: &Options) -> Result<(T, usize), i32> {
        let (mut tiling, mut bytes) = ((self.no_plan)(), 0);
        // SAFETY: references are to what they say.
        let status = unsafe { (self.plan)(desc, target, options, &mut tiling, &mut bytes) };
        // Whether the workspace is asked for or not.
        let mut again = (self.no_plan)();
        // SAFETY: the same; the last one is NULL, which is allowed.
        assert_eq!(status, unsafe { (self.plan)(desc, target, options, &mut again, null_mut()) });
        if status == UBTILE_SUCCESS { Ok((tiling, bytes)) } else { Err(status) }
    }

    /// The shares of all phases.
    pub fn all_shares(&self, tiling: &T) -> Vec<usize> {
        // SAFETY: a plan, or words that never were one.
        let phases = unsafe { (self.phases)(tiling) };
        // SAFETY: the same.
        (0..phases).map(|phase| unsafe { (self.shares)(tiling, phase) }).collect()
    }

    /// A plan is what Rust plans; what is not a phase or a share has nothing.
    pub fn is_plan(&self, tiling: &T, workspace_bytes: usize, plan: &TilingPlan) {
        assert_eq!(workspace_bytes, plan.workspace_bytes());
        let shares = self.all_shares(tiling);
        assert_eq!(shares, plan.phases().map(|phase| phase.shares).collect::<Vec<_>>());
        // SAFETY: a plan.
        let (no_phase, no_tile) =
            unsafe { ((self.shares)(tiling, shares.len()), (self.tiles)(tiling, shares.len(), 0)) };
        assert_eq!((no_phase, no_tile), (0, 0), "a phase too many");
    }

    /// What was never planned has no phases and does not run, nor does a phase or a share that a plan does not have.
    pub fn refuses_nothing(&self, tiling: &T, buffers: &B) {
        let (none, shares) = ((self.no_plan)(), self.all_shares(tiling));
        let beyond = shares.iter().copied().enumerate().chain([(shares.len(), 0)]);
        // SAFETY: each pointer is NULL or to what it says.
        unsafe {
            for (phase, share) in beyond {
                assert_eq!((self.run_share)(tiling, null(), phase, share, buffers), UBTILE_ERROR_PARAM_INVALID);
            }
            assert_eq!((self.run)(&none, null(), buffers), UBTILE_ERROR_PARAM_INVALID);
            assert_eq!((self.run_share)(&none, null(), 0, 0, buffers), UBTILE_ERROR_PARAM_INVALID);
            for count in
                [(self.phases)(&none), (self.phases)(null()), (self.shares)(&none, 0), (self.tiles)(&none, 0, 0)]
            {
                assert_eq!(count, 0);
            }
        }
    }
}

/// Elements to read; NULL where there are none.
#[must_use]
pub fn input(data: *const u8, bytes: usize) -> Input {
    Input { data: data.cast::<c_void>(), bytes }
}

/// Elements to write; NULL where there are none.
#[must_use]
pub fn output(data: *mut u8, bytes: usize) -> Output {
    Output { data: data.cast::<c_void>(), bytes }
}
