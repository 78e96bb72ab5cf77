//! Instructions.

use super::super::lex::Token;
use super::declarations::constant;
use super::{Parser, Read, TextError};
use crate::product::Element;
use crate::program::{
    Assume, Burst, Content, Expr, Extent, Flag, Granularity, Instruction, IntOp, Load, Mask, Move, Numbers, Operand,
    Pad, Pipe, Rows, Store, SyncAll, Transpose, Value, Vector, VectorOp, Write, mnemonic,
};

/// What can follow the operands of a copy.
#[derive(Default)]
struct CopyFields {
    blocks: Option<Expr>,
    bytes: Option<Expr>,
    from_gap: Option<Expr>,
    to_gap: Option<Expr>,
    left: Option<Expr>,
    right: Option<Expr>,
    pad: Option<(Element, crate::program::Scalar)>,
    add: Option<Element>,
    bypass: bool,
}

impl Parser {
    /// An instruction; `word` is next.
    pub(super) fn instruction(&mut self, word: &str, expected: &str) -> Read<Instruction> {
        let start = self.position();
        let (name, element) = word.split_once('.').map_or((word, None), |(name, e)| (name, Element::from_name(e)));
        if let Some(op) = mnemonic::parse(word) {
            self.at += 1;
            return self.vector(op).map(Instruction::Vector);
        }
        let granularity = |pad: &str| if name == pad { Granularity::Bytes } else { Granularity::Blocks };
        let plain = !word.contains('.');
        match name {
            "load" | "load_pad" if plain => self.after()?.load(granularity("load_pad")),
            "store" | "store_pad" if plain => self.after()?.store(granularity("store_pad")),
            "move" if plain => {
                let to = self.after()?.local()?;
                self.expect(",")?;
                let from = self.local()?;
                let fields = self.copy_fields(&["bytes", "blocks", "from_gap", "to_gap"])?;
                Ok(Instruction::Move(Move { to, from, burst: self.burst(fields)? }))
            }
            "transpose" => match element {
                Some(element) => self.after()?.transpose(element),
                None => self.expected("`transpose` with a type, as `transpose.f16`"),
            },
            "let" if plain => self.after()?.assignment(),
            "write" => match element {
                Some(element) => {
                    let to = self.after()?.place()?;
                    self.expect(",")?;
                    let float = crate::program::is_float(element);
                    let value = if float { self.float()?.into() } else { self.expr()?.into() };
                    Ok(Instruction::Write(Write { to, element, value }))
                }
                None => self.expected("`write` with a type, as `write.f32`"),
            },
            "set_flag" if plain => Ok(Instruction::SetFlag(self.after()?.flag()?)),
            "wait_flag" if plain => Ok(Instruction::WaitFlag(self.after()?.flag()?)),
            "barrier" if plain => {
                self.after()?;
                if self.keyword("all") {
                    return Ok(Instruction::Barrier(None));
                }
                Ok(Instruction::Barrier(Some(self.pipe("a pipe (s, v, mte2, mte3) or `all`")?)))
            }
            "sync_all" if plain => {
                self.after()?;
                if self.keyword("hard") {
                    return Ok(Instruction::SyncAll(SyncAll::Hard));
                }
                if !self.keyword("soft") {
                    return self.expected("`hard` or `soft`");
                }
                let workspace = self.global()?;
                self.expect(",")?;
                Ok(Instruction::SyncAll(SyncAll::Soft { workspace, local: self.local()? }))
            }
            _ => {
                // One that exists, of another type.
                let own = |known: &String| known.split('.').next() == Some(name);
                let usual = Some(format!("{name}.f32")).filter(|usual| mnemonic::parse(usual).is_some());
                let known = usual.or_else(|| mnemonic::all().map(mnemonic::of).find(own));
                let problem = match known {
                    Some(known) => format!("expected `{name}` with a type, as `{known}`, found `{word}`"),
                    None => format!("expected {expected}, found `{word}`"),
                };
                Err(TextError { position: start, problem })
            }
        }
    }

