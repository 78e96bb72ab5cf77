//! A case as JSON: what a caller would say, the data in bits, and how it was run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ubtile_kernels::Level;
use ubtile_testkit::{Description, Inputs};
use ubtile_tiling::{Dtype, Edition, Operator, PlanOptions, Tensor, TensorDesc};

use super::{Case, Way, bits};

/// The most bytes that the tensors of a case may take: it is to show an error, not to fill a machine.
const MAX_BYTES: usize = 1 << 30;

/// The most cores of a plan.
const MAX_CORES: usize = 1 << 16;

/// A case.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Document {
    operator: String,
    attributes: BTreeMap<String, Vec<i64>>,
    tensors: BTreeMap<String, TensorDocument>,
    way: WayDocument,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct TensorDocument {
    dtype: String,
    shape: Vec<usize>,
    strides: Vec<usize>,
    /// Of what is read, the elements in row-major order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bits: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct WayDocument {
    level: String,
    cores: usize,
    order: u64,
    workspace_limit: Option<usize>,
    local_bytes: Option<usize>,
}

/// The lists of numbers of an operator, in the order in which a [`Description`] has them.
const fn lists(operator: Operator) -> &'static [&'static str] {
    match operator {
        Operator::GridSampler2dBackward => &["interpolation", "padding-mode"],
        Operator::MaxUnpool2dBackward => &["output-size"],
        Operator::ReplicationPad2dBackward => &["padding"],
        Operator::Im2colBackward => &["input-size", "kernel-size", "dilation", "padding", "stride"],
    }
}

/// The tensors of an operator, in the order in which a [`Description`] has them.
const fn tensors(operator: Operator) -> &'static [Tensor] {
    match operator {
        Operator::GridSampler2dBackward => {
            &[Tensor::GradOutput, Tensor::Input, Tensor::Grid, Tensor::InputGrad, Tensor::GridGrad]
        }
        Operator::MaxUnpool2dBackward => &[Tensor::GradOutput, Tensor::SelfTensor, Tensor::Indices, Tensor::Out],
        Operator::ReplicationPad2dBackward => &[Tensor::GradOutput, Tensor::SelfTensor, Tensor::GradInput],
        Operator::Im2colBackward => &[Tensor::GradOutput, Tensor::Out],
    }
}

const ALIGN_CORNERS: &str = "align-corners";
const OUTPUT_MASK: &str = "output-mask";

/// All attributes by their names on the command line; 1 is true.
pub(crate) fn attributes(description: &Description) -> BTreeMap<String, Vec<i64>> {
    let names = lists(description.operator).iter().map(|&name| name.to_owned());
    let mut attributes: BTreeMap<_, _> = names.zip(description.attributes.iter().cloned()).collect();
    if description.operator == Operator::GridSampler2dBackward {
        attributes.insert(ALIGN_CORNERS.into(), vec![description.align_corners.into()]);
        attributes.insert(OUTPUT_MASK.into(), description.output_mask.iter().map(|&wanted| wanted.into()).collect());
    }
    attributes
}

impl Document {
    pub(super) fn new(case: &Case) -> Self {
        let Case { description, inputs, way, .. } = case;
        let data = inputs.tensors();
        let tensors = description.tensors.iter().map(|(tensor, desc)| {
            let bits = data.iter().find(|(name, _)| name == tensor).map(|(_, data)| bits::write(data));
            let [shape, strides] = [desc.shape, desc.strides].map(|dims| dims.as_slice().to_vec());
            (tensor.name().to_owned(), TensorDocument { dtype: desc.dtype.name().to_owned(), shape, strides, bits })
        });
        Self {
            operator: description.operator.name().to_owned(),
            attributes: attributes(description),
            tensors: tensors.collect(),
            way: WayDocument {
                level: way.level.name().to_owned(),
                cores: way.cores,
                order: way.order,
                workspace_limit: way.options.workspace_limit,
                local_bytes: way.options.local_bytes,
            },
        }
    }

    /// The name of the operator.
    pub(super) fn operator(&self) -> &str {
        &self.operator
    }

    /// The case.
    pub(super) fn case(&self) -> Result<Case, String> {
        let description = self.description()?;
        let problem = description.check(None, Edition::Any).map_err(|e| e.to_string())?;
        let bytes = problem.tensors().try_fold(0usize, |sum, slot| {
            slot.span.checked_mul(slot.dtype.size()).and_then(|bytes| sum.checked_add(bytes))
        });
        let elements = problem.tensors().map(|slot| slot.shape.numel().unwrap_or(usize::MAX)).max();
        if bytes.is_none_or(|bytes| bytes > MAX_BYTES) || elements > Some(MAX_BYTES) {
            return Err(format!("takes more than {MAX_BYTES} bytes, or repeats so many elements"));
        }
        let inputs = Inputs::try_new(&problem, |slot| {
            let name = slot.tensor.name();
            let text = self.tensors.get(name).and_then(|tensor| tensor.bits.as_deref());
            let desc = TensorDesc { dtype: slot.dtype, shape: slot.shape, strides: slot.strides };
            bits::read(desc, text.ok_or(format!("{name} has no bits"))?).map_err(|e| format!("{name} {e}"))
        })?;
        Ok(Case { description, problem, inputs, way: self.way()? })
    }

    fn description(&self) -> Result<Description, String> {
        let operator = Operator::from_name(&self.operator).ok_or(format!("'{}' is no operator", self.operator))?;
        let attribute = |name: &str| {
            self.attributes.get(name).cloned().ok_or_else(|| format!("has no attribute '{name}' of {operator}"))
        };
        let tensor = |tensor: Tensor| {
            let name = tensor.name();
            let TensorDocument { dtype, shape, strides, .. } =
                self.tensors.get(name).ok_or_else(|| format!("has no tensor '{name}' of {operator}"))?;
            let dtype = Dtype::from_name(dtype).ok_or_else(|| format!("{name} has the unknown dtype '{dtype}'"))?;
            let desc = TensorDesc::strided(dtype, shape, strides).map_err(|e| format!("{name} cannot be used: {e}"))?;
            Ok::<_, String>((tensor, desc))
        };
        let grid = operator == Operator::GridSampler2dBackward;
        let flags = |name: &str| {
            Ok::<Vec<bool>, String>(if grid { attribute(name)?.iter().map(|&n| n != 0).collect() } else { Vec::new() })
        };
        Ok(Description {
            operator,
            tensors: tensors(operator).iter().map(|&name| tensor(name)).collect::<Result<_, _>>()?,
            attributes: lists(operator).iter().map(|name| attribute(name)).collect::<Result<_, _>>()?,
            align_corners: flags(ALIGN_CORNERS)?.contains(&true),
            output_mask: flags(OUTPUT_MASK)?,
        })
    }

    fn way(&self) -> Result<Way, String> {
        let WayDocument { level, cores, order, workspace_limit, local_bytes } = &self.way;
        // Of a level that this machine lacks, the fastest it has: all give the same bits.
        let level = match Level::from_name(level) {
            Some(level) => level,
            None if Level::NAMES.contains(&level.as_str()) => Level::detect(),
            None => return Err(format!("'{level}' is no level")),
        };
        if *cores > MAX_CORES {
            return Err(format!("is for {cores} cores: at most {MAX_CORES} are planned for"));
        }
        let options = PlanOptions { workspace_limit: *workspace_limit, local_bytes: *local_bytes };
        Ok(Way { level, cores: *cores, order: *order, options })
    }
}
