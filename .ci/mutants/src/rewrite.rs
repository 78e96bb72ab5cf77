//! One source file with all its mutants in it, each behind its number.
//!
//! `a + b` becomes a match on both operands, evaluated once, whose arm adds them or, where a mutant's number is active, subtracts
//! or multiplies them. Edits are insertions, so that they nest and what is not mutated stays as it was written. Each mutant
//! stands on a line of its own with a mark, by which a compiler's error finds it.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use syn::{
    Arm, BinOp, Expr, ExprBinary, ExprStruct, ExprUnary,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    edits::Edits,
    list::{Genre, Mutant, Place},
};

/// The text of `file` with those of `mutants` in it whose number, their index, is not in `left_out`.
pub fn rewrite(source: &str, file: &str, mutants: &[Mutant], left_out: &HashSet<usize>) -> Result<String> {
    let mut edits = Edits::new(source);
    let mut sites = HashMap::<_, Vec<_>>::new();
    for (number, mutant) in
        mutants.iter().enumerate().filter(|(number, m)| m.file == file && !left_out.contains(number))
    {
        if mutant.genre == Genre::FnValue {
            let at = edits.offset(mutant.start.line, mutant.start.column - 1);
            edits.first(at, format!("\nif {} {{ return {}; }} /*m{number}*/\n", is(number), mutant.replacement));
        } else {
            sites.entry((mutant.genre, mutant.start)).or_default().push((number, mutant.replacement.clone()));
        }
    }
    let mut visitor = Visitor { edits, sites };
    visitor.visit_file(&syn::parse_file(source).with_context(|| file.to_owned())?);
    Ok(visitor.edits.apply())
}

/// The question whether a mutant is active.
pub fn is(number: usize) -> String {
    format!("crate::mutant::is({number})")
}

/// A mutant's number, and what it puts into its place.
type Choice = (usize, String);

struct Visitor<'s> {
    edits: Edits<'s>,
    sites: HashMap<(Genre, Place), Vec<Choice>>,
}

/// A mark that names all mutants of a place, for errors that are not at one of them.
fn mark(choices: &[Choice]) -> String {
    let numbers: Vec<String> = choices.iter().map(|(number, _)| number.to_string()).collect();
    format!("/*s{}*/", numbers.join(","))
}

/// If the first is active, what it makes, else if ..., else what stands there.
fn alternatives(choices: &[Choice], makes: impl Fn(&str) -> String, original: &str) -> String {
    let mut text = String::new();
    for (number, replacement) in choices {
        text += &format!("\nif {} {{ {} }} /*m{number}*/\nelse ", is(*number), makes(replacement));
    }
    text + &format!("{{ {original} }}")
}

