//! What the command prints as JSON, against the schemas that it prints; and what does not follow them.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use ubtile_testkit::Data;
use ubtile_tiling::{Dtype, TensorDesc};

use super::fuzz::{finds, folder as with_wrong_kernel};
use super::{files, ok, output};

const PAD: &str = "replication-pad2d-backward --shape grad_output=1,8,8 --padding 1,1,1,1";

/// Every object may only have the keys that its schema describes.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(of) => {
            if of.contains_key("properties") && !of.contains_key("additionalProperties") {
                of.insert("additionalProperties".into(), false.into());
            }
            of.values_mut().for_each(close);
        }
        Value::Array(of) => of.iter_mut().for_each(close),
        _ => {}
    }
}

fn schema(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&ok(folder, &format!("schema {name}"))).unwrap()
}

/// Says no to documents with keys that are not described.
fn strict(folder: &Path, name: &str) -> Validator {
    let mut schema = schema(folder, name);
    close(&mut schema);
    jsonschema::draft202012::new(&schema).unwrap()
}

fn problems(validator: &Validator, document: &Value) -> Vec<String> {
    validator.iter_errors(document).map(|error| format!("{error} at {}", error.instance_path())).collect()
}

/// A document follows its schema, and with a key less or another type it does not.
fn follows(folder: &Path, name: &str, document: &Value) {
    let validator = strict(folder, name);
    assert_eq!(problems(&validator, document), Vec::<String>::new(), "{name}: {document:#}");
    let one = if document.is_array() { &document[0] } else { document };
    assert_eq!(one["schema"], format!("ubtile.{name}.v1"));
    let object: &Map<String, Value> = one.as_object().unwrap();
    for key in object.keys() {
        let mut less = object.clone();
        let value = less.remove(key).unwrap();
        let required = !validator.is_valid(&Value::Object(less.clone()));
        // These are there where there is something to say.
        let optional = ["vary", "time_ms"].contains(&key.as_str()) || (name == "sim" && object.contains_key("task_us"));
        assert!(required || optional, "{name}: {key} may be left out");
        // No key has booleans and numbers, or arrays and texts.
        let other = if value.is_boolean() { json!(1.5) } else { json!(true) };
        less.insert(key.clone(), other);
        assert!(!validator.is_valid(&Value::Object(less)), "{name}: {key} may be anything");
    }
    let mut more = object.clone();
    more.insert("more".into(), 1.into());
    assert!(!validator.is_valid(&Value::Object(more)), "{name}");
}

/// What a command prints, whatever its exit code.
fn document(folder: &Path, args: &str) -> Value {
    let output = output(folder, &format!("{args} --format json"));
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args}: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn documents_follow_their_schemas() {
    let folder = with_wrong_kernel();
    let folder = folder.path();
    let list = "Op Name,OP Type,Input Shapes,Input Data Types\na,MaxUnpool2dBackward,\"1,1,2,2;1,1,4,4;1,1,2,2\",FLOAT;FLOAT;INT64\nb,Im2colBackward,\"1,4,9\",FLOAT\n";
    fs::write(folder.join("calls.csv"), list).unwrap();
    let program = "cores 2\nub a: 256\nub b: 256\nadd.f32 a[0], a[0], b[0] repeat 1\n";
    fs::write(folder.join("p.tile"), program).unwrap();
    let data = "in.npz";
    let zeros = Data::filled(TensorDesc::contiguous(Dtype::F32, &[1, 8, 8]).unwrap(), 0);
    files::write(&folder.join(data), &[("grad_output", &zeros)]);
    let mut seen = Vec::new();
    for (name, args) in [
        ("ops", "ops".to_owned()),
        ("products", "products".into()),
        ("product", "products Ascend310P3".into()),
        ("products.comparison", "products Ascend910B1 Ascend910A".into()),
        ("run", format!("run replication-pad2d-backward --in {data} --out out.npz --padding 1,1,1,1")),
        ("run", format!("run replication-pad2d-backward --in {data} --padding 1,1,1,1 --time 1")),
        ("plan", format!("plan {PAD}")),
        ("plan", format!("plan {PAD} --soc Ascend910B1")),
        ("plan", format!("plan {PAD} --product all")),
        ("plan.calls", "plan --calls calls.csv --soc Ascend910B1".into()),
        ("sim", "sim --program p.tile".into()),
        ("sim", "sim --program p.tile --vary clock=1000..1800:400".into()),
        ("sim", format!("sim {PAD}")),
        ("sim", format!("sim {PAD} --dtype f64")),
        ("sim", format!("sim {PAD} --product all")),
        ("sim.values", format!("sim replication-pad2d-backward --in {data} --out out.npz --padding 1,1,1,1")),
        ("disasm", format!("disasm {PAD}")),
        ("sanitize", "sanitize --program p.tile".into()),
        ("fuzz", "fuzz im2col-backward --cases 2".into()),
        ("fuzz.program", "fuzz --program p.tile --cases 1".into()),
        ("schemas", "schema".into()),
        ("tour", String::new()),
    ] {
        follows(folder, name, &document(folder, &args));
        seen.push(name.to_owned());
    }
    let (found, repro) = finds(folder, "im2col-backward --kernel wrong.so");
    follows(folder, "fuzz", &found);
    follows(folder, "repro", &repro);
    follows(folder, "replay", &document(folder, &format!("replay {}", found["repro"].as_str().unwrap())));
    // What nobody has written is read.
    let found = document(folder, "fuzz --program p.tile --cases 1 --output programs");
    let file = found["repro"].as_str().unwrap();
    follows(folder, "fuzz.program", &found);
    follows(folder, "repro.program", &serde_json::from_str(&fs::read_to_string(folder.join(file)).unwrap()).unwrap());
    follows(folder, "replay.program", &document(folder, &format!("replay {file}")));
    for (file, clock) in [("a.json", 1800), ("b.json", 900)] {
        fs::write(folder.join(file), ok(folder, &format!("sim --program p.tile --set clock={clock} --format json")))
            .unwrap();
    }
    follows(folder, "compare", &document(folder, "compare a.json b.json"));
    seen.extend(["repro", "replay", "repro.program", "replay.program", "compare"].map(String::from));

    // No document is left out, and each says what its keys mean.
    let listed = document(folder, "schema");
    for line in listed["schemas"].as_array().unwrap() {
        let name = line["name"].as_str().unwrap();
        assert!(seen.iter().any(|seen| seen == name), "{name}");
        assert_eq!(line["schema"], schema(folder, name)["$id"]);
    }
}
