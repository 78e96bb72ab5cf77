//! What the contract's tests share: descriptions that are easy to break, and a check that rules hold in order.

use ubtile_tiling::{ContractError, Dtype, Status, TensorDesc};

/// A contiguous tensor.
pub(crate) fn tensor(dtype: Dtype, shape: &[usize]) -> TensorDesc {
    TensorDesc::contiguous(dtype, shape).unwrap()
}

/// Another shape, contiguous, the dtype kept.
pub(crate) fn reshape(desc: &mut TensorDesc, shape: &[usize]) {
    *desc = tensor(desc.dtype, shape);
}

/// Another size in one dimension, contiguous, all else kept.
pub(crate) fn resize(desc: &mut TensorDesc, dim: usize, size: usize) {
    let mut shape = desc.shape.as_slice().to_vec();
    shape[dim] = size;
    reshape(desc, &shape);
}

/// Other strides, all else kept.
pub(crate) fn restride(desc: &mut TensorDesc, strides: &[usize]) {
    *desc = TensorDesc::strided(desc.dtype, desc.shape.as_slice(), strides).unwrap();
}

/// A rule: how to break it, and what is said then.
pub(crate) struct Rule<D> {
    pub(crate) breaks: fn(&mut D),
    pub(crate) says: &'static str,
}

/// Breaks each rule alone, then each with every later one, of which the earlier must be reported: the same words up to the
/// colon (what was found; what is wanted may depend on the other break).
pub(crate) fn rules_hold_in_order<D: Copy>(
    base: D,
    rules: &[Rule<D>],
    check: impl Fn(&D) -> Result<(), ContractError>,
) {
    check(&base).expect("the base is fine");
    let found = |text: &str| text.split(':').next().unwrap().to_owned();
    for (i, rule) in rules.iter().enumerate() {
        let mut desc = base;
        (rule.breaks)(&mut desc);
        let error = check(&desc).expect_err(rule.says);
        assert_eq!(error.to_string(), rule.says);
        assert_eq!(error.status(), Status::ParamInvalid);
        for later in &rules[i + 1..] {
            let mut desc = base;
            (later.breaks)(&mut desc);
            (rule.breaks)(&mut desc);
            let error = check(&desc).expect_err(rule.says).to_string();
            assert_eq!(found(&error), found(rule.says), "with a later break: {}", later.says);
        }
    }
}
