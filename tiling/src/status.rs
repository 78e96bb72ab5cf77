//! The statuses that aclnn functions return.

/// An aclnn status; the value is that of `aclnn/acl_meta.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// `ACLNN_SUCCESS`
    Success = 0,
    /// `ACLNN_ERR_PARAM_NULLPTR`
    ParamNullptr = 161_001,
    /// `ACLNN_ERR_PARAM_INVALID`
    ParamInvalid = 161_002,
    /// `ACLNN_ERR_RUNTIME_ERROR`
    RuntimeError = 361_001,
    /// `ACLNN_ERR_INNER_TILING_ERROR`
    InnerTilingError = 561_002,
}

impl Status {
    /// The number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The name in the vendor's header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "ACLNN_SUCCESS",
            Self::ParamNullptr => "ACLNN_ERR_PARAM_NULLPTR",
            Self::ParamInvalid => "ACLNN_ERR_PARAM_INVALID",
            Self::RuntimeError => "ACLNN_ERR_RUNTIME_ERROR",
            Self::InnerTilingError => "ACLNN_ERR_INNER_TILING_ERROR",
        }
    }
}
