//! From the command line and the shapes of tensors to a problem: defaults, and what follows from the rest.

use std::fmt::Display;
use std::path::PathBuf;

use ubtile_tiling::{
    ContractError, Dtype, Operator, Problem, Status, Tensor, TensorDesc, TooManyDims, grid_sampler_2d_backward,
    im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};

use crate::args::{
    Attributes, ContractArgs, DtypeOf, GridSampler, Im2col, InputArgs, List, MaxUnpool, Named, ReplicationPad,
};
use crate::error::Error;
use crate::tensors::Input;

/// The inputs that may be stated, in a file or by shape.
const fn inputs(operator: Operator) -> &'static [Tensor] {
    match operator {
        Operator::GridSampler2dBackward => &[Tensor::GradOutput, Tensor::Input, Tensor::Grid],
        Operator::MaxUnpool2dBackward => &[Tensor::GradOutput, Tensor::Indices, Tensor::SelfTensor],
        Operator::ReplicationPad2dBackward => &[Tensor::GradOutput, Tensor::SelfTensor],
        Operator::Im2colBackward => &[Tensor::GradOutput],
    }
}

/// What is known of the inputs.
#[derive(Debug)]
pub(crate) struct Known {
    tensors: Vec<(Tensor, TensorDesc)>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The tensors of a file. All that is read must be there.
    File { path: PathBuf, names: Vec<String> },
    /// Shapes on the command line, and these dtypes.
    Options(Vec<DtypeOf>),
}

impl Known {
    /// What the options say: a file, or shapes.
    pub(crate) fn new(operator: Operator, args: &InputArgs) -> Result<Self, Error> {
        match &args.input {
            Some(path) => Self::in_file(operator, &mut Input::open(path)?),
            None => Self::by_shape(operator, &args.shape, &args.dtype),
        }
    }

    /// Looks at the headers of a file.
    pub(crate) fn in_file(operator: Operator, file: &mut Input) -> Result<Self, Error> {
        let mut tensors = Vec::new();
        for &tensor in inputs(operator) {
            tensors.extend(file.desc(tensor.name())?.map(|desc| (tensor, desc)));
        }
        Ok(Self { tensors, source: Source::File { path: file.path().into(), names: file.names() } })
    }

    /// Takes shapes and dtypes from the command line.
    fn by_shape(operator: Operator, shapes: &[Named<List<usize>>], dtypes: &[DtypeOf]) -> Result<Self, Error> {
        let find = |option: &str, name: &str| {
            let found = inputs(operator).iter().find(|tensor| tensor.name() == name);
            found.copied().ok_or_else(|| {
                let names: Vec<_> = inputs(operator).iter().map(|tensor| tensor.name()).collect();
                Error::Usage(format!("--{option} {name}: the inputs of {operator} are {}", names.join(", ")))
            })
        };
        for (i, of) in dtypes.iter().enumerate() {
            let name = of.name.as_deref();
            let tensor = name.map(|name| find("dtype", name)).transpose()?;
            if dtypes.iter().take(i).any(|before| before.name == of.name) {
                let what = name.unwrap_or("of all inputs");
                return Err(Error::Usage(format!("--dtype {what} is given twice")));
            }
            // The others' shapes follow from the rest; without one of its own it is no part of the problem.
            if tensor == Some(Tensor::SelfTensor) && !shapes.iter().any(|shape| Some(shape.name.as_str()) == name) {
                return Err(Error::Usage("--dtype self: without --shape self=DIMS there is no self".into()));
            }
        }
        let mut tensors: Vec<(Tensor, TensorDesc)> = Vec::new();
        for Named { name, value } in shapes {
            let tensor = find("shape", name)?;
            if tensors.iter().any(|(t, _)| *t == tensor) {
                return Err(Error::Usage(format!("--shape {name} is given twice")));
            }
            let desc = TensorDesc::contiguous(dtype_of(tensor, dtypes), &value.0);
            tensors.push((tensor, desc.map_err(|e| Error::Usage(format!("--shape {name}: {e}")))?));
        }
        Ok(Self { tensors, source: Source::Options(dtypes.to_vec()) })
    }

    fn get(&self, tensor: Tensor) -> Option<TensorDesc> {
        self.tensors.iter().find(|(t, _)| *t == tensor).map(|(_, desc)| *desc)
    }

    /// A tensor that is stated or, without a file, one of the shape that follows from the others.
    fn or_following(&self, tensor: Tensor, shape: Option<Vec<usize>>) -> Result<TensorDesc, Error> {
        if let Some(desc) = self.get(tensor) {
            return Ok(desc);
        }
        match (&self.source, shape) {
            (Source::Options(dtypes), Some(shape)) => contiguous(dtype_of(tensor, dtypes), &shape),
            (Source::Options(_), None) => {
                Err(Error::Usage(format!("--shape {tensor}=DIMS is missing: it does not follow from the rest")))
            }
            (Source::File { path, names }, _) => {
                let has = if names.is_empty() { "no tensors".into() } else { names.join(", ") };
                Err(Error::tensor(path, tensor.name(), format_args!("is missing, the file has {has}")))
            }
        }
    }
}

