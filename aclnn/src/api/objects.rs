//! Tensors, scalars, arrays and lists.

use std::ffi::c_void;

use crate::client::{self, Out};
use crate::failure::{Failure, Outcome, code, status, value};
use crate::monitor::Monitor;
use crate::objects::{
    BOOL_ARRAYS, FLOAT_ARRAYS, INT_ARRAYS, SCALAR_LISTS, SCALARS, Scalar, TENSOR_LISTS, TENSORS, Tensor,
};
use crate::registry::Registry;
use crate::shared::Shared;

/// The place for a result.
fn out<T: Copy>(name: &str, place: *mut T) -> Outcome<Out<T>> {
    Out::new(name, place, code::PARAM_NULLPTR)
}

/// An array that the client hands in.
fn array<T: Copy>(name: &str, first: *const T, count: u64) -> Outcome<Vec<T>> {
    client::array(name, first, count, code::PARAM_INVALID)
}

/// A living object.
fn living<T>(registry: &Registry<T>, name: &str, handle: usize) -> Outcome<Shared<T>> {
    registry.get(name, handle, code::PARAM_NULLPTR, code::PARAM_INVALID)
}

/// Ends an object. Null is fine.
fn destroy<T>(function: &str, registry: &Registry<T>, name: &str, handle: usize) -> i32 {
    status(function, || if handle == 0 { Ok(()) } else { registry.remove(name, handle, code::PARAM_INVALID).map(drop) })
}

/// What describes a tensor, as clients hand it in.
struct Description {
    view: (*const i64, u64),
    dtype: i32,
    strides: *const i64,
    offset: i64,
    format: i32,
    storage: (*const i64, u64),
    address: *mut c_void,
}