    fn assignment(&mut self) -> Read<Instruction> {
        let position = self.position();
        let target = self.at;
        self.name("a register or a new name")?;
        self.expect("=")?;
        let read = self.word().and_then(|word| Some(word.strip_prefix("read.")?.to_owned()));
        // The kind of a new register is that of the value, which therefore comes first.
        let (value, element, content) = match read {
            Some(read) => {
                let Some(element) = Element::from_name(&read) else {
                    return self.expected("`read` with a type, as `read.i32`");
                };
                let float = crate::program::is_float(element);
                (None, Some(element), if float { Content::Float } else { Content::Int })
            }
            None => {
                let value = self.value()?;
                let float = matches!(value, Value::Float(_) | Value::FloatOp(..) | Value::FromInt(_));
                (Some(value), None, if float { Content::Float } else { Content::Int })
            }
        };
        let end = std::mem::replace(&mut self.at, target);
        let into = self.target(position, content)?;
        self.at = end;
        let Some(element) = element else {
            return Ok(Instruction::Let(into, value.unwrap_or(Value::Int(0.into()))));
        };
        let from = self.after()?.place()?;
        let assume = if self.keyword("assume") { Some(self.assume()?) } else { None };
        Ok(Instruction::Read(crate::program::Read { into, element, from, assume }))
    }

    fn assume(&mut self) -> Read<Assume> {
        let position = self.position();
        let (of, by) = self.quotient()?;
        if !self.sign("..") {
            return Ok(Assume::Quotient { of, by });
        }
        let from = IntOp::Div.eval(constant(position, &of)?, by);
        let to = self.constant_value()?;
        let step = if self.keyword("step") { self.number("a step")? } else { 1 };
        Ok(Assume::Each(Numbers { from, to, step }))
    }

    fn pipe(&mut self, what: &str) -> Read<Pipe> {
        let word = self.word().unwrap_or_default();
        match Pipe::ALL.into_iter().find(|(_, name)| *name == word) {
            Some((pipe, _)) => {
                self.at += 1;
                Ok(pipe)
            }
            None => self.expected(what),
        }
    }

    fn flag(&mut self) -> Read<Flag> {
        let from = self.pipe("the pipe that sets the flag (s, v, mte2, mte3)")?;
        let to = self.pipe("the pipe that waits for the flag (s, v, mte2, mte3)")?;
        Ok(Flag { from, to, id: self.expr()? })
    }

    fn load(&mut self, granularity: Granularity) -> Read<Instruction> {
        let to = self.local()?;
        self.expect(",")?;
        let from = self.global()?;
        let mut fields = self.copy_fields(match granularity {
            Granularity::Blocks => &["bytes", "blocks", "from_gap", "to_gap", "bypass"],
            Granularity::Bytes => &["bytes", "blocks", "from_gap", "to_gap", "left", "right", "pad.TYPE", "bypass"],
        })?;
        let pad = match (fields.left.take(), fields.right.take(), fields.pad.take()) {
            (None, None, None) => None,
            (left, right, Some((element, value))) => {
                let zero = || Expr::from(0);
                Some(Pad { left: left.unwrap_or_else(zero), right: right.unwrap_or_else(zero), element, value })
            }
            _ => return self.expected("`pad.TYPE` and a value beside `left` or `right`"),
        };
        let bypass = fields.bypass;
        Ok(Instruction::Load(Load { to, from, burst: self.burst(fields)?, granularity, pad, bypass }))
    }

    fn store(&mut self, granularity: Granularity) -> Read<Instruction> {
        let to = self.global()?;
        self.expect(",")?;
        let from = self.local()?;
        let fields = self.copy_fields(&["bytes", "blocks", "from_gap", "to_gap", "add.TYPE", "bypass"])?;
        let (add, bypass) = (fields.add, fields.bypass);
        Ok(Instruction::Store(Store { to, from, burst: self.burst(fields)?, granularity, add, bypass }))
    }

