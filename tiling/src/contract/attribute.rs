//! The names of attributes.

use core::fmt;

/// An attribute of an operator, for messages. The names are those of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// How the grid sampler mixes pixels.
    Interpolation,
    /// What lies outside the grid sampler's image.
    PaddingMode,
    /// Which gradients the grid sampler returns.
    OutputMask,
    /// Size of the unpooled plane.
    OutputSize,
    /// Cells around the image: left, right, top, bottom; of im2col (height, width) on both sides.
    Padding,
    /// Size of im2col's image.
    InputSize,
    /// Size of im2col's window.
    KernelSize,
    /// Distance between the taps of im2col's window.
    Dilation,
    /// Distance between the positions of im2col's window.
    Stride,
}

impl Attribute {
    /// The name on the command line, without the dashes before it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interpolation => "interpolation",
            Self::PaddingMode => "padding-mode",
            Self::OutputMask => "output-mask",
            Self::OutputSize => "output-size",
            Self::Padding => "padding",
            Self::InputSize => "input-size",
            Self::KernelSize => "kernel-size",
            Self::Dilation => "dilation",
            Self::Stride => "stride",
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
