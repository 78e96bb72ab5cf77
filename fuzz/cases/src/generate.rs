//! Descriptions out of bytes: sensible ones, and ones with a few things wrong.

use arbitrary::{Result, Unstructured};
use ubtile_testkit::Description;
use ubtile_tiling::{Dtype, MAX_RANK, Operator, Tensor, TensorDesc, support_table};

/// How large the sizes of a description may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// So small that computing the operator takes no time.
    Small,
    /// Now and then anything that fits 64 bits.
    Any,
}

impl Scale {
    /// A size from `min` on.
    fn size(self, u: &mut Unstructured<'_>, min: i64, max: i64) -> Result<i64> {
        if self == Self::Any && u.ratio(1, 16)? {
            return Ok(u.arbitrary::<i64>()? >> u.int_in_range(0..=63)?);
        }
        u.int_in_range(min..=max)
    }

    /// Points, pixels or channels along an axis: mostly some, at times more than a vector has lanes and a band has rows, rarely none.
    fn extent(self, u: &mut Unstructured<'_>, min: i64, max: i64) -> Result<i64> {
        match u.int_in_range(0..=15)? {
            15 => self.size(u, min, max),
            14 | 13 => self.size(u, 15, 35),
            _ => self.size(u, 1, max),
        }
    }

    /// Images of a batch, rarely none.
    fn batch(self, u: &mut Unstructured<'_>) -> Result<i64> {
        let none = u.ratio(1, 16)?;
        self.size(u, i64::from(!none), 3)
    }
}

/// A description that a host accepts, as far as sizes go: all tensors fit the attributes.
pub fn sensible(u: &mut Unstructured<'_>, operator: Operator, scale: Scale) -> Result<Description> {
    match operator {
        Operator::GridSampler2dBackward => grid_sampler(u, scale),
        Operator::MaxUnpool2dBackward => max_unpool(u, scale),
        Operator::ReplicationPad2dBackward => replication_pad(u, scale),
        Operator::Im2colBackward => im2col(u, scale),
    }
}

fn grid_sampler(u: &mut Unstructured<'_>, scale: Scale) -> Result<Description> {
    let dtype = dtype_of(u, Operator::GridSampler2dBackward)?;
    let n = scale.batch(u)?;
    // Around the blocks of 8 and 64 channels.
    let many = u.ratio(1, 8)?;
    let c = scale.extent(u, 0, if many { 131 } else { 18 })?;
    let [hi, wi] = [scale.extent(u, 1, 9)?, scale.extent(u, 1, 9)?];
    let [ho, wo] = [scale.extent(u, 0, 9)?, scale.extent(u, 0, 9)?];
    let (image, points) = ([n, c, hi, wi], [n, ho, wo, 2]);
    Ok(Description {
        operator: Operator::GridSampler2dBackward,
        tensors: vec![
            (Tensor::GradOutput, tensor(u, dtype, &[n, c, ho, wo], Use::Read)?),
            (Tensor::Input, tensor(u, dtype, &image, Use::Read)?),
            (Tensor::Grid, tensor(u, dtype, &points, Use::Read)?),
            (Tensor::InputGrad, tensor(u, dtype, &image, Use::Written)?),
            (Tensor::GridGrad, tensor(u, dtype, &points, Use::Written)?),
        ],
        attributes: vec![vec![u.int_in_range(0..=2)?], vec![u.int_in_range(0..=2)?]],
        align_corners: u.arbitrary()?,
        output_mask: vec![u.ratio(7, 8)?, u.ratio(7, 8)?],
    })
}

