//! A copy to contiguous: what a staged copy of a strided input would take.

use ubtile_testkit::Data;

/// Side of the squares that rows and columns are copied in.
const BLOCK: usize = 16;

/// Copies `from`, of any strides, to `to`, which has none.
pub(crate) fn copy(from: &Data, to: &mut Data) {
    match from.dtype().size() {
        1 => words::<u8>(from, to),
        2 => words::<u16>(from, to),
        4 => words::<u32>(from, to),
        8 => words::<u64>(from, to),
        size => panic!("no copy of elements of {size} bytes"),
    }
}

fn words<W: bytemuck::Pod>(from: &Data, to: &mut Data) {
    let (shape, strides) = (from.desc().shape, from.desc().strides);
    let rank = shape.rank();
    let at =
        |dim: usize| if rank + dim < 4 { (1, 0) } else { (shape.get(rank + dim - 4), strides.get(rank + dim - 4)) };
    let [(n, sn), (c, sc), (h, sh), (w, sw)] = [0, 1, 2, 3].map(at);
    let source: &[W] = bytemuck::cast_slice(from.bytes());
    let dest: &mut [W] = bytemuck::cast_slice_mut(to.bytes_mut());
    // The dimension that is innermost in memory takes turns with the columns.
    let (inner, inner_stride, inner_step) = if sc < sw && sc < sh && c > 1 { (c, sc, h * w) } else { (h, sh, w) };
    let (outer, outer_stride, outer_step) = if inner_step == w { (c, sc, h * w) } else { (h, sh, w) };
    for (image, plane) in (0..n).flat_map(|image| (0..outer).map(move |plane| (image, plane))) {
        let (start, there) = (image * sn + plane * outer_stride, image * c * h * w + plane * outer_step);
        for i0 in (0..inner).step_by(BLOCK) {
            for x0 in (0..w).step_by(BLOCK) {
                for i in i0..inner.min(i0 + BLOCK) {
                    let line = &mut dest[there + i * inner_step + x0..][..BLOCK.min(w - x0)];
                    let mut at = start + i * inner_stride + x0 * sw;
                    for cell in line {
                        *cell = source[at];
                        at += sw;
                    }
                }
            }
        }
    }
}
