//! An operator's call: its tensors in device memory, its lists, and phase 1.

use arbitrary::{Result, Unstructured};
use ubtile_testkit::problems::POISON;
use ubtile_testkit::{Coordinates, Data, Description, Fill, IndexFill, Inputs, Kinds, Rng, bits_equal};
use ubtile_tiling::{Edition, Operator, Problem, Product, Tensor, TensorDesc};

use super::session::Session;
use super::step::Kind;
use super::{
    FORMAT_ND, Handle, TO_DEVICE, TO_HOST, aclCreateBoolArray, aclCreateIntArray, aclCreateTensor,
    aclnnGridSampler2DBackwardGetWorkspaceSize, aclnnIm2colBackwardGetWorkspaceSize,
    aclnnMaxUnpool2dBackwardGetWorkspaceSize, aclnnReplicationPad2dBackwardGetWorkspaceSize, aclrtMemcpy, says,
};
use crate::generate::{Scale, sensible, spoil};
use crate::run::{Setup, plainly};

/// Of a tensor.
const MOST_BYTES: usize = 1 << 16;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    description: Description,
    kinds: Kinds,
    setup: Setup,
}

impl Request {
    /// Most often one that is supported.
    pub fn new(u: &mut Unstructured<'_>) -> Result<Self> {
        let operator = *u.choose(&Operator::ALL)?;
        let (values, coordinates) = (*u.choose(&Fill::ALL)?, *u.choose(&Coordinates::ALL)?);
        let indices = *u.choose(&[IndexFill::Permutation, IndexFill::Duplicates])?;
        let setup = Setup::new(u)?;
        let mut description = sensible(u, operator, Scale::Small)?;
        if u.ratio(1, 8)? {
            spoil(u, &mut description)?;
            // A client cannot give a tensor strides of another number than dimensions.
            for (_, desc) in &mut description.tensors {
                let mut strides = desc.strides.as_slice().to_vec();
                strides.resize(desc.shape.rank(), 1);
                *desc = TensorDesc::strided(desc.dtype, desc.shape.as_slice(), &strides).expect("of that rank");
            }
        }
        Ok(Self { description, kinds: Kinds { values, coordinates, indices }, setup })
    }

    /// What phase 1 says of it, on the product that the library stands for.
    fn check(&self) -> std::result::Result<Problem, i32> {
        let checked = self.description.check(Some(Product::AtlasA2), Edition::Any);
        checked.map_err(|error| error.status().code())
    }
}

/// The handles of a call, with the memory that its tensors lie in.
#[derive(Clone, Debug)]
pub struct Call {
    /// What it is a call of.
    pub operator: Operator,
    /// Kinds and handles in the order in which phase 1 looks at them.
    pub handles: Vec<(Kind, Handle)>,
    /// Bytes and address of each tensor that a kernel uses.
    pub memory: Vec<(Tensor, Handle, usize)>,
    /// What phase 1 says.
    pub checked: std::result::Result<Problem, i32>,
    numbers: [i64; 2],
    align_corners: bool,
    data: Option<(Inputs, Vec<(Tensor, Data)>)>,
}

impl Call {
    /// Makes all that a call needs; `None` without a device, and for a call that would take long.
    pub fn new(request: &Request, session: &mut Session) -> Option<Self> {
        let Request { description, kinds, setup } = request;
        let checked = request.check();
        let bytes_of = |desc: &TensorDesc| desc.span().and_then(|span| span.checked_mul(desc.dtype.size()));
        // What is not refused is small enough to be computed.
        if checked.is_ok() && description.tensors.iter().any(|(_, desc)| bytes_of(desc).is_none_or(|n| n > MOST_BYTES))
        {
            return None;
        }
        let data = checked.ok().and_then(|problem| {
            let inputs = Inputs::random(&problem, *kinds, &mut Rng::new(setup.seed));
            let outputs = plainly(&problem, setup, &inputs).ok()?;
            Some((inputs, outputs))
        });
        let mut memory = Vec::new();
        let mut tensors = Vec::new();
        for (tensor, desc) in &description.tensors {
            let bytes = bytes_of(desc).map_or(0, |bytes| bytes.min(MOST_BYTES));
            let address = session.malloc(bytes.max(1))?;
            let input = data.as_ref().and_then(|(inputs, _)| {
                inputs.tensors().into_iter().find(|(name, _)| name == tensor).map(|(_, data)| data.bytes().to_vec())
            });
            write(address, &input.unwrap_or_else(|| vec![POISON; bytes]));
            let handle = tensor_of(desc, address);
            // A description that makes no sense is refused.
            session.made(Kind::Tensor, handle);
            tensors.push((Kind::Tensor, handle));
            memory.push((*tensor, address, bytes));
        }
        let lists: Vec<_> = match description.operator {
            Operator::GridSampler2dBackward => {
                let mask = &description.output_mask;
                // SAFETY: so many values.
                vec![(Kind::Bools, unsafe { aclCreateBoolArray(mask.as_ptr(), mask.len() as u64) })]
            }
            _ => {
                // SAFETY: so many values.
                let list = |values: &Vec<i64>| unsafe { aclCreateIntArray(values.as_ptr(), values.len() as u64) };
                description.attributes.iter().map(|values| (Kind::Ints, list(values))).collect()
            }
        };
        lists.iter().for_each(|(kind, handle)| session.made(*kind, *handle));
        let number = |i: usize| description.attributes.get(i).and_then(|list| list.first()).copied().unwrap_or(0);
        // Phase 1 looks at the last tensor last, except that the mask comes behind it.
        if description.operator == Operator::GridSampler2dBackward {
            tensors.extend(lists);
        } else {
            let before_last =
                if description.operator == Operator::ReplicationPad2dBackward { 2 } else { tensors.len() - 1 };
            tensors.splice(before_last..before_last, lists);
        }
        Some(Self {
            operator: description.operator,
            handles: tensors,
            memory,
            checked,
            numbers: [number(0), number(1)],
            align_corners: description.align_corners,
            data,
        })
    }