fn max_unpool(u: &mut Unstructured<'_>, scale: Scale) -> Result<Description> {
    let dtype = dtype_of(u, Operator::MaxUnpool2dBackward)?;
    let out_dtype = if u.ratio(1, 4)? { dtype_of(u, Operator::MaxUnpool2dBackward)? } else { dtype };
    let index = *u.choose(&[Dtype::I32, Dtype::I64])?;
    let [n, c] = [scale.batch(u)?, scale.extent(u, 0, 3)?];
    let [h, w] = [scale.extent(u, 0, 9)?, scale.extent(u, 0, 19)?];
    let [out_h, out_w] = [scale.extent(u, 1, 12)?, scale.extent(u, 1, 24)?];
    let batch = u.arbitrary()?;
    let pooled = image(batch, n, c, h, w);
    Ok(Description {
        operator: Operator::MaxUnpool2dBackward,
        tensors: vec![
            (Tensor::GradOutput, tensor(u, dtype, &image(batch, n, c, out_h, out_w), Use::Read)?),
            (Tensor::SelfTensor, tensor(u, dtype, &pooled, Use::Read)?),
            (Tensor::Indices, tensor(u, index, &pooled, Use::Read)?),
            (Tensor::Out, tensor(u, out_dtype, &pooled, Use::Written)?),
        ],
        attributes: vec![vec![out_h, out_w]],
        align_corners: false,
        output_mask: Vec::new(),
    })
}

fn replication_pad(u: &mut Unstructured<'_>, scale: Scale) -> Result<Description> {
    let dtype = dtype_of(u, Operator::ReplicationPad2dBackward)?;
    let [n, c] = [scale.batch(u)?, scale.extent(u, 1, 3)?];
    let [h, w] = [scale.extent(u, 1, 9)?, scale.extent(u, 1, 19)?];
    let padding = [scale.size(u, -4, 8)?, scale.size(u, -4, 8)?, scale.size(u, -4, 8)?, scale.size(u, -4, 8)?];
    let [left, right, top, bottom] = padding;
    let padded = |size: i64, before: i64, after: i64| size.saturating_add(before).saturating_add(after);
    let batch = u.arbitrary()?;
    let (image, around) =
        (image(batch, n, c, h, w), image(batch, n, c, padded(h, top, bottom), padded(w, left, right)));
    Ok(Description {
        operator: Operator::ReplicationPad2dBackward,
        tensors: vec![
            (Tensor::GradOutput, tensor(u, dtype, &around, Use::Read)?),
            (Tensor::SelfTensor, tensor(u, dtype, &image, Use::Read)?),
            (Tensor::GradInput, tensor(u, dtype, &image, Use::Written)?),
        ],
        attributes: vec![padding.to_vec()],
        align_corners: false,
        output_mask: Vec::new(),
    })
}

fn im2col(u: &mut Unstructured<'_>, scale: Scale) -> Result<Description> {
    let dtype = dtype_of(u, Operator::Im2colBackward)?;
    let out_dtype = if u.ratio(1, 4)? { dtype_of(u, Operator::Im2colBackward)? } else { dtype };
    let [n, c] = [scale.batch(u)?, scale.extent(u, 0, 3)?];
    let size = [scale.extent(u, 0, 12)?, scale.extent(u, 0, 24)?];
    let kernel = [scale.size(u, 1, 4)?, scale.size(u, 1, 4)?];
    let dilation = [scale.size(u, 1, 3)?, scale.size(u, 1, 3)?];
    let padding = [scale.size(u, 0, 3)?, scale.size(u, 0, 3)?];
    let stride = [scale.size(u, 1, 4)?, scale.size(u, 1, 4)?];
    let windows = |axis: usize| {
        let wide = |pair: [i64; 2]| i128::from(pair[axis]);
        let room = wide(size) + 2 * wide(padding) - wide(dilation) * (wide(kernel) - 1) - 1;
        i64::try_from((room + wide(stride)) / wide(stride).max(1)).unwrap_or(0)
    };
    let batch = u.arbitrary()?;
    let rows = c.saturating_mul(kernel[0]).saturating_mul(kernel[1]);
    let columns = [n, rows, windows(0).saturating_mul(windows(1))];
    Ok(Description {
        operator: Operator::Im2colBackward,
        tensors: vec![
            (Tensor::GradOutput, tensor(u, dtype, if batch { &columns } else { &columns[1..] }, Use::Read)?),
            (Tensor::Out, tensor(u, out_dtype, &image(batch, n, c, size[0], size[1]), Use::Written)?),
        ],
        attributes: [size, kernel, dilation, padding, stride].map(|pair| pair.to_vec()).to_vec(),
        align_corners: false,
        output_mask: Vec::new(),
    })
}

