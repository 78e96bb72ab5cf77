//! What stands before the code.

use ubtile_tiling::Dtype;

use super::super::Position;
use super::{Meaning, Parser, Read, TextError};
use crate::program::{Buffer, BufferId, Content, Expr, Reg, Register, Role, Tensor, TensorId};

impl Parser {
    pub(super) fn declare(&mut self, meaning: Meaning) -> Read<String> {
        let position = self.position();
        let name = self.name("a name")?;
        if self.names.insert(name.clone(), meaning).is_some() {
            return Err(TextError { position, problem: format!("expected a new name, found `{name}` again") });
        }
        Ok(name)
    }

    pub(super) fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Read<T> {
        let position = self.position();
        let value = self.constant_value()?;
        let problem = || format!("expected {what} in range, found {value}");
        T::try_from(value).map_err(|_| TextError { position, problem: problem() })
    }

    pub(super) fn constant(&mut self) -> Read<()> {
        // The value cannot mean the name itself, so the name comes to be afterwards.
        let at = self.at;
        self.name("a name")?;
        self.expect("=")?;
        let value = self.constant_value()?;
        let end = std::mem::replace(&mut self.at, at);
        self.declare(Meaning::Constant(value))?;
        self.at = end;
        Ok(())
    }

    pub(super) fn tensor(&mut self, position: Position) -> Read<()> {
        let id = TensorId(self.id(self.source.tensors.len())?);
        let name = self.declare(Meaning::Tensor(id))?;
        self.expect(":")?;
        let Some(dtype) = self.word().and_then(|word| Dtype::from_name(&word)) else {
            let names = Dtype::ALL.map(Dtype::name).join(", ");
            return self.expected(&format!("a dtype ({names})"));
        };
        self.at += 1;
        self.expect("[")?;
        let mut shape = Vec::new();
        while !self.sign("]") {
            if !shape.is_empty() {
                self.expect(",")?;
            }
            shape.push(self.number("a size")?);
        }
        let zeroed = self.keyword("zeroed");
        let word = self.word().unwrap_or_default();
        let words = if zeroed { format!("zeroed {word}") } else { word };
        let Some((role, _)) = Role::ALL.into_iter().find(|(_, known)| *known == words) else {
            let what = if zeroed { "`out` or `workspace`" } else { "`in`, `out`, `inout`, `workspace` or `zeroed`" };
            return self.expected(what);
        };
        self.at += 1;
        self.source.tensors.push(Tensor { name, dtype, shape, role });
        self.positions.tensors.push(position);
        Ok(())
    }

    pub(super) fn buffer(&mut self, position: Position) -> Read<()> {
        let id = BufferId(self.id(self.source.buffers.len())?);
        let name = self.declare(Meaning::Buffer(id))?;
        self.expect(":")?;
        let bytes = self.number("a size")?;
        let slots = if self.keyword("slots") { self.number("a number of slots")? } else { 1 };
        let address = if self.keyword("at") { Some(self.number("an address")?) } else { None };
        let field = self.field()?;
        self.source.buffer(&name, bytes, slots, field.as_deref());
        if let Some(buffer) = self.source.buffers.last_mut() {
            let Buffer { address: automatic, .. } = *buffer;
            (buffer.bytes, buffer.address) = (bytes, address.unwrap_or(automatic));
        }
        self.positions.buffers.push(position);
        Ok(())
    }

    pub(super) fn per_core(&mut self, position: Position) -> Read<()> {
        let id = Reg(self.id(self.source.registers.len())?);
        let name = self.declare(Meaning::Register(id))?;
        self.expect(":")?;
        let mut values = vec![self.constant_value()?];
        while self.sign(",") {
            values.push(self.constant_value()?);
        }
        self.source.registers.push(Register { name, content: Content::PerCore(values) });
        self.positions.registers.push(position);
        Ok(())
    }

    pub(super) fn register_line(&mut self, position: Position, content: Content) -> Read<()> {
        self.new_register(position, content).map(|_| ())
    }

    pub(super) fn new_register(&mut self, position: Position, content: Content) -> Read<Reg> {
        let reg = Reg(self.id(self.source.registers.len())?);
        let name = self.declare(Meaning::Register(reg))?;
        self.source.registers.push(Register { name, content });
        self.positions.registers.push(position);
        Ok(reg)
    }

    fn id(&self, len: usize) -> Read<u16> {
        u16::try_from(len).or_else(|_| self.error("expected at most 65536 names of a kind"))
    }

    /// `field NAME`, if it is there.
    pub(super) fn field(&mut self) -> Read<Option<String>> {
        if self.keyword("field") { self.name("the name of a field of the plan").map(Some) } else { Ok(None) }
    }

    pub(super) fn constant_value(&mut self) -> Read<i64> {
        let position = self.position();
        constant(position, &self.folded()?)
    }
}

/// The number that an expression is.
pub(super) fn constant(position: Position, value: &Expr) -> Read<i64> {
    let problem = || "expected a constant, found a register in the expression".into();
    value.as_constant().ok_or_else(|| TextError { position, problem: problem() })
}
