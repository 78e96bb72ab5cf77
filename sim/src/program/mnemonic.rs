//! Names of vector instructions: what it does, details, and the type of the elements, with points between.

use crate::product::{Element, Rounding};

use super::error::rounding_name;
use super::operation::{BinaryOp, Pattern, ReduceOp, ScalarOp, UnaryOp, VectorOp};
use super::scalar::Relation;

/// The name of an instruction, as `cast.f32.f16.plain`: to f32, from f16.
#[must_use]
pub fn of(op: VectorOp) -> String {
    let name = |all: &str, element: Element| format!("{all}.{}", element.name());
    match op {
        VectorOp::Binary(op, e) => name(find(&BinaryOp::ALL, op), e),
        VectorOp::Unary(op, e) => name(find(&UnaryOp::ALL, op), e),
        VectorOp::WithScalar(op, e) => name(find(&ScalarOp::ALL, op), e),
        VectorOp::Duplicate(e) => name("dup", e),
        VectorOp::Index(e) => name("index", e),
        VectorOp::Cast { to, from, rounding } => {
            format!("cast.{}.{}.{}", to.name(), from.name(), rounding_name(rounding))
        }
        VectorOp::Compare(relation, e) => format!("cmp.{}.{}", find(&Relation::ALL, relation), e.name()),
        VectorOp::CompareScalar(relation, e) => format!("cmps.{}.{}", find(&Relation::ALL, relation), e.name()),
        VectorOp::Select(e) => name("sel", e),
        VectorOp::SelectScalar(e) => name("sels", e),
        VectorOp::Reduce(op, e) => format!("reduce.{}.{}", reduction(op), e.name()),
        VectorOp::ReduceBlock(op, e) => format!("reduce_block.{}.{}", reduction(op), e.name()),
        VectorOp::ReducePair(e) => name("reduce_pair.sum", e),
        VectorOp::GatherMask(e, pattern) => {
            let number = Pattern::ALL.iter().position(|p| *p == pattern).map_or(0, |i| i + 1);
            format!("gather_mask.{number}.{}", e.name())
        }
        VectorOp::GatherBits(e) => name("gather_bits", e),
        VectorOp::Broadcast(e) => name("brcb", e),
        VectorOp::Gather(e) => name("gather", e),
        VectorOp::GatherBlocks(e) => name("gather_blocks", e),
        VectorOp::Scatter(e) => name("scatter", e),
    }
}

/// The instruction of that name.
#[must_use]
pub fn parse(text: &str) -> Option<VectorOp> {
    let mut words = text.split('.');
    let mut word = || words.next();
    let first = word()?;
    let op = match first {
        "dup" => VectorOp::Duplicate(element(word()?)?),
        "index" => VectorOp::Index(element(word()?)?),
        "cast" => {
            let (to, from, name) = (element(word()?)?, element(word()?)?, word()?);
            let (rounding, _) = Rounding::ALL.into_iter().find(|(r, _)| rounding_name(*r) == name)?;
            VectorOp::Cast { to, from, rounding }
        }
        "cmp" => VectorOp::Compare(named(&Relation::ALL, word()?)?, element(word()?)?),
        "cmps" => VectorOp::CompareScalar(named(&Relation::ALL, word()?)?, element(word()?)?),
        "sel" => VectorOp::Select(element(word()?)?),
        "sels" => VectorOp::SelectScalar(element(word()?)?),
        "reduce" => VectorOp::Reduce(reduction_named(word()?)?, element(word()?)?),
        "reduce_block" => VectorOp::ReduceBlock(reduction_named(word()?)?, element(word()?)?),
        "reduce_pair" if word()? == "sum" => VectorOp::ReducePair(element(word()?)?),
        "gather_mask" => {
            let number: usize = word()?.parse().ok()?;
            VectorOp::GatherMask(element(word()?)?, *Pattern::ALL.get(number.checked_sub(1)?)?)
        }
        "gather_bits" => VectorOp::GatherBits(element(word()?)?),
        "brcb" => VectorOp::Broadcast(element(word()?)?),
        "gather" => VectorOp::Gather(element(word()?)?),
        "gather_blocks" => VectorOp::GatherBlocks(element(word()?)?),
        "scatter" => VectorOp::Scatter(element(word()?)?),
        _ => {
            let element = element(word()?)?;
            let binary = named(&BinaryOp::ALL, first).map(|op| VectorOp::Binary(op, element));
            let unary = || named(&UnaryOp::ALL, first).map(|op| VectorOp::Unary(op, element));
            let scalar = || named(&ScalarOp::ALL, first).map(|op| VectorOp::WithScalar(op, element));
            binary.or_else(unary).or_else(scalar)?
        }
    };
    words.next().is_none().then_some(op)
}

/// Every vector instruction of every type, those included that no product has.
pub fn all() -> impl Iterator<Item = VectorOp> {
    use VectorOp as V;
    let of_element = |e: Element| {
        let binary = BinaryOp::ALL.into_iter().map(move |(op, ..)| V::Binary(op, e));
        let unary = UnaryOp::ALL.into_iter().map(move |(op, ..)| V::Unary(op, e));
        let scalar = ScalarOp::ALL.into_iter().map(move |(op, ..)| V::WithScalar(op, e));
        let relations = Relation::ALL.into_iter();
        let compare = relations.flat_map(move |(r, ..)| [V::Compare(r, e), V::CompareScalar(r, e)]);
        let reduce = ReduceOp::ALL.into_iter().flat_map(move |(op, ..)| [V::Reduce(op, e), V::ReduceBlock(op, e)]);
        let patterns = Pattern::ALL.into_iter().map(move |pattern| V::GatherMask(e, pattern));
        let modes = move |to| Rounding::ALL.into_iter().map(move |(rounding, _)| V::Cast { to, from: e, rounding });
        let casts = Element::ALL.into_iter().flat_map(move |(to, _)| modes(to));
        let rest = [
            V::Duplicate(e),
            V::Index(e),
            V::Select(e),
            V::SelectScalar(e),
            V::ReducePair(e),
            V::GatherBits(e),
            V::Broadcast(e),
            V::Gather(e),
            V::GatherBlocks(e),
            V::Scatter(e),
        ];
        binary.chain(unary).chain(scalar).chain(compare).chain(reduce).chain(patterns).chain(casts).chain(rest)
    };
    Element::ALL.into_iter().flat_map(move |(e, _)| of_element(e))
}

fn element(name: &str) -> Option<Element> {
    Element::from_name(name)
}

fn named<T: Copy, K>(all: &[(T, &str, K)], name: &str) -> Option<T> {
    all.iter().find(|(_, known, _)| *known == name).map(|(op, ..)| *op)
}

fn find<T: PartialEq, K>(all: &[(T, &'static str, K)], op: T) -> &'static str {
    all.iter().find(|(known, ..)| *known == op).map_or("", |(_, name, _)| name)
}

fn reduction(op: ReduceOp) -> &'static str {
    ReduceOp::ALL.iter().find(|(known, ..)| *known == op).map_or("", |(_, name, ..)| name)
}

fn reduction_named(name: &str) -> Option<ReduceOp> {
    ReduceOp::ALL.iter().find(|(_, known, ..)| *known == name).map(|(op, ..)| *op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let mut count = 0;
        for op in all() {
            assert_eq!(parse(&of(op)), Some(op), "{}", of(op));
            count += 1;
        }
        assert!(count > 1000);
        for wrong in ["", "add", "add.", "add.f8", "add.f32.f32", "reduce_pair.max.f32", "gather_mask.0.f16"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