    /// Phase 1 with these handles: status, bytes of workspace and executor.
    #[must_use]
    pub fn phase_1(&self, handles: &[(Kind, Handle)]) -> (i32, u64, Handle) {
        let (mut bytes, mut executor) = (u64::MAX, 0);
        let ([a, b], align) = (self.numbers, self.align_corners);
        let h = |i: usize| handles[i].1;
        // SAFETY: any handles are allowed; the last two are places for results.
        let status = unsafe {
            let (bytes, executor) = (&raw mut bytes, &raw mut executor);
            match self.operator {
                Operator::GridSampler2dBackward => aclnnGridSampler2DBackwardGetWorkspaceSize(
                    h(0),
                    h(1),
                    h(2),
                    a,
                    b,
                    align,
                    h(5),
                    h(3),
                    h(4),
                    bytes,
                    executor,
                ),
                Operator::MaxUnpool2dBackward => {
                    aclnnMaxUnpool2dBackwardGetWorkspaceSize(h(0), h(1), h(2), h(3), h(4), bytes, executor)
                }
                Operator::ReplicationPad2dBackward => {
                    aclnnReplicationPad2dBackwardGetWorkspaceSize(h(0), h(1), h(2), h(3), bytes, executor)
                }
                Operator::Im2colBackward => {
                    aclnnIm2colBackwardGetWorkspaceSize(h(0), h(1), h(2), h(3), h(4), h(5), h(6), bytes, executor)
                }
            }
        };
        assert_eq!(status == 0, executor != 0, "an executor without success, or the other way round");
        (status, bytes, executor)
    }

    /// The outputs are those of the kernels, or untouched where there is nothing to do.
    pub fn judge(&self) {
        let (Ok(problem), Some((_, outputs))) = (self.checked, &self.data) else { return };
        for (tensor, address, bytes) in &self.memory {
            let Some((_, plain)) = outputs.iter().find(|(name, _)| name == tensor) else { continue };
            let mut got = Data::filled(*plain.desc(), 0);
            assert_eq!(got.bytes().len(), *bytes);
            read(*address, got.bytes_mut());
            if problem.early_success().is_some() {
                assert!(got.bytes().iter().all(|&byte| byte == POISON), "{tensor} of an early success is written to");
            } else if let Err(difference) = bits_equal(&got, plain) {
                panic!("{tensor} is not what the kernels give: {difference}");
            } else {
                assert!(got.gaps_hold(POISON), "{tensor} is written to between its elements");
            }
        }
    }
}

fn tensor_of(desc: &TensorDesc, address: Handle) -> Handle {
    let [shape, strides] = [desc.shape, desc.strides]
        .map(|dims| dims.as_slice().iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect::<Vec<_>>());
    let (rank, dtype) = (shape.len() as u64, desc.dtype.acl());
    // SAFETY: as many numbers as there are dimensions.
    unsafe {
        aclCreateTensor(shape.as_ptr(), rank, dtype, strides.as_ptr(), 0, FORMAT_ND, shape.as_ptr(), rank, address)
    }
}

fn write(address: Handle, bytes: &[u8]) {
    // SAFETY: the device's addresses are looked up; the host's memory is a slice.
    let status = unsafe { aclrtMemcpy(address as *mut u8, bytes.len(), bytes.as_ptr(), bytes.len(), TO_DEVICE) };
    says(status, &[0], "aclrtMemcpy to the device");
}

fn read(address: Handle, bytes: &mut [u8]) {
    let from = address as *const u8;
    // SAFETY: the same.
    let status = unsafe { aclrtMemcpy(bytes.as_mut_ptr(), bytes.len(), from, bytes.len(), TO_HOST) };
    says(status, &[0], "aclrtMemcpy to the host");
}
