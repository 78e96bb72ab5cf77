//! Expressions, numbers and addresses.

use super::super::lex::Token;
use super::{Meaning, Parser, Read, TextError};
use crate::product::Rounding;
use crate::program::{Content, Expr, Float, FloatOp, Global, IntOp, Local, Place, Reg, Scalar, Value, rounding_name};

impl Parser {
    /// An affine expression.
    pub(super) fn expr(&mut self) -> Read<Expr> {
        let mut sum = self.term()?;
        loop {
            let position = self.position();
            let sign = match self.peek() {
                Token::Sign("+") => 1,
                Token::Sign("-") => -1,
                _ => return Ok(sum),
            };
            self.at += 1;
            let term = self.term()?;
            sum = sum.checked_add_scaled(&term, sign).ok_or_else(|| too_large(position))?;
        }
    }

    fn term(&mut self) -> Read<Expr> {
        let mut product = self.factor()?;
        loop {
            let position = self.position();
            if !self.sign("*") {
                return Ok(product);
            }
            let factor = self.factor()?;
            let (expr, by) = match (product.as_constant(), factor.as_constant()) {
                (_, Some(by)) => (&product, by),
                (Some(by), None) => (&factor, by),
                (None, None) => {
                    let problem = "expected a constant on one side of `*`; `let x = mul(a, b)` multiplies registers";
                    return Err(TextError { position, problem: problem.into() });
                }
            };
            product = Expr::from(0).checked_add_scaled(expr, by).ok_or_else(|| too_large(position))?;
        }
    }

