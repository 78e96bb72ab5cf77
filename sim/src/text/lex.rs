//! Words of the text form.

use super::{Position, TextError};

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, or names with points between them.
    Word(String),
    /// A whole number.
    Int(u128),
    /// A number with a point or an exponent.
    Float(f32),
    /// One of `, ; : = ( ) [ ] { } + - *`, a comparison, or `..`.
    Sign(&'static str),
    /// The end of a line.
    Line,
    /// The end of the text.
    End,
}

impl Token {
    /// What it is, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Int(number) => format!("`{number}`"),
            Self::Float(number) => format!("`{number:?}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::Line => "the end of the line".into(),
            Self::End => "the end of the text".into(),
        }
    }
}

const SIGNS: [&str; 20] =
    ["..", "<=", ">=", "==", "!=", "<", ">", ",", ";", ":", "=", "(", ")", "[", "]", "{", "}", "+", "-", "*"];

/// What some editors put in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// All words with where they stand. `#` begins a comment.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Position)>, TextError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut tokens = Vec::new();
    let mut last = Position { line: 1, column: 1 };
    for (line, content) in (1..).zip(text.lines()) {
        let mut rest = content.split('#').next().unwrap_or_default();
        let mut column = 1;
        loop {
            let code = rest.trim_start();
            column += rest[..rest.len() - code.len()].chars().count();
            let position = Position { line, column: u32::try_from(column).unwrap_or(u32::MAX) };
            last = position;
            if code.is_empty() {
                tokens.push((Token::Line, position));
                break;
            }
            let (token, length) = token(code).map_err(|problem| TextError { position, problem })?;
            tokens.push((token, position));
            column += code[..length].chars().count();
            rest = &code[length..];
        }
    }
    tokens.push((Token::End, last));
    Ok(tokens)
}

fn token(text: &str) -> Result<(Token, usize), String> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let length = |text: &str| text.find(|c| !letter(c)).unwrap_or(text.len());
    let first = text.chars().next().unwrap_or(' ');
    if first.is_ascii_digit() {
        return number(text);
    }
    if letter(first) {
        let mut end = length(text);
        while text[end..].starts_with('.') && text[end + 1..].starts_with(letter) {
            end += 1 + length(&text[end + 1..]);
        }
        return Ok((Token::Word(text[..end].into()), end));
    }
    match SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(format!("expected a name, a number or a sign, found `{first}`")),
    }
}

fn number(text: &str) -> Result<(Token, usize), String> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if let Some(hex) = text.strip_prefix("0x") {
        let length = hex.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(hex.len());
        let number = u128::from_str_radix(&hex[..length], 16);
        let wrong = |_| format!("expected up to 32 hexadecimal digits, found `0x{}`", &hex[..length]);
        return Ok((Token::Int(number.map_err(wrong)?), 2 + length));
    }
    let mut end = digits(text);
    let mut float = false;
    if text[end..].starts_with('.') && text[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        float = true;
        end += 1 + digits(&text[end + 1..]);
    }
    if text[end..].starts_with('e') {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        float = true;
        end += 1 + sign + digits(&text[end + 1 + sign..]);
    }
    let word = &text[..end];
    let behind = text[end..].chars().next().unwrap_or(' ');
    if behind.is_ascii_alphanumeric() || behind == '_' {
        return Err(format!("expected a number, found `{word}{behind}`"));
    }
    let wrong = || format!("expected a number, found `{word}`");
    let token = if float {
        Token::Float(word.parse().map_err(|_| wrong())?)
    } else {
        Token::Int(word.parse().map_err(|_| wrong())?)
    };
    Ok((token, end))
}
