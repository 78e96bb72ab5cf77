//! What the vendor supports: operator × dtype × product × edition, in one table, and where the vendor runs it.
//!
//! The table is read by every check and by the command's list of operators; nothing else knows a product's dtypes.

use core::fmt;

use crate::{Dtype, Dtypes, Edition, Editions, Operator, Product};

/// Where the vendor runs a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// A kernel on the AI Core.
    AiCore,
    /// The fallback on the device's CPU.
    Aicpu,
}

impl Route {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AiCore => "aicore",
            Self::Aicpu => "aicpu",
        }
    }
}

/// What a problem must keep to stay on the AI Core; beyond it the AICPU takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// At most so many channels.
    Channels(usize),
    /// No padding negative; and none above 7, unless top and bottom are 0.
    Padding,
    /// As [`Padding`](Self::Padding), and `grad_output` at most so high and wide.
    PaddingAndSize(usize, usize),
    /// The gather of less than 2 GiB, from planes of at most 2^30 elements, if a row of it and its indices fit the unified buffer of so
    /// many bytes, or `grad_output` is small, or there are few indices.
    GatherRow(usize),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channels(most) => write!(f, "C <= {most}"),
            Self::Padding => f.write_str("padding 0 to 7 (any left and right where top and bottom are 0)"),
            Self::PaddingAndSize(h, w) => write!(f, "{}, grad_output <= {h} x {w}", Self::Padding),
            Self::GatherRow(bytes) => write!(
                f,
                "grad_output < 2 GiB, planes <= 2^30, and rows fit {} KiB, grad_output <= 3000 KiB or indices <= 2000",
                bytes / 1024
            ),
        }
    }
}

/// How much of a limit a problem uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What is measured.
    pub name: &'static str,
    /// How much there is of it.
    pub used: usize,
    /// How much there may be.
    pub limit: usize,
}

/// A cell of the table: what the vendor says of an operator's dtype on a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The editions that accept it.
    pub editions: Editions,
    /// Where it runs; `None` where no edition accepts it.
    pub route: Option<Route>,
    /// The limit of the AI Core route, where there is one.
    pub limit: Option<Limit>,
}

/// A row of the table. The host computes every dtype that has a row, whatever the edition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The operator.
    pub operator: Operator,
    /// The dtype: of all tensors of the grid sampler and of replication padding; of MaxUnpool2dBackward's `grad_output`,
    /// `self` and `out`; of Im2colBackward's `grad_output` and `out`.
    pub dtype: Dtype,
    inference: Cell,
    training: Cell,
    a2: Cell,
    a3: Cell,
    ascend_950: Cell,
}

impl Row {
    /// The cell of a product.
    #[must_use]
    pub const fn on(&self, product: Product) -> Cell {
        match product {
            Product::AtlasInference => self.inference,
            Product::AtlasTraining => self.training,
            Product::AtlasA2 | Product::Atlas800iA2 | Product::A200iA2Box => self.a2,
            Product::AtlasA3 => self.a3,
            Product::Atlas200iA2 => NO,
            Product::Ascend950 => self.ascend_950,
        }
    }
}

const NO: Cell = Cell { editions: Editions::NONE, route: None, limit: None };
const ALL: Editions = Editions::ALL;
const OLD: Editions = Editions::OLD;
const FROM83: Editions = Editions::SINCE_8_3;
const MASTER: Editions = Editions::MASTER;

const C2048: Limit = Limit::Channels(2048);
const ROW256K: Limit = Limit::GatherRow(262_144);
const ROW192K: Limit = Limit::GatherRow(196_608);
const PAD: Limit = Limit::Padding;
const PAD_F16: Limit = Limit::PaddingAndSize(950, 3000);
const PAD_F32: Limit = Limit::PaddingAndSize(800, 1500);

const fn core(editions: Editions) -> Cell {
    Cell { editions, route: Some(Route::AiCore), limit: None }
}

const fn core_if(limit: Limit, editions: Editions) -> Cell {
    Cell { editions, route: Some(Route::AiCore), limit: Some(limit) }
}

const fn cpu(editions: Editions) -> Cell {
    Cell { editions, route: Some(Route::Aicpu), limit: None }
}

const fn grid_sampler(dtype: Dtype, [inference, training, a2, a3, ascend_950]: [Cell; 5]) -> Row {
    Row { operator: Operator::GridSampler2dBackward, dtype, inference, training, a2, a3, ascend_950 }
}

const fn max_unpool(dtype: Dtype, [inference, training, a2, a3, ascend_950]: [Cell; 5]) -> Row {
    Row { operator: Operator::MaxUnpool2dBackward, dtype, inference, training, a2, a3, ascend_950 }
}

const fn replication_pad(dtype: Dtype, [inference, training, a2, a3, ascend_950]: [Cell; 5]) -> Row {
    Row { operator: Operator::ReplicationPad2dBackward, dtype, inference, training, a2, a3, ascend_950 }
}

const fn im2col(dtype: Dtype, [inference, training, a2, a3, ascend_950]: [Cell; 5]) -> Row {
    Row { operator: Operator::Im2colBackward, dtype, inference, training, a2, a3, ascend_950 }
}

