use super::*;

/// Two pixels of eight channels in a column of an image too high for its squares to be told apart.
const WINDOW: Window = Window { first: [0, 0], size: [1 << 24, 1], strides: [8, 8] };

/// What eight channels of a point in this cell add to its gradients, and to the two pixels, at a level.
fn partly(level: Level, [y, x]: [f32; 2], grad_output: f32, input: f32) -> (gradient::Lanes<f32, 8>, [f32; 16]) {
    let mut cells = Cells::none(false);
    (cells.count, cells.y.cell[0], cells.x.cell[0]) = (1, y, x);
    let mut input_grad = [1.0; 16];
    let sums = level.dispatch(Partly {
        cells: (&cells, 0),
        windows: [&WINDOW; 2],
        squares: [PARTLY; 2],
        go: &[[grad_output; 8]],
        input: &[input; 16],
        input_grad: &mut input_grad,
        distances: Distances { before: [0.75, 0.5], after: [0.25, 0.5] },
        weights: [0.375, 0.125, 0.375, 0.125],
    });
    (sums, input_grad)
}

#[test]
fn a_point_without_pixels_has_no_gradient_whatever_its_grad_output_is() {
    for level in Level::available() {
        for cell in [[0.0, -2.0], [0.0, 1.0], [-2.0, 0.0], [1e9, 0.0], [-4_294_967_296.0; 2]] {
            for grad_output in [1.0, f32::INFINITY, f32::NAN] {
                let (sums, input_grad) = partly(level, cell, grad_output, 3.0);
                assert_eq!(sums, [[0.0; 8]; 2], "{level}: {cell:?} {grad_output}");
                assert_eq!(input_grad, [1.0; 16], "{level}: {cell:?} {grad_output}");
            }
        }
    }
}

#[test]
fn a_point_with_one_pixel_takes_and_gives_what_that_is_worth() {
    for level in Level::available() {
        // The pixel is the one south-east of the cell.
        let (sums, input_grad) = partly(level, [-1.0, -1.0], 2.0, 3.0);
        assert_eq!(sums, [[3.0; 8], [1.5; 8]], "{level}");
        let mut want = [1.0; 16];
        want[..8].fill(1.25);
        assert_eq!(input_grad, want, "{level}");
    }
}