/// The `--dtype` of that name, else the one without a name, else the default.
fn dtype_of(tensor: Tensor, dtypes: &[DtypeOf]) -> Dtype {
    let said = |name: Option<&str>| dtypes.iter().find(|d| d.name.as_deref() == name).map(|d| d.dtype);
    said(Some(tensor.name())).unwrap_or_else(|| match tensor {
        Tensor::Indices => Dtype::I64,
        _ => said(None).unwrap_or(Dtype::F32),
    })
}

/// A problem, and the outputs as they were described: a problem's own tensors have N = 1 where the caller's have no N.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) problem: Problem,
    pub(crate) outputs: Vec<(Tensor, TensorDesc)>,
}

/// Describes the problem and checks it.
pub(crate) fn problem(attributes: &Attributes, inputs: &Known, contract: &ContractArgs) -> Result<Described, Error> {
    let (product, edition) = (contract.product, contract.edition);
    let (problem, outputs) = match attributes {
        Attributes::GridSampler(attributes) => {
            let desc = grid_sampler(attributes, inputs)?;
            let problem = grid_sampler_2d_backward::check(&desc, product, edition).map_err(refused)?;
            let outputs = [(Tensor::InputGrad, desc.input_grad), (Tensor::GridGrad, desc.grid_grad)];
            let wanted = outputs.into_iter().filter(|(tensor, _)| problem.slot(*tensor).is_some()).collect();
            (Problem::GridSampler2dBackward(problem), wanted)
        }
        Attributes::MaxUnpool(attributes) => {
            let (tensors, output_size) = max_unpool(attributes, inputs)?;
            let desc = max_unpool2d_backward::Desc { output_size: &output_size, ..tensors };
            let problem = max_unpool2d_backward::check(&desc, product, edition).map_err(refused)?;
            (Problem::MaxUnpool2dBackward(problem), vec![(Tensor::Out, desc.out)])
        }
        Attributes::ReplicationPad(attributes) => {
            let desc = replication_pad(attributes, inputs)?;
            let problem = replication_pad2d_backward::check(&desc, product, edition).map_err(refused)?;
            (Problem::ReplicationPad2dBackward(problem), vec![(Tensor::GradInput, desc.grad_input)])
        }
        Attributes::Im2col(attributes) => {
            let desc = im2col(attributes, inputs)?;
            let problem = im2col_backward::check(&desc, product, edition).map_err(refused)?;
            (Problem::Im2colBackward(problem), vec![(Tensor::Out, desc.out)])
        }
    };
    Ok(Described { problem, outputs })
}

fn refused(error: ContractError) -> Error {
    let status = error.status();
    with_status(error, status)
}

fn with_status(message: impl Display, status: Status) -> Error {
    Error::Unusable(format!("{message} (aclnn status {} {})", status.code(), status.name()))
}

/// Refuses negative sizes of a tensor that nobody has stated, which the check would find in that tensor.
fn not_negative(option: &str, sizes: &[i64]) -> Result<(), Error> {
    match sizes.iter().enumerate().find(|(_, size)| **size < 0) {
        Some((i, size)) => {
            Err(with_status(format_args!("{option}[{i}] is {size}: a size is required"), Status::ParamInvalid))
        }
        None => Ok(()),
    }
}

fn grid_sampler<'a>(attributes: &'a GridSampler, inputs: &Known) -> Result<grid_sampler_2d_backward::Desc<'a>, Error> {
    let input = inputs.or_following(Tensor::Input, None)?;
    let points = inputs.get(Tensor::GradOutput).map(|grad_output| {
        let [n, _, h, w] = first_sizes(&grad_output);
        vec![n, h, w, 2]
    });
    let grid = inputs.or_following(Tensor::Grid, points)?;
    let ([n, c, ..], [_, h, w, _]) = (first_sizes(&input), first_sizes(&grid));
    let grad_output = inputs.or_following(Tensor::GradOutput, Some(vec![n, c, h, w]))?;
    Ok(grid_sampler_2d_backward::Desc {
        grad_output,
        input,
        grid,
        input_grad: input,
        grid_grad: grid,
        interpolation: attributes.interpolation,
        padding_mode: attributes.padding_mode,
        align_corners: attributes.align_corners,
        output_mask: &attributes.output_mask.0,
    })
}