/// The table. 8.0 has no A3 and no 950, 8.3 has no 950; Atlas 200I A2 supports nothing.
#[rustfmt::skip]
static TABLE: [Row; 24] = {
    use Dtype::*;
    [
        // The code would run the grid sampler's F64 on training products (AICPU); the documents refuse it, and so do we.
        //                    inference                 training                  A2                        A3                        950
        grid_sampler(F16,    [NO,                       cpu(ALL),                 core_if(C2048, ALL),      core_if(C2048, FROM83),   core(MASTER)]),
        grid_sampler(Bf16,   [NO,                       NO,                       core_if(C2048, ALL),      core_if(C2048, FROM83),   core(MASTER)]),
        grid_sampler(F32,    [NO,                       cpu(ALL),                 core_if(C2048, ALL),      core_if(C2048, FROM83),   core(MASTER)]),
        grid_sampler(F64,    [NO,                       NO,                       cpu(FROM83),              cpu(FROM83),              cpu(MASTER)]),

        // BF16 is the host's alone: the vendor's kernel could, its check refuses. F64 went with master, BOOL came.
        max_unpool(F16,      [NO,                       core_if(ROW256K, ALL),    core_if(ROW192K, ALL),    core_if(ROW192K, MASTER), core(MASTER)]),
        max_unpool(Bf16,     [NO,                       NO,                       NO,                       NO,                       NO]),
        max_unpool(F32,      [NO,                       core_if(ROW256K, ALL),    core_if(ROW192K, ALL),    core_if(ROW192K, MASTER), core(MASTER)]),
        max_unpool(F64,      [NO,                       cpu(OLD),                 cpu(OLD),                 NO,                       NO]),
        max_unpool(I8,       [NO,                       core_if(ROW256K, ALL),    core_if(ROW192K, ALL),    core_if(ROW192K, MASTER), core(MASTER)]),
        max_unpool(U8,       [NO,                       core_if(ROW256K, ALL),    core_if(ROW192K, ALL),    core_if(ROW192K, MASTER), core(MASTER)]),
        max_unpool(I16,      [NO,                       core_if(ROW256K, ALL),    core_if(ROW192K, ALL),    core_if(ROW192K, MASTER), core(MASTER)]),
        max_unpool(I32,      [NO,                       core_if(ROW256K, ALL),    core_if(ROW192K, ALL),    core_if(ROW192K, MASTER), core(MASTER)]),
        max_unpool(I64,      [NO,                       core_if(ROW256K, ALL),    core_if(ROW192K, ALL),    core_if(ROW192K, MASTER), core(MASTER)]),
        max_unpool(Bool,     [NO,                       cpu(MASTER),              cpu(MASTER),              cpu(MASTER),              core(MASTER)]),

        // BF16 runs as F32.
        replication_pad(F16, [core_if(PAD_F16, ALL),    core_if(PAD_F16, ALL),    core_if(PAD, ALL),        core_if(PAD, MASTER),     core_if(PAD, MASTER)]),
        replication_pad(Bf16,[core_if(PAD_F32, MASTER), core_if(PAD_F32, MASTER), core_if(PAD, MASTER),     core_if(PAD, MASTER),     core_if(PAD, MASTER)]),
        replication_pad(F32, [core_if(PAD_F32, ALL),    core_if(PAD_F32, ALL),    core_if(PAD, ALL),        core_if(PAD, MASTER),     core_if(PAD, MASTER)]),
        replication_pad(F64, [cpu(ALL),                 cpu(ALL),                 cpu(ALL),                 cpu(MASTER),              cpu(MASTER)]),
        replication_pad(C64, [cpu(ALL),                 cpu(ALL),                 cpu(ALL),                 cpu(MASTER),              cpu(MASTER)]),
        replication_pad(C128,[cpu(ALL),                 cpu(ALL),                 cpu(ALL),                 cpu(MASTER),              cpu(MASTER)]),

        // F64 is the host's alone.
        im2col(F16,          [NO,                       core(OLD),                core(ALL),                core(MASTER),             core(MASTER)]),
        im2col(Bf16,         [NO,                       NO,                       core(MASTER),             core(MASTER),             core(MASTER)]),
        im2col(F32,          [NO,                       core(OLD),                core(ALL),                core(MASTER),             core(MASTER)]),
        im2col(F64,          [NO,                       NO,                       NO,                       NO,                       NO]),
    ]
};

/// The dtypes that have a row. Sets made at compile time, so that a program that never names a product does not carry the table.
const fn on_host(operator: Operator) -> Dtypes {
    const fn rows_of(operator: Operator) -> Dtypes {
        let (mut dtypes, mut rest) = (Dtypes::NONE, TABLE.as_slice());
        while let [row, others @ ..] = rest {
            if row.operator as u8 == operator as u8 {
                dtypes = dtypes.with(row.dtype);
            }
            rest = others;
        }
        dtypes
    }
    const GRID_SAMPLER: Dtypes = rows_of(Operator::GridSampler2dBackward);
    const MAX_UNPOOL: Dtypes = rows_of(Operator::MaxUnpool2dBackward);
    const REPLICATION_PAD: Dtypes = rows_of(Operator::ReplicationPad2dBackward);
    const IM2COL: Dtypes = rows_of(Operator::Im2colBackward);
    match operator {
        Operator::GridSampler2dBackward => GRID_SAMPLER,
        Operator::MaxUnpool2dBackward => MAX_UNPOOL,
        Operator::ReplicationPad2dBackward => REPLICATION_PAD,
        Operator::Im2colBackward => IM2COL,
    }
}

