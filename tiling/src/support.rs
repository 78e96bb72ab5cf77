//! The support matrix.

use crate::{Dtype, Edition, Operator, Product};

/// Where the vendor runs a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// A kernel on the AI Core.
    AiCore,
    /// A fallback on the device's ARM cores.
    Aicpu,
}

/// What an edition says of an operator's dtype on a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Whether it is accepted.
    pub accepted: bool,
    /// Where the vendor runs it; `None` where it does not.
    pub route: Option<Route>,
}

/// Looks the matrix up; `product` `None` is the host.
#[must_use]
pub const fn support(_: Operator, _: Dtype, _: Option<Product>, _: Edition) -> Support {
    Support { accepted: true, route: None }
}
