//! What the shapes of a row say of the grid sampler: the order of the dimensions, and which gradients it writes.

/// The output mask of what is written, where a row says that: `input_grad` has the shape of the image, `grid_grad` that of the grid.
pub(super) fn output_mask(
    outputs: &[Vec<usize>],
    image: &[usize],
    grid: &[usize],
) -> Result<Option<&'static str>, String> {
    // What is not wanted may have an empty place.
    let written: Vec<_> = outputs.iter().map(Vec::as_slice).filter(|shape| !shape.is_empty()).collect();
    match *written.as_slice() {
        [] => Ok(None),
        [one] if one == image => Ok(Some("true,false")),
        [one] if one == grid => Ok(Some("false,true")),
        [first, second] if first == image && second == grid => Ok(Some("true,true")),
        _ => {
            let sizes = |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            let written: Vec<_> = written.into_iter().map(sizes).collect();
            let (written, image, grid) = (written.join(" and "), sizes(image), sizes(grid));
            Err(format!("the outputs are {written}: {image} as the image, {grid} as the grid, or both are required"))
        }
    }
}

/// In which order the dimensions of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Channels behind the images.
    First,
    /// Channels last.
    Last,
    /// The shapes fit both; taken as the first.
    Either,
}

impl Order {
    /// The one in which both tensors have as many channels, and `grad_output` the sizes of the grid; in none, that of the sizes.
    pub(super) fn of(gradient: &[usize], image: &[usize], grid: &[usize]) -> Self {
        let sizes = grid.get(1..3);
        let first = gradient.get(2..4) == sizes && gradient.get(1) == image.get(1);
        let last = gradient.get(1..3) == sizes && gradient.get(3) == image.get(3);
        let only_last = gradient.get(1..3) == sizes && gradient.get(2..4) != sizes;
        match (first, last) {
            // Of an image with three equal sizes both are the same.
            (true, true) if !is_cube(image) => Self::Either,
            (false, true) => Self::Last,
            (false, false) if only_last => Self::Last,
            _ => Self::First,
        }
    }

    pub(super) fn channels_first(self, shape: &[usize]) -> Vec<usize> {
        match *shape {
            [n, h, w, c] if self == Self::Last => vec![n, c, h, w],
            _ => shape.to_vec(),
        }
    }
}

/// Whether all but the first size are the same, so that their order does not matter.
fn is_cube(shape: &[usize]) -> bool {
    matches!(*shape, [_, a, b, c] if a == b && b == c)
}
