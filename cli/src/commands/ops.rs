//! `ubtile ops`: what the vendor supports where, and on what its editions disagree.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use ubtile_tiling::{Cell, Edition, Editions, Operator, Product, Row, Subject, edition_rules, support_table};

use crate::error::Error;
use crate::output::{self, Format, Report};

/// The support matrix.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ops {
    operators: Vec<OperatorRows>,
    edition_rules: Vec<Rule>,
}

#[derive(Serialize, JsonSchema)]
struct OperatorRows {
    operator: &'static str,
    vendor_name: &'static str,
    dtypes: Vec<DtypeRow>,
}

#[derive(Serialize, JsonSchema)]
struct DtypeRow {
    dtype: &'static str,
    host: bool,
    products: Vec<ProductCell>,
}

#[derive(Serialize, JsonSchema)]
struct ProductCell {
    product: &'static str,
    supported: bool,
    /// Where the vendor runs it.
    route: Option<&'static str>,
    /// What keeps it on the AI Core; beyond it the AICPU takes over.
    limit: Option<String>,
    /// The editions that accept it.
    editions: Vec<&'static str>,
}

/// A rule on which the editions disagree.
#[derive(Serialize, JsonSchema)]
struct Rule {
    operator: &'static str,
    product: Option<&'static str>,
    what: String,
    only_in: Vec<&'static str>,
}

/// Prints it.
pub(crate) fn run(format: Format) -> Result<(), Error> {
    let operators = Operator::ALL.map(|operator| OperatorRows {
        operator: operator.name(),
        vendor_name: operator.vendor_name(),
        dtypes: rows(operator).map(dtype_row).collect(),
    });
    let edition_rules = edition_rules().map(|rule| {
        let (product, what) = match rule.subject {
            Subject::Value(what) => (None, what.into()),
            Subject::Dtypes(product) => {
                (Some(product.name()), rule.dtypes().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", "))
            }
        };
        Rule { operator: rule.operator.name(), product, what, only_in: names(rule.editions) }
    });
    output::print(format, &Ops { operators: operators.into(), edition_rules: edition_rules.collect() })
}

fn rows(operator: Operator) -> impl Iterator<Item = &'static Row> {
    support_table().iter().filter(move |row| row.operator == operator)
}

fn dtype_row(row: &Row) -> DtypeRow {
    let products = Product::ALL.map(|product| {
        let Cell { editions, route, limit } = row.on(product);
        ProductCell {
            product: product.name(),
            supported: route.is_some(),
            route: route.map(|route| route.name()),
            limit: limit.map(|limit| limit.to_string()),
            editions: names(editions),
        }
    });
    // The host computes every dtype that has a row.
    DtypeRow { dtype: row.dtype.name(), host: true, products: products.into() }
}

fn names(editions: Editions) -> Vec<&'static str> {
    let single = Edition::ALL.into_iter().filter(|&edition| edition != Edition::Any && editions.contains(edition));
    single.map(Edition::name).collect()
}

impl Report for Ops {
    const SCHEMA: &'static str = "ubtile.ops.v1";

    fn text(&self) -> String {
        let mut text = String::new();
        let mut limits: Vec<&str> = Vec::new();
        let columns = columns();
        for OperatorRows { operator, vendor_name, dtypes } in &self.operators {
            let _ = writeln!(text, "{operator} ({vendor_name})\n");
            let products = columns.iter().map(|(product, _)| product.name());
            let header: Vec<_> = ["dtype", "host"].into_iter().chain(products).collect();
            let mut rows = Vec::new();
            for row in dtypes {
                let mut cells = vec![row.dtype.to_owned(), if row.host { "yes" } else { "-" }.to_owned()];
                for (product, _) in &columns {
                    let cell = row.products.iter().find(|cell| cell.product == product.name());
                    cells.extend(cell.map(|cell| cell_text(cell, &mut limits)));
                }
                rows.push(cells);
            }
            let _ = writeln!(text, "{}", output::table(header, rows));
        }
        text += "The tables show what any edition takes, and where the vendor runs it:\n\n";
        for (product, same) in columns.iter().filter(|(_, same)| !same.is_empty()) {
            let same: Vec<_> = same.iter().map(|product| product.name()).collect();
            let _ = writeln!(text, "- {product} stands for {} too", same.join(" and "));
        }
        for (i, limit) in limits.iter().enumerate() {
            let _ = writeln!(text, "- ({}) {limit}; beyond that on the AICPU", i + 1);
        }
        text += "- with another padding, replication padding in bf16 is refused on products instead\n";
        text += "\nWhere the editions 8.0, 8.3 and master disagree:\n\n";
        for Rule { operator, product, what, only_in } in &self.edition_rules {
            let on = product.map(|product| format!(" on {product}")).unwrap_or_default();
            let _ = writeln!(text, "- {operator}{on}: {what} only in {}", only_in.join(", "));
        }
        text
    }
}

/// Products, each with those whose column is the same and is left out.
fn columns() -> Vec<(Product, Vec<Product>)> {
    let mut columns: Vec<(Product, Vec<Product>)> = Vec::new();
    for product in Product::ALL {
        let same = |(other, _): &&mut (Product, _)| support_table().iter().all(|row| row.on(*other) == row.on(product));
        match columns.iter_mut().find(same) {
            Some((_, alike)) => alike.push(product),
            None => columns.push((product, Vec::new())),
        }
    }
    columns
}

fn cell_text<'a>(cell: &'a ProductCell, limits: &mut Vec<&'a str>) -> String {
    let Some(route) = cell.route else { return "-".into() };
    let Some(limit) = cell.limit.as_deref() else { return route.into() };
    let known = limits.iter().position(|&known| known == limit);
    let number = known.unwrap_or_else(|| {
        limits.push(limit);
        limits.len() - 1
    });
    format!("{route} ({})", number + 1)
}
