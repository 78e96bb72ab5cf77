//! A kernel of a shared library, called by the signature of `cli/kernel/ubtile_kernel.h`. This is the process that may crash.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error as _;
use std::ffi::{CString, c_char, c_void};
use std::io::{self, BufRead, Write, stdin, stdout};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::{process, thread};

use libloading::Library;
use serde::{Deserialize, Serialize};
use ubtile_testkit::Data;
use ubtile_testkit::problems::{POISON, output};
use ubtile_tiling::{Dtype, TensorSlot};

use super::document::{Document, attributes};
use super::{Case, bits};
use crate::error::Error;

/// The name of the function.
const SYMBOL: &str = "ubtile_kernel";

/// Bytes before and behind each tensor whose change is noticed.
const GUARD: usize = 4096;

/// Alignment of a tensor in bytes.
const ALIGN: usize = 64;

/// What is in front of an answer: the kernel may print too.
pub(super) const ANSWER: &str = "ubtile-answer:";

/// What this process says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The library has the function.
    Ready,
    /// It has not, or is none.
    NoKernel(String),
    /// The function has returned.
    Returned {
        status: i32,
        /// The whole of each output's memory, gaps included, two hexadecimal digits a byte.
        outputs: BTreeMap<String, String>,
        /// What it wrote to beside its outputs.
        outside: Option<String>,
    },
}

/// `ubtile_tensor`.
#[repr(C)]
struct CTensor {
    name: *const c_char,
    dtype: i32,
    rank: i32,
    shape: *const i64,
    strides: *const i64,
    data: *mut c_void,
}

/// `ubtile_attribute`.
#[repr(C)]
struct CAttribute {
    name: *const c_char,
    count: i32,
    values: *const i64,
}

/// `ubtile_call`.
#[repr(C)]
struct CCall {
    operator_name: *const c_char,
    input_count: i32,
    inputs: *const CTensor,
    output_count: i32,
    outputs: *const CTensor,
    attribute_count: i32,
    attributes: *const CAttribute,
}

type Kernel = unsafe extern "C" fn(*const CCall) -> i32;

/// Calls the library's kernel with each case that comes in as a line, until stdin ends.
pub(crate) fn serve(path: &Path) -> Result<(), Error> {
    // A name without a folder would be looked for among the system's libraries.
    let path = std::path::absolute(path).map_err(|e| Error::file(path, e))?;
    // SAFETY: what the library runs when it is loaded is its author's business, as is all that its kernel does: it is why this
    // process does nothing else.
    let library = match unsafe { Library::new(&path) } {
        Ok(library) => library,
        Err(e) => {
            // The loader's own words are behind the error, and say what it looked for.
            let cause = e.source().map_or_else(|| e.to_string(), ToString::to_string);
            return answer(&Answer::NoKernel(format!("cannot be loaded ({cause})")));
        }
    };
    // SAFETY: the header states the signature of the function of that name.
    let kernel = match unsafe { library.get::<Kernel>(SYMBOL) } {
        Ok(kernel) => kernel,
        Err(_) => return answer(&Answer::NoKernel(format!("exports no function {SYMBOL}"))),
    };
    let lines = lines();
    answer(&Answer::Ready)?;
    for line in lines {
        let line = line.map_err(broken)?;
        let document: Document = serde_json::from_str(&line).map_err(broken)?;
        answer(&call(*kernel, &document.case().map_err(broken)?))?;
    }
    Ok(())
}

/// The lines of stdin. Where that ends, so does this process, even if the kernel never returns: whoever would take its answer has
/// ended, by whatever signal.
fn lines() -> Receiver<io::Result<String>> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        // The receiver lives as long as the process.
        stdin().lock().lines().for_each(|line| _ = send.send(line));
        process::exit(0);
    });
    lines
}

fn broken(e: impl std::fmt::Display) -> Error {
    Error::Unusable(format!("a case cannot be read ({e})"))
}

fn answer(answer: &Answer) -> Result<(), Error> {
    let json = serde_json::to_string(answer).map_err(broken)?;
    let mut stdout = stdout().lock();
    // What the kernel printed may not have ended its line.
    let line = format!("\n{ANSWER}{json}\n");
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).map_err(broken)
}