    fn copy_fields(&mut self, known: &[&str]) -> Read<CopyFields> {
        let mut fields = CopyFields::default();
        while let Some(word) = self.word().filter(|word| word != "field") {
            let position = self.position();
            let (name, element) = word.split_once('.').unwrap_or((&word, ""));
            let has = |word: &str| known.iter().any(|k| k.strip_suffix(".TYPE").unwrap_or(k) == word);
            let typed = known.iter().any(|k| k.strip_suffix(".TYPE") == Some(name));
            if !has(name) || typed != word.contains('.') {
                break;
            }
            self.at += 1;
            let element = Element::from_name(element);
            if typed && element.is_none() {
                let problem = format!("expected {name} with a type, as `{name}.f32`, found `{word}`");
                return Err(TextError { position, problem });
            }
            let again = match name {
                "bytes" => fields.bytes.replace(self.expr()?).is_some(),
                "blocks" => fields.blocks.replace(self.expr()?).is_some(),
                "from_gap" => fields.from_gap.replace(self.expr()?).is_some(),
                "to_gap" => fields.to_gap.replace(self.expr()?).is_some(),
                "left" => fields.left.replace(self.expr()?).is_some(),
                "right" => fields.right.replace(self.expr()?).is_some(),
                "add" => std::mem::replace(&mut fields.add, element).is_some(),
                "pad" => {
                    let value = self.scalar()?;
                    std::mem::replace(&mut fields.pad, element.map(|element| (element, value))).is_some()
                }
                _ => std::mem::replace(&mut fields.bypass, true),
            };
            if again {
                return Err(TextError { position, problem: format!("expected `{name}` once, found it again") });
            }
        }
        if !matches!(self.peek(), Token::Line | Token::End | Token::Sign("}"))
            && self.word().as_deref() != Some("field")
        {
            return self.expected(&format!("{} or the end of the line", known.join(", ")));
        }
        Ok(fields)
    }

    fn burst(&mut self, fields: CopyFields) -> Read<Burst> {
        let zero = || Expr::from(0);
        let Some(bytes) = fields.bytes else { return self.expected("`bytes` and the length of a block") };
        Ok(Burst {
            blocks: fields.blocks.unwrap_or_else(|| 1.into()),
            bytes,
            from_gap: fields.from_gap.unwrap_or_else(zero),
            to_gap: fields.to_gap.unwrap_or_else(zero),
        })
    }

    fn vector(&mut self, op: VectorOp) -> Read<Vector> {
        let mut operands = Vec::new();
        for (i, part) in op.parts().iter().enumerate() {
            if i > 0 {
                self.expect(",")?;
            }
            let at = self.local()?;
            let (mut block_stride, mut repeat_stride) = part.default_strides(op.lanes());
            if self.sign("(") {
                let first = self.number("a stride")?;
                if self.sign(",") {
                    (block_stride, repeat_stride) = (first, self.number("a stride")?);
                } else {
                    repeat_stride = first;
                }
                self.expect(")")?;
            }
            operands.push(Operand { at, block_stride, repeat_stride });
        }
        let scalar = if op.takes_scalar() {
            self.expect(",")?;
            Some(if op.takes_float() { self.float()?.into() } else { self.expr()?.into() })
        } else {
            None
        };
        let extent = if self.keyword("count") {
            Extent::Count(self.expr()?)
        } else {
            let repeats = if self.keyword("repeat") { self.expr()? } else { 1.into() };
            let mask = if self.keyword("lanes") {
                Mask::First(self.expr()?)
            } else if self.keyword("mask") {
                Mask::Bits(self.bits()?)
            } else {
                Mask::All
            };
            Extent::Repeats { repeats, mask }
        };
        Ok(Vector { op, operands, scalar, extent })
    }

    fn bits(&mut self) -> Read<u128> {
        match *self.peek() {
            Token::Int(bits) => {
                self.at += 1;
                Ok(bits)
            }
            _ => self.expected("a bit for each lane, as `0xff`"),
        }
    }

    fn transpose(&mut self, element: Element) -> Read<Instruction> {
        let to = self.rows()?;
        self.expect(",")?;
        let from = self.rows()?;
        let repeats = if self.keyword("repeat") { self.expr()? } else { 1.into() };
        let (to_high, from_high) = (self.keyword("to_high"), self.keyword("from_high"));
        Ok(Instruction::Transpose(Transpose { element, to, from, repeats, to_high, from_high }))
    }

    fn rows(&mut self) -> Read<Rows> {
        let at = self.local()?;
        self.expect("(")?;
        let row = self.number("the distance of rows")?;
        self.expect(",")?;
        let pair = self.number("the distance of pairs of rows")?;
        self.expect(",")?;
        let repeat = self.number("the distance of repeats")?;
        self.expect(")")?;
        Ok(Rows { at, row, pair, repeat })
    }
}
