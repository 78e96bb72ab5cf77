//! The command line that says what a row of the list does.

use ubtile_tiling::{Dtype, Operator};

use super::grid_sampler::{Order, output_mask};

/// Which gradients the grid sampler writes.
const MASK: &str = "--output-mask";

/// What of a row says how the operator is called.
pub(super) struct Row {
    /// The operator, or the kernel that does its work.
    pub(super) kind: String,
    pub(super) inputs: Vec<Vec<usize>>,
    pub(super) dtypes: Vec<String>,
    pub(super) outputs: Vec<Vec<usize>>,
    /// Of the first output.
    pub(super) output_dtype: Option<String>,
    pub(super) attributes: Vec<String>,
}

/// What a row says beside its dtypes and attributes.
#[derive(Default)]
struct Said {
    /// Names and shapes of tensors.
    shapes: Vec<(&'static str, Vec<usize>)>,
    /// Inputs behind the first one, whose dtypes may be others: their names, and where they are.
    others: Vec<(&'static str, usize)>,
    /// Options that follow from the shapes.
    derived: Vec<String>,
    /// What it does not say.
    assumed: Vec<String>,
}

impl Row {
    /// The command line that says the same, and what it assumes.
    pub(super) fn words(&self, operator: Operator) -> Result<(Vec<String>, Vec<String>), String> {
        let Said { shapes, others, mut derived, assumed } = match operator {
            Operator::GridSampler2dBackward => self.grid_sampler()?,
            Operator::MaxUnpool2dBackward => self.max_unpool()?,
            Operator::ReplicationPad2dBackward => self.replication_pad()?,
            Operator::Im2colBackward => self.im2col()?,
        };
        let mut words: Vec<String> = ["ubtile", "plan", operator.name()].map(String::from).into();
        for (name, shape) in shapes {
            let sizes: Vec<_> = shape.iter().map(usize::to_string).collect();
            words.extend(["--shape".to_owned(), format!("{name}={}", sizes.join(","))]);
        }
        let of_all = dtype(self.dtypes.first().map(String::as_str).unwrap_or_default())?;
        words.extend(["--dtype".to_owned(), of_all.name().to_owned()]);
        for (name, at) in others {
            let Some(text) = self.dtypes.get(at).filter(|text| !text.is_empty()) else { continue };
            let own = dtype(text)?;
            if own != of_all || name == "indices" {
                words.extend(["--dtype".to_owned(), format!("{name}={}", own.name())]);
            }
        }
        let output = self.output_dtype.as_deref().map(dtype).transpose()?.filter(|output| *output != of_all);
        if let Some(output) = output.filter(|_| !self.has("--out-dtype")) {
            match operator {
                Operator::MaxUnpool2dBackward | Operator::Im2colBackward => {
                    derived.extend(["--out-dtype".to_owned(), output.name().to_owned()]);
                }
                _ => return Err(format!("the output is {output}: {of_all} is required, as the first input is")),
            }
        }
        words.extend(derived);
        words.extend(self.attributes.iter().cloned());
        Ok((words, assumed))
    }

    fn grid_sampler(&self) -> Result<Said, String> {
        let (gradient, image, grid) = (self.input(0)?, self.input(1)?, self.input(2)?);
        let order = Order::of(gradient, image, grid);
        let [grad_output, input] = [gradient, image].map(|shape| order.channels_first(shape));
        let mut assumed = Vec::new();
        if order == Order::Either {
            assumed.push("channels first: these shapes could have them last, too".into());
        }
        let mask = if self.has(MASK) { None } else { output_mask(&self.outputs, image, grid)? };
        if mask == Some("true,false") && image == grid {
            assumed.push("output-mask true,false: the only output could be grid_grad, too".into());
        }
        let defaults = [
            ("--interpolation", "bilinear"),
            ("--padding-mode", "zeros"),
            ("--align-corners", "align-corners false"),
            (MASK, "output-mask true,true"),
        ];
        assumed.extend(self.unsaid(defaults.iter().filter(|(option, _)| *option != MASK || mask.is_none())));
        Ok(Said {
            shapes: vec![("grad_output", grad_output), ("input", input), ("grid", grid.to_vec())],
            others: vec![("input", 1), ("grid", 2)],
            derived: mask.into_iter().flat_map(|mask| [MASK, mask]).map(String::from).collect(),
            assumed,
        })
    }

    fn max_unpool(&self) -> Result<Said, String> {
        let of_call = self.kind != "GatherElements" && self.kind != "GatherElementsV2";
        let at = if of_call && self.inputs.len() > 2 { 2 } else { 1 };
        // A kernel gathers from planes that are flattened.
        let flat = |shape: &[usize]| match *shape {
            [n, c, plane] if !of_call => vec![n, c, 1, plane],
            _ => shape.to_vec(),
        };
        let shapes = vec![("grad_output", flat(self.input(0)?)), ("indices", flat(self.input(at)?))];
        Ok(Said { shapes, others: vec![("indices", at)], ..Said::default() })
    }

    fn replication_pad(&self) -> Result<Said, String> {
        let padded = self.input(0)?;
        let mut said = Said { shapes: vec![("grad_output", padded.to_vec())], ..Said::default() };
        if self.has("--padding") {
            return Ok(said);
        }
        let image = self.outputs.first().filter(|shape| shape.len() == padded.len());
        let image =
            image.ok_or("the padding does not follow without output shapes: add --padding to a column Attributes")?;
        let sizes = padded.split_last_chunk::<2>().zip(image.split_last_chunk::<2>());
        if sizes.is_some_and(|((padded, _), (image, _))| padded != image) {
            return Err("the output has other images or channels than the input".into());
        }
        let added = |padded: usize, own: usize| Some(i64::try_from(padded).ok()? - i64::try_from(own).ok()?);
        let added =
            sizes.and_then(|((_, padded), (_, own))| Some([added(padded[0], own[0])?, added(padded[1], own[1])?]));
        let [height, width] = added.ok_or("the padding does not follow from these shapes")?;
        let padding = format!("{},{},{},{}", width / 2, width - width / 2, height / 2, height - height / 2);
        said.assumed.push(format!("padding {padding}, as only the sums of both sides follow from the shapes"));
        said.derived.extend(["--padding".to_owned(), padding]);
        Ok(said)
    }

    fn im2col(&self) -> Result<Said, String> {
        let missing: Vec<_> = ["--input-size", "--kernel-size"].into_iter().filter(|name| !self.has(name)).collect();
        if !missing.is_empty() {
            return Err(format!("the list does not say {}: add a column Attributes", missing.join(" ")));
        }
        let shape = match *self.input(0)? {
            // NC1HWC0.
            [n, blocks, taps, columns, block] => {
                let rows = blocks.checked_mul(block).and_then(|channels| channels.checked_mul(taps));
                vec![n, rows.ok_or_else(|| format!("{blocks} x {block} x {taps} rows are too many"))?, columns]
            }
            ref other => other.to_vec(),
        };
        let defaults = [("--dilation", "dilation 1,1"), ("--padding", "padding 0,0"), ("--stride", "stride 1,1")];
        let assumed = self.unsaid(defaults.iter()).into_iter().collect();
        Ok(Said { shapes: vec![("grad_output", shape)], assumed, ..Said::default() })
    }

    /// The shape of an input.
    fn input(&self, i: usize) -> Result<&[usize], String> {
        self.inputs.get(i).map(Vec::as_slice).ok_or_else(|| format!("input {i} has no shape"))
    }

    /// Whether the attributes have an option.
    fn has(&self, option: &str) -> bool {
        self.attributes.iter().any(|word| word.split('=').next() == Some(option))
    }

    /// What of some options the attributes do not say, and what they are then, if any.
    fn unsaid<'a>(&self, defaults: impl Iterator<Item = &'a (&'a str, &'a str)>) -> Option<String> {
        let missing: Vec<_> = defaults.filter(|(option, _)| !self.has(option)).map(|(_, value)| *value).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }
}

/// A dtype as profilers write it.
fn dtype(text: &str) -> Result<Dtype, String> {
    known_dtype(text).ok_or_else(|| format!("'{text}' is no dtype of these operators"))
}

fn known_dtype(text: &str) -> Option<Dtype> {
    let name = text.trim().trim_start_matches("DT_").to_ascii_lowercase();
    Some(match name.as_str() {
        "float" | "float32" => Dtype::F32,
        "float16" | "half" => Dtype::F16,
        "bfloat16" => Dtype::Bf16,
        "double" | "float64" => Dtype::F64,
        "int8" => Dtype::I8,
        "uint8" => Dtype::U8,
        "int16" => Dtype::I16,
        "int32" => Dtype::I32,
        "int64" => Dtype::I64,
        "complex64" => Dtype::C64,
        "complex128" => Dtype::C128,
        other => return Dtype::from_name(other),
    })
}
