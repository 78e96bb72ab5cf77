//! Reads declarations and code.

mod declarations;
mod instructions;
mod values;

use std::collections::HashMap;

use super::lex::Token;
use super::{Position, Positions, TextError};
use crate::program::{
    BufferId, Condition, Content, For, If, Node, Reg, Relation, Scalar, Source, Statement, TensorId, Tile,
};

/// What a name stands for.
#[derive(Clone, Copy)]
enum Meaning {
    Constant(i64),
    Tensor(TensorId),
    Buffer(BufferId),
    Register(Reg),
}

type Read<T> = Result<T, TextError>;

pub(super) fn parse(tokens: Vec<(Token, Position)>) -> Read<(Source, Positions)> {
    let mut parser = Parser {
        tokens,
        at: 0,
        source: Source::new(0),
        positions: Positions::default(),
        names: HashMap::from([("core".into(), Meaning::Register(Reg::CORE))]),
        depth: 0,
    };
    parser.positions.registers.push(Position { line: 1, column: 1 });
    parser.program()?;
    Ok((parser.source, parser.positions))
}

struct Parser {
    tokens: Vec<(Token, Position)>,
    at: usize,
    source: Source,
    positions: Positions,
    names: HashMap<String, Meaning>,
    /// Blocks, brackets and signs around what is read.
    depth: usize,
}

/// Most of them, so that neither a stack nor a reader is at a loss.
const DEEPEST: usize = 128;

impl Parser {
    fn program(&mut self) -> Read<()> {
        let mut body = Vec::new();
        let mut cores = None;
        loop {
            self.lines();
            let position = self.position();
            if *self.peek() == Token::End {
                break;
            }
            let declaration = if body.is_empty() { self.word().unwrap_or_default() } else { String::new() };
            match declaration.as_str() {
                "cores" if cores.is_none() => {
                    self.positions.cores = Some(position);
                    cores = Some(self.after()?.number("cores")?);
                }
                "const" => self.after()?.constant()?,
                "tensor" => self.after()?.tensor(position)?,
                "ub" => self.after()?.buffer(position)?,
                "per_core" => self.after()?.per_core(position)?,
                "int" => self.after()?.register_line(position, Content::Int)?,
                "float" => self.after()?.register_line(position, Content::Float)?,
                _ => {
                    let node =
                        self.node(if body.is_empty() { "a declaration or an instruction" } else { INSTRUCTION })?;
                    body.push(node);
                }
            }
            self.end_of_line()?;
        }
        let Some(cores) = cores else {
            let problem = "expected a line `cores N` before the code".into();
            return Err(TextError { position: Position { line: 1, column: 1 }, problem });
        };
        (self.source.cores, self.source.body) = (cores, body);
        Ok(())
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn position(&self) -> Position {
        let last = || self.tokens.last().map_or(Position::default(), |(_, position)| *position);
        self.tokens.get(self.at).map_or_else(last, |(_, position)| *position)
    }

    fn after(&mut self) -> Read<&mut Self> {
        self.at += 1;
        Ok(self)
    }

    /// The word that comes next, if it is one.
    fn word(&self) -> Option<String> {
        match self.peek() {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        }
    }

    fn error<T>(&self, problem: impl Into<String>) -> Read<T> {
        Err(TextError { position: self.position(), problem: problem.into() })
    }

    fn expected<T>(&self, what: &str) -> Read<T> {
        self.error(format!("expected {what}, found {}", self.peek().describe()))
    }

    /// Reads what may have more of its kind in it.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == DEEPEST {
            return self.error(format!("nested more than {DEEPEST} times"));
        }
        self.depth += 1;
        let inner = read(self);
        self.depth -= 1;
        inner
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    /// Takes a sign if it is next.
    fn sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Read<()> {
        if self.sign(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    /// Takes a word if it is next.
    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        self.at += usize::from(found);
        found
    }

    /// A name without points.
    fn name(&mut self, what: &str) -> Read<String> {
        match self.peek() {
            Token::Word(word) if !word.contains('.') => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn lines(&mut self) {
        while *self.peek() == Token::Line {
            self.at += 1;
        }
    }

    fn end_of_line(&mut self) -> Read<()> {
        match self.peek() {
            Token::Line => {
                self.at += 1;
                Ok(())
            }
            Token::End => Ok(()),
            _ => self.expected("the end of the line"),
        }
    }

    fn block(&mut self) -> Read<Vec<Node>> {
        self.nested(Self::body)
    }

    fn body(&mut self) -> Read<Vec<Node>> {
        self.expect("{")?;
        self.end_of_line()?;
        let mut body = Vec::new();
        loop {
            self.lines();
            if self.sign("}") {
                return Ok(body);
            }
            body.push(self.node("an instruction or `}`")?);
            if !self.is_sign("}") {
                self.end_of_line()?;
            }
        }
    }

    fn node(&mut self, expected: &str) -> Read<Node> {
        let position = self.position();
        self.positions.nodes.push(position);
        match self.word().as_deref() {
            Some("for") => self.after()?.for_loop(position),
            Some("if") => self.after()?.condition(),
            Some("tile") => {
                let name = self.after()?.name("the name of a tile")?;
                Ok(Node::Tile(Tile { name, body: self.block()? }))
            }
            Some(word) => {
                let word = word.to_owned();
                let instruction = self.instruction(&word, expected)?;
                Ok(Node::Do(Statement { instruction, field: self.field()? }))
            }
            None => self.expected(expected),
        }
    }

    fn for_loop(&mut self, position: Position) -> Read<Node> {
        let var = self.target(position, Content::Int)?;
        if !self.keyword("in") {
            return self.expected("`in`");
        }
        let from = self.expr()?;
        self.expect("..")?;
        let to = self.expr()?;
        let step = if self.keyword("step") { self.number("a step")? } else { 1 };
        let field = self.field()?;
        Ok(Node::For(For { var, from, to, step, body: self.block()?, field }))
    }

    /// A register to set: one of that name, or a new one.
    fn target(&mut self, position: Position, content: Content) -> Read<Reg> {
        let name = self.word().unwrap_or_default();
        match self.names.get(&name) {
            Some(Meaning::Register(reg)) => {
                let reg = *reg;
                self.at += 1;
                Ok(reg)
            }
            Some(_) => self.expected("a register or a new name"),
            None => self.new_register(position, content),
        }
    }

    fn condition(&mut self) -> Read<Node> {
        let left = self.scalar()?;
        let Some((relation, ..)) = Relation::ALL.into_iter().find(|(_, _, sign)| self.is_sign(sign)) else {
            return self.expected("`<`, `<=`, `>`, `>=`, `==` or `!=`");
        };
        self.at += 1;
        let right = match &left {
            Scalar::Int(_) => Scalar::Int(self.expr()?),
            Scalar::Float(_) => Scalar::Float(self.float()?),
        };
        let condition = Condition { left, relation, right };
        let then = self.block()?;
        let otherwise = if self.keyword("else") { self.block()? } else { Vec::new() };
        Ok(Node::If(If { condition, then, otherwise }))
    }
}

const INSTRUCTION: &str = "an instruction (declarations come before the code)";