/// A tensor in memory that shows what was done to it.
struct Guarded {
    slot: TensorSlot,
    name: CString,
    shape: Vec<i64>,
    strides: Vec<i64>,
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Guarded {
    fn new(slot: TensorSlot, data: &Data) -> Self {
        let len = data.bytes().len();
        let mut bytes = vec![POISON; GUARD + ALIGN + len + GUARD];
        let start = GUARD + bytes.as_ptr().wrapping_add(GUARD).align_offset(ALIGN);
        if let Some(to) = bytes.get_mut(start..start + len) {
            to.copy_from_slice(data.bytes());
        }
        let [shape, strides] =
            [slot.shape, slot.strides].map(|dims| dims.as_slice().iter().map(|&n| n as i64).collect());
        Self { slot, name: c_string(slot.tensor.name()), shape, strides, bytes, start, len }
    }

    fn data(&self) -> &[u8] {
        self.bytes.get(self.start..self.start + self.len).unwrap_or_default()
    }

    /// Whether the bytes around the tensor are as they were.
    fn guards_hold(&self) -> bool {
        let (before, rest) = self.bytes.split_at(self.start);
        before.iter().chain(rest.iter().skip(self.len)).all(|&byte| byte == POISON)
    }

    fn c_tensor(&mut self) -> CTensor {
        CTensor {
            name: self.name.as_ptr(),
            dtype: acl_data_type(self.slot.dtype),
            rank: self.shape.len() as i32,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            // The pointer is of the whole allocation, so that the guards may be written to as well.
            data: self.bytes.as_mut_ptr().wrapping_add(self.start).cast(),
        }
    }
}

/// The names that the header's callers use have no zero byte.
fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

fn call(kernel: Kernel, case: &Case) -> Answer {
    let tensors = case.inputs.tensors();
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for slot in case.problem.tensors() {
        if slot.output {
            outputs.push(Guarded::new(slot, &output(Some(slot))));
        } else if let Some((_, data)) = tensors.iter().find(|(tensor, _)| *tensor == slot.tensor) {
            inputs.push(Guarded::new(slot, data));
        }
    }
    let before: Vec<_> = inputs.iter().map(|input| input.data().to_vec()).collect();
    let operator_name = c_string(case.problem.operator().name());
    let attributes: Vec<_> =
        attributes(&case.description).into_iter().map(|(name, values)| (c_string(&name), values)).collect();
    let c_attribute = |(name, values): &(CString, Vec<i64>)| CAttribute {
        name: name.as_ptr(),
        count: values.len() as i32,
        values: values.as_ptr(),
    };
    let c_attributes: Vec<_> = attributes.iter().map(c_attribute).collect();
    let c_inputs: Vec<_> = inputs.iter_mut().map(Guarded::c_tensor).collect();
    let c_outputs: Vec<_> = outputs.iter_mut().map(Guarded::c_tensor).collect();
    let call = CCall {
        operator_name: operator_name.as_ptr(),
        input_count: c_inputs.len() as i32,
        inputs: c_inputs.as_ptr(),
        output_count: c_outputs.len() as i32,
        outputs: c_outputs.as_ptr(),
        attribute_count: c_attributes.len() as i32,
        attributes: c_attributes.as_ptr(),
    };
    // SAFETY: the pointers are of live allocations with as many elements as stated beside them. That the function keeps to them
    // is what is being found out: should it not, this process may end, which its parent notices.
    let status = unsafe { kernel(&raw const call) };
    let changed = inputs.iter().zip(&before).find(|(input, before)| input.data() != **before);
    let around = inputs.iter().chain(&outputs).find(|tensor| !tensor.guards_hold());
    let outside = match (changed, around) {
        (Some((input, _)), _) => Some(format!("the input {} is written to", input.slot.tensor)),
        (None, Some(tensor)) => Some(format!("memory before or behind {} is written to", tensor.slot.tensor)),
        (None, None) => None,
    };
    let hex = |tensor: &Guarded| (tensor.slot.tensor.name().to_owned(), bits::write_bytes(tensor.data()));
    Answer::Returned { status, outputs: outputs.iter().map(hex).collect(), outside }
}

/// The vendor's number of a dtype.
const fn acl_data_type(dtype: Dtype) -> i32 {
    match dtype {
        Dtype::F32 => 0,
        Dtype::F16 => 1,
        Dtype::I8 => 2,
        Dtype::I32 => 3,
        Dtype::U8 => 4,
        Dtype::I16 => 6,
        Dtype::I64 => 9,
        Dtype::F64 => 11,
        Dtype::Bool => 12,
        Dtype::C64 => 16,
        Dtype::C128 => 17,
        Dtype::Bf16 => 27,
    }
}