impl Description {
    fn read(self) -> Outcome<Tensor> {
        let Self { view, dtype, strides, offset, format, storage, address } = self;
        let count = view.1;
        Tensor::check_count("viewDims", count)?;
        Tensor::check_count("storageDims", storage.1)?;
        let view = array("viewDims", view.0, count)?;
        let strides = (!strides.is_null()).then(|| array("stride", strides, count)).transpose()?;
        let storage = array("storageDims", storage.0, storage.1)?;
        Tensor::new(view, strides, storage, [dtype, format], offset, address as usize)
    }
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateTensor(
    viewDims: *const i64,
    viewDimsNum: u64,
    dataType: i32,
    stride: *const i64,
    offset: i64,
    format: i32,
    storageDims: *const i64,
    storageDimsNum: u64,
    tensorData: *mut c_void,
) -> usize {
    let description = Description {
        view: (viewDims, viewDimsNum),
        dtype: dataType,
        strides: stride,
        offset,
        format,
        storage: (storageDims, storageDimsNum),
        address: tensorData,
    };
    value("aclCreateTensor", || Ok(TENSORS.insert(Monitor::new(description.read()?)))).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn aclInitTensor(
    tensor: usize,
    viewDims: *const i64,
    viewDimsNum: u64,
    dataType: i32,
    stride: *const i64,
    offset: i64,
    format: i32,
    storageDims: *const i64,
    storageDimsNum: u64,
    tensorDataAddr: *mut c_void,
) -> i32 {
    let description = Description {
        view: (viewDims, viewDimsNum),
        dtype: dataType,
        strides: stride,
        offset,
        format,
        storage: (storageDims, storageDimsNum),
        address: tensorDataAddr,
    };
    status("aclInitTensor", || {
        let tensor = living(&TENSORS, "tensor", tensor)?;
        *tensor.lock() = description.read()?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyTensor(tensor: usize) -> i32 {
    destroy("aclDestroyTensor", &TENSORS, "tensor", tensor)
}

/// Gives the client a copy of some of a tensor's numbers, for it to free.
fn numbers(
    function: &str,
    tensor: usize,
    [name, count_name]: [&str; 2],
    places: (*mut *mut i64, *mut u64),
    of: impl Fn(&Tensor) -> &[i64],
) -> i32 {
    status(function, || {
        let tensor = living(&TENSORS, "tensor", tensor)?;
        let (place, count) = (out(name, places.0)?, out(count_name, places.1)?);
        let tensor = tensor.lock();
        let values = of(&tensor);
        let none = || Failure::new(code::RT_MEMORY_ALLOCATION, "no host memory for the result");
        place.set(client::new_array(values).ok_or_else(none)?);
        count.set(values.len() as u64);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetViewShape(tensor: usize, viewDims: *mut *mut i64, viewDimsNum: *mut u64) -> i32 {
    numbers("aclGetViewShape", tensor, ["viewDims", "viewDimsNum"], (viewDims, viewDimsNum), |t| &t.view)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetStorageShape(tensor: usize, storageDims: *mut *mut i64, storageDimsNum: *mut u64) -> i32 {
    let names = ["storageDims", "storageDimsNum"];
    numbers("aclGetStorageShape", tensor, names, (storageDims, storageDimsNum), |t| &t.storage)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetViewStrides(tensor: usize, stridesValue: *mut *mut i64, stridesNum: *mut u64) -> i32 {
    let names = ["stridesValue", "stridesNum"];
    numbers("aclGetViewStrides", tensor, names, (stridesValue, stridesNum), |t| &t.strides)
}

/// Gives the client one of a tensor's properties.
fn property<T: Copy>(function: &str, tensor: usize, name: &str, place: *mut T, of: impl Fn(&Tensor) -> T) -> i32 {
    status(function, || {
        let tensor = living(&TENSORS, "tensor", tensor)?;
        let place = out(name, place)?;
        place.set(of(&tensor.lock()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetViewOffset(tensor: usize, offset: *mut i64) -> i32 {
    property("aclGetViewOffset", tensor, "offset", offset, |tensor| tensor.offset)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetFormat(tensor: usize, format: *mut i32) -> i32 {
    property("aclGetFormat", tensor, "format", format, |tensor| tensor.format)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataType(tensor: usize, dataType: *mut i32) -> i32 {
    property("aclGetDataType", tensor, "dataType", dataType, |tensor| tensor.dtype)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetRawTensorAddr(tensor: usize, addr: *mut *mut c_void) -> i32 {
    property("aclGetRawTensorAddr", tensor, "addr", addr, |tensor| tensor.address as *mut c_void)
}

#[unsafe(no_mangle)]
extern "C" fn aclSetRawTensorAddr(tensor: usize, addr: *mut c_void) -> i32 {
    status("aclSetRawTensorAddr", || {
        living(&TENSORS, "tensor", tensor)?.lock().address = addr as usize;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateScalar(address: *mut c_void, dataType: i32) -> usize {
    let create = || {
        let size = Scalar::size_of(dataType)? as u64;
        array("value", address.cast::<u8>().cast_const(), size)?;
        Ok(SCALARS.insert(Scalar))
    };
    value("aclCreateScalar", create).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyScalar(scalar: usize) -> i32 {
    destroy("aclDestroyScalar", &SCALARS, "scalar", scalar)
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateIntArray(values: *const i64, size: u64) -> usize {
    value("aclCreateIntArray", || Ok(INT_ARRAYS.insert(array("value", values, size)?))).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateFloatArray(values: *const f32, size: u64) -> usize {
    value("aclCreateFloatArray", || Ok(FLOAT_ARRAYS.insert(array("value", values, size)?))).unwrap_or(0)
}

/// A `bool` of C that is neither 0 nor 1 is read as true.
#[unsafe(no_mangle)]
extern "C" fn aclCreateBoolArray(values: *const u8, size: u64) -> usize {
    let create = || {
        let values: Vec<bool> = array("value", values, size)?.into_iter().map(|value| value != 0).collect();
        Ok(BOOL_ARRAYS.insert(values))
    };
    value("aclCreateBoolArray", create).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyIntArray(array: usize) -> i32 {
    destroy("aclDestroyIntArray", &INT_ARRAYS, "array", array)
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyFloatArray(array: usize) -> i32 {
    destroy("aclDestroyFloatArray", &FLOAT_ARRAYS, "array", array)
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyBoolArray(array: usize) -> i32 {
    destroy("aclDestroyBoolArray", &BOOL_ARRAYS, "array", array)
}

/// A list of living objects.
fn list<T>(registry: &Registry<T>, values: *const usize, size: u64) -> Outcome<Vec<usize>> {
    let handles = array("value", values, size)?;
    for (i, &handle) in handles.iter().enumerate() {
        living(registry, &format!("value[{i}]"), handle)?;
    }
    Ok(handles)
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateTensorList(values: *const usize, size: u64) -> usize {
    value("aclCreateTensorList", || Ok(TENSOR_LISTS.insert(list(&TENSORS, values, size)?))).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn aclCreateScalarList(values: *const usize, size: u64) -> usize {
    value("aclCreateScalarList", || Ok(SCALAR_LISTS.insert(list(&SCALARS, values, size)?))).unwrap_or(0)
}

/// Ends a list and what is in it, as the vendor's lists own their elements.
fn destroy_list<T>(function: &str, lists: &Registry<Vec<usize>>, registry: &Registry<T>, handle: usize) -> i32 {
    status(function, || {
        if handle == 0 {
            return Ok(());
        }
        for &element in lists.remove("array", handle, code::PARAM_INVALID)?.iter() {
            // One that the client has ended itself is gone.
            let _ = registry.remove("array", element, code::PARAM_INVALID);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyTensorList(array: usize) -> i32 {
    destroy_list("aclDestroyTensorList", &TENSOR_LISTS, &TENSORS, array)
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyScalarList(array: usize) -> i32 {
    destroy_list("aclDestroyScalarList", &SCALAR_LISTS, &SCALARS, array)
}

fn size<T>(function: &str, registry: &Registry<Vec<T>>, name: &str, handle: usize, place: *mut u64) -> i32 {
    status(function, || {
        let values = living(registry, name, handle)?;
        out("size", place)?.set(values.len() as u64);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetIntArraySize(array: usize, count: *mut u64) -> i32 {
    size("aclGetIntArraySize", &INT_ARRAYS, "array", array, count)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetFloatArraySize(array: usize, count: *mut u64) -> i32 {
    size("aclGetFloatArraySize", &FLOAT_ARRAYS, "array", array, count)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetBoolArraySize(array: usize, count: *mut u64) -> i32 {
    size("aclGetBoolArraySize", &BOOL_ARRAYS, "array", array, count)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetTensorListSize(tensorList: usize, count: *mut u64) -> i32 {
    size("aclGetTensorListSize", &TENSOR_LISTS, "tensorList", tensorList, count)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetScalarListSize(scalarList: usize, count: *mut u64) -> i32 {
    size("aclGetScalarListSize", &SCALAR_LISTS, "scalarList", scalarList, count)
}
