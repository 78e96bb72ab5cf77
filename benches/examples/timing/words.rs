//! The words of a case's name, taken one after another until none is left.

use ubtile_testkit::problems::Layout;
use ubtile_tiling::{Dtype, Operator};

/// `OPERATOR DTYPE N,C,H,W` and what follows it.
pub(crate) struct Words<'a> {
    pub(crate) operator: Operator,
    pub(crate) dtype: Dtype,
    pub(crate) shape: [usize; 4],
    rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// Reads the three words that every case has.
    pub(crate) fn new(name: &'a str) -> Result<Self, String> {
        let words: Vec<_> = name.split_whitespace().collect();
        let [operator, dtype, shape, rest @ ..] = &words[..] else {
            return Err("a case is an operator, a dtype, N,C,H,W and more".into());
        };
        Ok(Self {
            operator: Operator::from_name(operator).ok_or_else(|| format!("`{operator}` is no operator"))?,
            dtype: Dtype::from_name(dtype).ok_or_else(|| format!("`{dtype}` is no dtype"))?,
            shape: numbers(shape)?,
            rest: rest.to_vec(),
        })
    }

    /// The number behind a prefix, or what it is where there is no such word.
    pub(crate) fn number(&mut self, prefix: &str, default: usize) -> Result<usize, String> {
        self.behind(prefix).map_or(Ok(default), number)
    }

    /// Takes a word if it is there.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        self.rest.iter().position(|other| *other == word).map(|at| self.rest.remove(at)).is_some()
    }

    /// Four numbers in the word behind `word`.
    pub(crate) fn list_behind(&mut self, word: &str) -> Result<[usize; 4], String> {
        let found = self.rest.windows(2).position(|pair| pair[0] == word);
        let at = found.ok_or_else(|| format!("`{word}` with four numbers behind it is missing"))?;
        let list = self.rest.remove(at + 1);
        self.rest.remove(at);
        numbers(list)
    }

    /// The layout behind `in=` or `out=`.
    pub(crate) fn layout(&mut self, prefix: &str) -> Result<Layout, String> {
        Ok(match self.behind(prefix) {
            None => Layout::Contiguous,
            Some("channels-last") => Layout::ChannelsLast,
            Some("transposed") => Layout::Transposed,
            Some("spread") => Layout::Spread,
            Some("repeated") => Layout::Repeated,
            Some("pitched") => Layout::Pitched,
            Some(other) => return Err(format!("`{other}` is no layout")),
        })
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), String> {
        match self.rest.first() {
            Some(word) => Err(format!("`{word}` means nothing to {}", self.operator)),
            None => Ok(()),
        }
    }

    /// Takes the word that begins so, without its beginning.
    fn behind(&mut self, prefix: &str) -> Option<&'a str> {
        let at = self.rest.iter().position(|word| word.starts_with(prefix))?;
        self.rest.remove(at).strip_prefix(prefix)
    }
}

fn numbers(list: &str) -> Result<[usize; 4], String> {
    let all = list.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    all.try_into().map_err(|_| format!("`{list}` are not four numbers"))
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}