/// Whether the expression binds names for what is behind it: it then must stay in its `if`.
fn binds(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

fn assigns(op: &BinOp) -> bool {
    use BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign, ShrAssign,
        SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

impl Visitor<'_> {
    fn choices(&self, genre: Genre, node: &impl Spanned) -> Option<Vec<Choice>> {
        let start = node.span().start();
        self.sites.get(&(genre, Place { line: start.line, column: start.column + 1 })).cloned()
    }

    fn range(&self, node: &impl Spanned) -> (usize, usize) {
        let span = node.span();
        let offset = |at: proc_macro2::LineColumn| self.edits.offset(at.line, at.column);
        (offset(span.start()), offset(span.end()))
    }

    fn text(&self, node: &impl Spanned) -> String {
        let (from, to) = self.range(node);
        self.edits.text(from, to).to_owned()
    }

    fn binary(&mut self, node: &ExprBinary, choices: &[Choice]) {
        let (whole, left, right) = (self.range(node), self.range(&node.left), self.range(&node.right));
        let mark = mark(choices);
        if matches!(node.op, BinOp::And(_) | BinOp::Or(_)) {
            // `&&` goes on where the left is true, `||` where it is false, and a mutant of one is the other.
            let [(number, _)] = choices else { return };
            let goes_on = if matches!(node.op, BinOp::And(_)) { "mutant_l" } else { "!mutant_l" };
            let choice = format!(") {{ mutant_l => if ({goes_on}) != {} {{ (", is(*number));
            self.edits.around(
                whole,
                format!("(match {mark} ("),
                format!(") }} else {{ mutant_l }} /*m{number}*/\n}})"),
            );
            self.edits.between(left.1, right.0, &choice);
        } else {
            let operation = |op: &str| format!("*mutant_l {op} *mutant_r");
            let arms = alternatives(choices, operation, &operation(&self.text(&node.op)));
            self.edits.around(whole, format!("(match {mark} (&("), format!(")) {{ (mutant_l, mutant_r) => {arms} }})"));
            self.edits.between(left.1, right.0, "), &(");
        }
    }

    fn assignment(&mut self, node: &ExprBinary, choices: &[Choice]) {
        let place = self.text(&node.left);
        let operation = |op: &str| format!("{place} {op} mutant_r;");
        let arms = alternatives(choices, operation, &operation(&self.text(&node.op)));
        let (whole, right) = (self.range(node), self.range(&node.right));
        self.edits.around(whole, format!("(match {} (", mark(choices)), format!(") {{ mutant_r => {arms} }})"));
        self.edits.delete(whole.0, right.0);
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        match self.choices(Genre::BinaryOperator, &node.op) {
            Some(choices) if assigns(&node.op) => {
                self.assignment(node, &choices);
                // The place is written anew for each mutant, without its own.
                return self.visit_expr(&node.right);
            }
            Some(choices) if !binds(&node.left) && !binds(&node.right) => self.binary(node, &choices),
            _ => {}
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast ExprUnary) {
        if let Some(choices) = self.choices(Genre::UnaryOperator, &node.op) {
            let arms = alternatives(&choices, |_| "mutant_v".into(), &format!("{}mutant_v", self.text(&node.op)));
            let (whole, operand) = (self.range(node), self.range(&node.expr));
            self.edits.around(whole, format!("(match {} (", mark(&choices)), format!(") {{ mutant_v => {arms} }})"));
            self.edits.delete(whole.0, operand.0);
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast Arm) {
        let left_out = self.choices(Genre::MatchArm, node);
        let stays = left_out
            .iter()
            .flatten()
            .map(|(number, _)| format!("!{} && /*m{number}*/", is(*number)))
            .collect::<String>();
        if let Some((_, guard)) = &node.guard {
            let choices = self.choices(Genre::MatchArmGuard, &**guard).unwrap_or_default();
            if stays.is_empty() && choices.is_empty() {
                return visit::visit_arm(self, node);
            }
            let mut front = stays;
            for (number, value) in &choices {
                let (not, operator) = if value == "true" { ("", "||") } else { ("!", "&&") };
                front += &format!("({not}{} {operator} /*m{number}*/", is(*number));
            }
            self.edits.around(self.range(&**guard), front + "(", ")".repeat(choices.len() + 1));
        } else if !stays.is_empty() {
            let (_, end) = self.range(&node.pat);
            self.edits.behind(end, format!(" if {stays} true"));
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast ExprStruct) {
        for field in node.rest.as_ref().iter().flat_map(|_| &node.fields) {
            let Some(choices) = self.choices(Genre::StructField, field) else { continue };
            let base = self.text(&node.rest);
            let name = self.text(&field.member);
            let arms = alternatives(&choices, |_| format!("({base}).{name}"), "");
            let arms = arms.strip_suffix("{  }").unwrap_or(&arms).to_owned();
            let label = if field.colon_token.is_none() { format!("{name}: ") } else { String::new() };
            self.edits.around(self.range(&field.expr), format!("{label}({arms}{{ "), " })".to_owned());
        }
        visit::visit_expr_struct(self, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mutant of each genre, at the characters that `at` points to.
    fn mutant(genre: Genre, source: &str, at: &str, replacement: &str) -> Mutant {
        let offset = source.find(at).expect("it is there");
        let line = source[..offset].matches('\n').count() + 1;
        let column = offset - source[..offset].rfind('\n').map_or(0, |end| end + 1) + 1;
        let (file, name, replacement) = ("f.rs".into(), String::new(), replacement.into());
        Mutant { file, name, genre, start: Place { line, column }, replacement }
    }

    /// Every genre, nested in each other: what is written parses, and holds each mutant once.
    #[test]
    fn every_mutant_is_there_once() {
        let source = "fn f(a: usize, b: bool) -> S {\n    let mut n = a - 1 * 2;\n    n += 3;\n    match a {\n        0 if !b && n > 4 => \
                      S { x: 1, ..D },\n        5 => D,\n        _ => D,\n    }\n}\n";
        let mutants = [
            mutant(Genre::FnValue, source, "let", "D"),
            mutant(Genre::BinaryOperator, source, "- 1", "+"),
            mutant(Genre::BinaryOperator, source, "- 1", "/"),
            mutant(Genre::BinaryOperator, source, "* 2", "+"),
            mutant(Genre::BinaryOperator, source, "+= 3", "-="),
            mutant(Genre::MatchArm, source, "0 if", ""),
            mutant(Genre::MatchArmGuard, source, "!b", "true"),
            mutant(Genre::MatchArmGuard, source, "!b", "false"),
            mutant(Genre::UnaryOperator, source, "!b", ""),
            mutant(Genre::BinaryOperator, source, "&& n", "||"),
            mutant(Genre::BinaryOperator, source, "> 4", "<"),
            mutant(Genre::StructField, source, "x: 1", ""),
            mutant(Genre::MatchArm, source, "5 =>", ""),
        ];
        let text = rewrite(source, "f.rs", &mutants, &HashSet::from([2])).expect("it parses");
        syn::parse_file(&text).expect("what is written parses");
        for number in 0..mutants.len() {
            let count = text.matches(&is(number)).count();
            assert_eq!(count, usize::from(number != 2), "{number} in {text}");
        }
        assert_eq!(rewrite(source, "g.rs", &mutants, &HashSet::new()).expect("it parses"), source);
    }
}