    fn factor(&mut self) -> Read<Expr> {
        let position = self.position();
        match self.peek().clone() {
            Token::Int(number) => {
                self.at += 1;
                i64::try_from(number).map(Expr::from).map_err(|_| too_large(position))
            }
            Token::Sign("-") => {
                self.at += 1;
                // The lowest number has no positive counterpart.
                if let Token::Int(0x8000_0000_0000_0000) = self.peek() {
                    self.at += 1;
                    return Ok(i64::MIN.into());
                }
                let factor = self.nested(Self::factor)?;
                Expr::from(0).checked_add_scaled(&factor, -1).ok_or_else(|| too_large(position))
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.nested(Self::expr)?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Word(word) => match self.names.get(&word) {
                Some(Meaning::Constant(value)) => {
                    let value = *value;
                    self.at += 1;
                    Ok(value.into())
                }
                Some(Meaning::Register(reg)) if self.content(*reg) != Some(&Content::Float) => {
                    let reg = *reg;
                    self.at += 1;
                    Ok(reg.into())
                }
                Some(Meaning::Register(_)) => self.expected("a whole number (this register holds a float)"),
                Some(_) => self.expected("a number, a constant or a register"),
                None => {
                    self.error(format!("expected a number, a constant or a register, found the unknown name `{word}`"))
                }
            },
            _ => self.expected("a number, a constant or a register"),
        }
    }

    fn content(&self, reg: Reg) -> Option<&Content> {
        self.source.registers.get(usize::from(reg.0)).map(|register| &register.content)
    }

    /// A constant, or a function of two constants.
    pub(super) fn folded(&mut self) -> Read<Expr> {
        let function = self.word().and_then(|word| IntOp::ALL.into_iter().find(|(_, name)| *name == word));
        let Some((op, name)) = function.filter(|_| self.next_is_call()) else { return self.expr() };
        let position = self.position();
        self.at += 2;
        let a = self.constant_value()?;
        self.expect(",")?;
        let b = self.constant_value()?;
        self.expect(")")?;
        let problem = || format!("expected numbers that fit in 64 bits and shifts by 0 to 63, found {name}({a}, {b})");
        op.checked(a, b).map(Expr::from).ok_or_else(|| TextError { position, problem: problem() })
    }

    /// An expression, or one divided by a constant; else by 1.
    pub(super) fn quotient(&mut self) -> Read<(Expr, i64)> {
        if self.word().as_deref() != Some("div") || !self.next_is_call() {
            return Ok((self.folded()?, 1));
        }
        self.at += 2;
        let of = self.expr()?;
        self.expect(",")?;
        let by = self.constant_value()?;
        self.expect(")")?;
        Ok((of, by))
    }

    fn next_is_call(&self) -> bool {
        matches!(self.tokens.get(self.at + 1), Some((Token::Sign("("), _)))
    }

    /// Whether a floating-point number is next.
    fn float_is_next(&self) -> bool {
        let at = self.at + usize::from(self.is_sign("-"));
        match self.tokens.get(at).map(|(token, _)| token) {
            Some(Token::Float(_)) => true,
            Some(Token::Word(word)) => match self.names.get(word) {
                Some(Meaning::Register(reg)) => self.content(*reg) == Some(&Content::Float),
                Some(_) => false,
                None => word == "inf" || word == "nan",
            },
            _ => false,
        }
    }

    pub(super) fn float(&mut self) -> Read<Float> {
        if !self.float_is_next() {
            return self.expected("a floating-point number, as `1.0`, or a register of one");
        }
        let negative = self.sign("-");
        let value = match self.peek().clone() {
            Token::Float(value) => value,
            Token::Word(word) => match self.names.get(&word) {
                Some(Meaning::Register(_)) if negative => return self.expected("a number after `-`"),
                Some(Meaning::Register(reg)) => {
                    let reg = *reg;
                    self.at += 1;
                    return Ok(Float::Reg(reg));
                }
                _ if word == "inf" => f32::INFINITY,
                _ => f32::NAN,
            },
            _ => return self.expected("a floating-point number"),
        };
        self.at += 1;
        Ok((if negative { -value } else { value }).into())
    }

    pub(super) fn scalar(&mut self) -> Read<Scalar> {
        if self.float_is_next() { self.float().map(Scalar::Float) } else { self.expr().map(Scalar::Int) }
    }

    /// What is on the right of `let`, apart from reads.
    pub(super) fn value(&mut self) -> Read<Value> {
        let word = self.word().filter(|_| self.next_is_call());
        let Some(word) = word else {
            return Ok(match self.scalar()? {
                Scalar::Int(expr) => Value::Int(expr),
                Scalar::Float(value) => Value::Float(value),
            });
        };
        let rounding = Rounding::ALL.into_iter().find(|(rounding, _)| rounding_name(*rounding) == word);
        let int = IntOp::ALL.into_iter().find(|(_, name)| *name == word);
        let float = FloatOp::ALL.into_iter().find(|(_, name)| *name == word);
        if word != "float" && rounding.is_none() && int.is_none() && float.is_none() {
            return self.expected(
                "mul, div, mod, min, max, and, or, xor, shl, shr, add, sub, float, even, floor, ceil, away or zero",
            );
        }
        self.at += 2;
        let value = if word == "float" {
            Value::FromInt(self.expr()?)
        } else if let Some((rounding, _)) = rounding {
            Value::ToInt(rounding, self.float()?)
        } else if let Some((op, _)) = float.filter(|_| int.is_none() || self.float_is_next()) {
            let a = self.float()?;
            self.expect(",")?;
            Value::FloatOp(op, a, self.float()?)
        } else if let Some((op, _)) = int {
            let a = self.expr()?;
            self.expect(",")?;
            Value::IntOp(op, a, self.expr()?)
        } else {
            return self.expected("a function");
        };
        self.expect(")")?;
        Ok(value)
    }

    pub(super) fn place(&mut self) -> Read<Place> {
        match self.word().and_then(|word| self.names.get(&word).copied()) {
            Some(Meaning::Tensor(_)) => self.global().map(Place::Global),
            Some(Meaning::Buffer(_)) => self.local().map(Place::Local),
            _ => self.expected("a buffer or a tensor"),
        }
    }

    pub(super) fn local(&mut self) -> Read<Local> {
        let Some(Meaning::Buffer(buffer)) = self.word().and_then(|word| self.names.get(&word).copied()) else {
            return self.expected("a buffer of the UB");
        };
        self.at += 1;
        self.expect("[")?;
        let first = self.expr()?;
        let second = if self.sign(";") { Some(self.expr()?) } else { None };
        self.expect("]")?;
        Ok(match second {
            Some(offset) => buffer.slot(first, offset),
            None => buffer.at(first),
        })
    }

    pub(super) fn global(&mut self) -> Read<Global> {
        let Some(Meaning::Tensor(tensor)) = self.word().and_then(|word| self.names.get(&word).copied()) else {
            return self.expected("a tensor");
        };
        self.at += 1;
        self.expect("[")?;
        let offset = self.expr()?;
        self.expect("]")?;
        Ok(tensor.at(offset))
    }
}

fn too_large(position: super::Position) -> TextError {
    TextError { position, problem: "expected numbers that fit in 64 bits".into() }
}
