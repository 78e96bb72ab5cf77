//! Parts of a case: fewer images, channels or points, with the data that they had.

use std::ops::Range;

use ubtile_testkit::{Data, Inputs, component};
use ubtile_tiling::{Dims, Edition, Operator, Tensor, TensorDesc};

use crate::fuzzing::Case;

/// A size that several tensors share, each in one of its dimensions, times so many.
type Axis = Vec<(Tensor, usize, usize)>;

/// The sizes of an operator that can be cut without another problem in what remains.
fn axes(case: &Case) -> Vec<Axis> {
    let of = |tensors: &[(Tensor, usize)]| tensors.iter().map(|&(tensor, dim)| (tensor, dim, 1)).collect();
    let all = |dim: usize| case.description.tensors.iter().map(|(tensor, _)| (*tensor, dim, 1)).collect();
    match case.description.operator {
        Operator::GridSampler2dBackward => vec![
            all(0),
            of(&[(Tensor::GradOutput, 1), (Tensor::Input, 1), (Tensor::InputGrad, 1)]),
            of(&[(Tensor::GradOutput, 2), (Tensor::Grid, 1), (Tensor::GridGrad, 1)]),
            of(&[(Tensor::GradOutput, 3), (Tensor::Grid, 2), (Tensor::GridGrad, 2)]),
        ],
        Operator::MaxUnpool2dBackward => vec![
            all(0),
            all(1),
            of(&[(Tensor::SelfTensor, 2), (Tensor::Indices, 2), (Tensor::Out, 2)]),
            of(&[(Tensor::SelfTensor, 3), (Tensor::Indices, 3), (Tensor::Out, 3)]),
        ],
        Operator::ReplicationPad2dBackward => vec![all(0), all(1)],
        Operator::Im2colBackward => {
            let kernel = case.description.attributes.get(1).map_or(&[][..], Vec::as_slice);
            let taps = kernel.iter().map(|&size| usize::try_from(size).unwrap_or(1)).product();
            vec![all(0), vec![(Tensor::GradOutput, 1, taps), (Tensor::Out, 1, 1)]]
        }
    }
}

/// The same case with less of one axis: each half of it, then all but its first and all but its last.
pub(super) fn parts(case: &Case) -> impl Iterator<Item = Case> {
    axes(case).into_iter().flat_map(move |axis| {
        let size = axis.first().and_then(|&(tensor, dim, factor)| {
            let (_, desc) = case.description.tensors.iter().find(|(name, _)| *name == tensor)?;
            desc.shape.as_slice().get(dim)?.checked_div(factor)
        });
        let (size, half) = (size.unwrap_or(0), size.unwrap_or(0) / 2);
        let ranges = [0..half, half..size, 1..size, 0..size.saturating_sub(1)];
        let shorter = ranges.into_iter().filter(move |range| !range.is_empty() && range.len() < size);
        shorter.filter_map(move |range| part(case, &axis, &range))
    })
}

fn part(case: &Case, axis: &Axis, range: &Range<usize>) -> Option<Case> {
    let cut = |tensor: Tensor| axis.iter().find(|(name, ..)| *name == tensor).map(|&(_, dim, factor)| (dim, factor));
    let mut description = case.description.clone();
    for (tensor, desc) in &mut description.tensors {
        let Some((dim, factor)) = cut(*tensor) else { continue };
        let mut shape = desc.shape.as_slice().to_vec();
        *shape.get_mut(dim)? = range.len() * factor;
        desc.shape = Dims::new(&shape).ok()?;
    }
    let problem = description.check(None, Edition::Any).ok()?;
    let tensors = case.inputs.tensors();
    let inputs = Inputs::try_new(&problem, |slot| {
        let (_, old) = tensors.iter().find(|(tensor, _)| *tensor == slot.tensor).ok_or(())?;
        let desc = TensorDesc { dtype: slot.dtype, shape: slot.shape, strides: slot.strides };
        let start = cut(slot.tensor).map_or((0, 0), |(dim, factor)| (dim, range.start * factor));
        Ok::<_, ()>(copied(desc, old, start))
    });
    Some(Case { description, problem, inputs: inputs.ok()?, way: case.way })
}

/// A tensor whose elements are those of `old`, `start` further along dimension `dim`.
fn copied(desc: TensorDesc, old: &Data, (dim, start): (usize, usize)) -> Data {
    let parts = component(desc.dtype).1;
    let (shape, strides) = (desc.shape, old.desc().strides);
    Data::from_bits_fn(desc, |i| {
        let (mut element, mut offset) = (i / parts, 0);
        for (d, (&size, &stride)) in shape.as_slice().iter().zip(strides.as_slice()).enumerate().rev() {
            let index = element % size + if d == dim { start } else { 0 };
            (element, offset) = (element / size, offset + index * stride);
        }
        old.bits(offset * parts + i % parts)
    })
}

#[cfg(test)]
mod tests {
    use ubtile_testkit::bits_equal;

    use super::*;
    use crate::fuzzing::Generator;

    /// What is cut off changes nothing in what remains, for every operator: the outputs of a half are half of the outputs.
    #[test]
    fn a_part_has_the_results_it_had() {
        for operator in Operator::ALL {
            let mut generator = Generator::new(operator, 1, false);
            let mut compared = 0;
            while compared < 50 {
                let case = generator.next().unwrap().case().unwrap();
                let Ok(whole) = ubtile_testkit::expected(&case.problem, &case.inputs) else { continue };
                // Images are independent in all operators.
                let Some(half) = parts(&case).find(|part| images(part) == 1 && images(&case) == 2) else { continue };
                let part = ubtile_testkit::expected(&half.problem, &half.inputs).unwrap();
                for ((_, whole), (_, part)) in whole.iter().zip(&part) {
                    let cells = part.cells.len();
                    let first = &whole.cells[..cells];
                    assert!(format!("{first:?}") == format!("{:?}", part.cells), "{operator}: {case:?}");
                }
                compared += 1;
            }
        }
    }

    fn images(case: &Case) -> usize {
        case.description.tensors[0].1.shape.get(0)
    }

    #[test]
    fn parts_are_smaller_and_keep_their_data() {
        let mut generator = Generator::new(Operator::GridSampler2dBackward, 2, false);
        for _ in 0..200 {
            let case = generator.next().unwrap().case().unwrap();
            let elements = |case: &Case| -> usize {
                case.description.tensors.iter().map(|(_, desc)| desc.shape.numel().unwrap()).sum()
            };
            for part in parts(&case) {
                assert!(elements(&part) <= elements(&case));
                let (Some((_, old)), Some((_, new))) = (
                    case.inputs.tensors().into_iter().find(|(tensor, _)| *tensor == Tensor::Input),
                    part.inputs.tensors().into_iter().find(|(tensor, _)| *tensor == Tensor::Input),
                ) else {
                    panic!("no image")
                };
                if old.desc().shape == new.desc().shape {
                    bits_equal(old, new).unwrap();
                }
            }
        }
    }
}