/// Mostly one that the operator has.
fn dtype_of(u: &mut Unstructured<'_>, operator: Operator) -> Result<Dtype> {
    if u.ratio(1, 16)? {
        return u.choose(&Dtype::ALL).copied();
    }
    let own: Vec<Dtype> = support_table().iter().filter(|row| row.operator == operator).map(|row| row.dtype).collect();
    u.choose(&own).copied()
}

fn image(batch: bool, n: i64, c: i64, h: i64, w: i64) -> Vec<i64> {
    if batch { vec![n, c, h, w] } else { vec![c, h, w] }
}

/// Whether two indices may share an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Written,
}

/// A tensor whose dimensions lie in any order, with gaps; one to read may repeat elements, or be windows that overlap. Negative sizes
/// become 0.
fn tensor(u: &mut Unstructured<'_>, dtype: Dtype, shape: &[i64], usage: Use) -> Result<TensorDesc> {
    let shape: Vec<usize> = shape.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
    let contiguous = TensorDesc::contiguous(dtype, &shape).expect("at most four dimensions");
    if u.ratio(2, 3)? {
        return Ok(contiguous);
    }
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, u.int_in_range(0..=i)?);
    }
    let mut strides = vec![0; shape.len()];
    let mut step: usize = 1;
    for dim in order {
        step = step.saturating_add(u.int_in_range(0..=2)?);
        strides[dim] = match usage {
            Use::Read => [0, 1].get(u.int_in_range(0..=7)?).copied().unwrap_or(step),
            Use::Written => step,
        };
        step = step.saturating_mul(shape[dim].max(1));
    }
    Ok(TensorDesc::strided(dtype, &shape, &strides).unwrap_or(contiguous))
}

/// Changes one thing of a description to anything.
pub fn spoil(u: &mut Unstructured<'_>, description: &mut Description) -> Result<()> {
    let any = |u: &mut Unstructured<'_>| Ok(u.arbitrary::<i64>()? >> u.int_in_range(0..=63)?);
    let choice: u8 = u.int_in_range(0..=6)?;
    if choice < 4 {
        let i = u.choose_index(description.tensors.len())?;
        let tensor = &mut description.tensors[i].1;
        let (mut dtype, mut shape, mut strides) =
            (tensor.dtype, tensor.shape.as_slice().to_vec(), tensor.strides.as_slice().to_vec());
        match choice {
            0 => dtype = *u.choose(&Dtype::ALL)?,
            1 => {
                let mut rank = |list: &mut Vec<usize>| -> Result<()> {
                    list.resize(u.int_in_range(0..=MAX_RANK)?, 1);
                    Ok(())
                };
                rank(&mut shape)?;
                if u.arbitrary()? {
                    strides.resize(shape.len(), 1);
                }
            }
            _ => {
                let list = if choice == 2 { &mut shape } else { &mut strides };
                if !list.is_empty() {
                    let dim = u.choose_index(list.len())?;
                    list[dim] = any(u)? as usize;
                }
            }
        }
        *tensor = TensorDesc::strided(dtype, &shape, &strides).expect("no more dimensions than a tensor has");
        return Ok(());
    }
    let i = u.choose_index(description.attributes.len())?;
    let values = &mut description.attributes[i];
    match choice {
        4 if !values.is_empty() => {
            let k = u.choose_index(values.len())?;
            values[k] = any(u)?;
        }
        5 => values.resize(u.int_in_range(0..=5)?, 1),
        _ => description.output_mask.resize(u.int_in_range(0..=3)?, true),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ubtile_testkit::Rng;
    use ubtile_tiling::Edition;

    use super::*;

    #[test]
    fn most_sensible_descriptions_are_accepted() {
        let mut rng = Rng::new(1);
        for (operator, scale) in Operator::ALL.into_iter().flat_map(|o| [(o, Scale::Small), (o, Scale::Any)]) {
            let accepted = (0..1000)
                .filter(|_| {
                    let bytes: Vec<u8> = (0..512).map(|_| rng.next_u64() as u8).collect();
                    let description = sensible(&mut Unstructured::new(&bytes), operator, scale).expect("enough bytes");
                    description.check(None, Edition::Any).is_ok()
                })
                .count();
            let want = if scale == Scale::Small { 800 } else { 100 };
            assert!(accepted > want, "{operator}, {scale:?}: {accepted} of 1000");
            println!("{operator}, {scale:?}: {accepted} of 1000");
        }
    }
}