/// The table's rows, by operator and dtype. A dtype without a row is accepted nowhere.
#[must_use]
pub fn support_table() -> &'static [Row] {
    &TABLE
}

/// What an edition says of an operator's dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Whether it is accepted.
    pub accepted: bool,
    /// Where the vendor runs it; `None` where it is refused, and on the host.
    pub route: Option<Route>,
    /// The limit of the AI Core route, where there is one.
    pub limit: Option<Limit>,
}

impl Support {
    /// The route of a problem that keeps the limit or not.
    pub(crate) fn route_where(self, keeps: impl FnOnce(Limit) -> bool) -> Option<Route> {
        if self.limit.is_none_or(keeps) { self.route } else { Some(Route::Aicpu) }
    }
}

/// Looks an operator's dtype up; without a product, for the host.
#[must_use]
pub fn support(operator: Operator, dtype: Dtype, product: Option<Product>, edition: Edition) -> Support {
    const REFUSED: Support = Support { accepted: false, route: None, limit: None };
    let Some(product) = product else { return Support { accepted: on_host(operator).contains(dtype), ..REFUSED } };
    let Some(row) = TABLE.iter().find(|row| row.operator == operator && row.dtype == dtype) else { return REFUSED };
    let cell = row.on(product);
    if cell.editions.contains(edition) {
        Support { accepted: true, route: cell.route, limit: cell.limit }
    } else {
        REFUSED
    }
}

/// A rule on which the editions disagree. [`Display`](fmt::Display) gives one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditionRule {
    /// The operator.
    pub operator: Operator,
    /// What it is about.
    pub subject: Subject,
    /// The editions that accept it; the others do not.
    pub editions: Editions,
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An attribute's value, or a kind of tensor.
    Value(&'static str),
    /// The dtypes of a product's column that these editions accept: [`EditionRule::dtypes`].
    Dtypes(Product),
}

const fn grid_sampler_rule(what: &'static str, editions: Editions) -> EditionRule {
    EditionRule { operator: Operator::GridSampler2dBackward, subject: Subject::Value(what), editions }
}

pub(crate) const GRID_SAMPLER_BICUBIC: EditionRule = grid_sampler_rule("interpolation bicubic", Editions::MASTER);
pub(crate) const GRID_SAMPLER_REFLECTION: EditionRule = grid_sampler_rule("padding-mode reflection", Editions::NOT_8_3);
/// 8.0 does not say; it is read as master.
pub(crate) const GRID_SAMPLER_EMPTY: EditionRule = grid_sampler_rule("empty tensors", Editions::NOT_8_3);

/// All rules on which editions disagree: those on values, then those on dtypes, read from the table's columns. The A2
/// machines share one.
pub fn edition_rules() -> impl Iterator<Item = EditionRule> {
    const SETS: [Editions; 4] = [Editions::OLD, Editions::SINCE_8_3, Editions::NOT_8_3, Editions::MASTER];
    const COLUMNS: [Product; 5] =
        [Product::AtlasInference, Product::AtlasTraining, Product::AtlasA2, Product::AtlasA3, Product::Ascend950];
    let columns = Operator::ALL.into_iter().flat_map(|operator| COLUMNS.map(|product| (operator, product)));
    let rules = columns.flat_map(|(operator, product)| {
        SETS.map(|editions| EditionRule { operator, subject: Subject::Dtypes(product), editions })
    });
    [GRID_SAMPLER_BICUBIC, GRID_SAMPLER_REFLECTION, GRID_SAMPLER_EMPTY]
        .into_iter()
        .chain(rules.filter(|rule| rule.dtypes().next().is_some()))
}

impl EditionRule {
    /// The dtypes that it is about; none for a rule on a value.
    pub fn dtypes(&self) -> impl Iterator<Item = Dtype> + use<> {
        let Self { operator, subject, editions } = *self;
        let fits = move |row: &&Row| match subject {
            Subject::Value(_) => false,
            Subject::Dtypes(product) => row.operator == operator && row.on(product).editions == editions,
        };
        TABLE.iter().filter(fits).map(|row| row.dtype)
    }
}

impl fmt::Display for EditionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Subject::Value(what) => write!(f, "{}: {what}", self.operator)?,
            Subject::Dtypes(product) => {
                write!(f, "{} on {product}:", self.operator)?;
                for (i, dtype) in self.dtypes().enumerate() {
                    write!(f, "{} {dtype}", if i == 0 { "" } else { "," })?;
                }
            }
        }
        write!(f, " only in {}", self.editions)
    }
}