/// The tensors, and the output size apart from them.
fn max_unpool(
    attributes: &MaxUnpool,
    inputs: &Known,
) -> Result<(max_unpool2d_backward::Desc<'static>, Vec<i64>), Error> {
    let size = attributes.output_size.as_ref().map(|size| size.0.clone());
    let self_tensor = inputs.get(Tensor::SelfTensor);
    let indices = inputs.or_following(Tensor::Indices, self_tensor.map(|t| t.shape.as_slice().to_vec()))?;
    if inputs.get(Tensor::GradOutput).is_none() {
        not_negative("output-size", size.as_deref().unwrap_or_default())?;
    }
    let unpooled = size.as_ref().map(|size| with_last(&indices, size));
    if unpooled.is_none() && inputs.get(Tensor::GradOutput).is_none() && matches!(inputs.source, Source::Options(_)) {
        return Err(Error::Usage("--output-size H,W is missing, or --shape grad_output=DIMS".into()));
    }
    let grad_output = inputs.or_following(Tensor::GradOutput, unpooled)?;
    let self_tensor = self_tensor.unwrap_or(TensorDesc { dtype: grad_output.dtype, ..indices });
    let out = TensorDesc { dtype: attributes.out_dtype.unwrap_or(grad_output.dtype), ..self_tensor };
    let output_size = size.unwrap_or_else(|| last_sizes(&grad_output));
    Ok((max_unpool2d_backward::Desc { grad_output, self_tensor, indices, output_size: &[], out }, output_size))
}

fn replication_pad<'a>(
    attributes: &'a ReplicationPad,
    inputs: &Known,
) -> Result<replication_pad2d_backward::Desc<'a>, Error> {
    let padding = &attributes.padding.0;
    let [left, right, top, bottom] = [0, 1, 2, 3].map(|i| padding.get(i).copied().unwrap_or(0));
    let around = [[top, bottom], [left, right]].map(|[a, b]| i128::from(a) + i128::from(b));
    // The tensor that follows from another with so much added to height and width.
    let follows = |tensor: Tensor, like: &TensorDesc, added: [i128; 2]| {
        let last: Vec<_> = last_sizes(like).into_iter().map(i128::from).zip(added).map(|(size, n)| size + n).collect();
        match last.iter().find(|size| **size < 0) {
            Some(size) => {
                let padding = format!("[{left}, {right}, {top}, {bottom}]");
                let message = format!("{tensor} would have a size of {size} with padding {padding}");
                Err(with_status(message, Status::ParamInvalid))
            }
            None => {
                let last: Vec<_> = last.into_iter().map(|size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
                Ok(with_last(like, &last))
            }
        }
    };
    let self_tensor = inputs.get(Tensor::SelfTensor);
    let padded = self_tensor.filter(|_| inputs.get(Tensor::GradOutput).is_none());
    let padded = padded.map(|like| follows(Tensor::GradOutput, &like, around)).transpose()?;
    let grad_output = inputs.or_following(Tensor::GradOutput, padded)?;
    let self_tensor = match self_tensor {
        Some(self_tensor) => self_tensor,
        None => contiguous(grad_output.dtype, &follows(Tensor::SelfTensor, &grad_output, around.map(|n| -n))?)?,
    };
    Ok(replication_pad2d_backward::Desc { grad_output, self_tensor, padding, grad_input: self_tensor })
}

fn im2col<'a>(attributes: &'a Im2col, inputs: &Known) -> Result<im2col_backward::Desc<'a>, Error> {
    let Im2col { input_size, kernel_size, dilation, padding, stride, out_dtype } = attributes;
    let grad_output = inputs.or_following(Tensor::GradOutput, None)?;
    not_negative("input-size", &input_size.0)?;
    // Where the kernel or the rank is wrong the check stops before it looks at out.
    let taps = kernel_size.0.iter().fold(1usize, |n, &k| n.saturating_mul(as_size(k))).max(1);
    let [height, width] = [0, 1].map(|i| input_size.0.get(i).copied().map_or(0, as_size));
    let out = match grad_output.shape.as_slice() {
        [rows, _] => vec![rows / taps, height, width],
        [n, rows, _] => vec![*n, rows / taps, height, width],
        other => other.to_vec(),
    };
    let out = contiguous(out_dtype.unwrap_or(grad_output.dtype), &out)?;
    Ok(im2col_backward::Desc {
        grad_output,
        input_size: &input_size.0,
        kernel_size: &kernel_size.0,
        dilation: &dilation.0,
        padding: &padding.0,
        stride: &stride.0,
        out,
    })
}

fn contiguous(dtype: Dtype, shape: &[usize]) -> Result<TensorDesc, Error> {
    TensorDesc::contiguous(dtype, shape).map_err(|e: TooManyDims| Error::Unusable(e.to_string()))
}

/// The sizes of a tensor with others at the end.
fn with_last(like: &TensorDesc, last: &[i64]) -> Vec<usize> {
    let mut shape = like.shape.as_slice().to_vec();
    for (size, &new) in shape.iter_mut().rev().zip(last.iter().rev()) {
        *size = as_size(new);
    }
    shape
}

/// The first four sizes; 0 where there are fewer, which the check of ranks refuses.
fn first_sizes(desc: &TensorDesc) -> [usize; 4] {
    [0, 1, 2, 3].map(|i| desc.shape.get(i))
}

/// Height and width.
fn last_sizes(desc: &TensorDesc) -> Vec<i64> {
    let shape = desc.shape.as_slice();
    let last = shape.iter().skip(shape.len().saturating_sub(2));
    last.map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect()
}

fn as_size(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}
