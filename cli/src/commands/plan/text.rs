//! What `plan` tells, for people.

use super::report::{LargerReport, MOST_TILES, Plan, TargetReport};
use crate::output::{self, Report, TensorReport};

impl Report for Plan {
    const SCHEMA: &'static str = "ubtile.plan.v1";

    fn text(&self) -> String {
        let sections = [
            self.head(),
            format!("\n{}", TensorReport::table(&self.tensors)),
            self.tiling_data(),
            self.phases(),
            self.regions(),
            self.decisions(),
            self.choices(),
            self.prices(),
            self.means(),
            self.aclnn(),
        ];
        sections.concat()
    }
}

impl Plan {
    fn head(&self) -> String {
        let TargetReport { name, cores, local_bytes, .. } = &self.target;
        let scheme = self.scheme.unwrap_or("no");
        let memory = if self.scheme == Some("vendor") { "unified buffer" } else { "local memory" };
        let mut text =
            format!("{}: {scheme} tiling for {name}, cores {cores}, {memory} {local_bytes} bytes\n", self.operator);
        if let (Some(block_dim), Some(bytes)) = (self.block_dim, self.workspace_bytes) {
            let key = self.tiling_key.map_or_else(String::new, |key| format!("tiling key {key}, "));
            text += &format!("{key}block dim {block_dim}, workspace {bytes} bytes\n");
        }
        if let (Some(product), Some(route)) = (self.product, self.vendor_route) {
            text += &format!("the vendor runs it on {product} on the {route}\n");
        }
        if let (Some("native"), Some(_)) = (self.scheme, &self.soc) {
            text += "this is ubtile's own tiling, not the vendor's\n";
        }
        if let Some(bytes) = self.kernel_workspace_bytes {
            text += &format!("the vendor's kernel asks for {bytes} bytes of workspace\n");
        }
        if let (Some(bytes), Some(aclnn)) = (self.aclnn_workspace_bytes, &self.aclnn) {
            let more: Vec<_> = aclnn.unmodelled.iter().map(|what| format!(", and {what}")).collect();
            text += &format!("aclnn's first phase reports about {bytes} bytes ({}){}\n", aclnn.grade, more.concat());
        }
        if let Some(why) = &self.reason {
            let what = if self.supported { "" } else { "not supported: " };
            text += &format!("{what}{why}\n");
        }
        if let Some(why) = &self.early_success {
            text += &format!("nothing to compute: {why}\n");
        }
        text
    }

    fn tiling_data(&self) -> String {
        let fields = self.tiling_data.iter().flat_map(|data| data.0.fields());
        section(["tiling data", "value"], fields.map(|field| vec![field.name.to_owned(), field.value.to_string()]))
    }

    fn phases(&self) -> String {
        let number = |n: Option<usize>| n.map_or_else(|| format!("over {MOST_TILES}"), |n| n.to_string());
        let tiled = self.scheme == Some("native") && self.soc.is_none();
        let rows = self.phases.iter().map(|phase| {
            let mut cells = vec![phase.name.to_owned(), phase.shares.to_string()];
            if tiled {
                cells.extend([phase.tiles, phase.most_tiles_in_a_share].map(number));
                cells.push(phase.largest_tile_bytes.map_or("-".into(), |n| n.to_string()));
            }
            cells
        });
        if tiled {
            section(["phase", "shares", "tiles", "most in a share", "largest tile, bytes"], rows)
        } else {
            section(["phase", "cores"], rows)
        }
    }

    fn regions(&self) -> String {
        let rows = self.workspace_regions.iter().map(|region| {
            let phases = format!("{} to {}", region.first_phase, region.last_phase);
            vec![region.name.to_owned(), region.offset.to_string(), region.bytes.to_string(), phases]
        });
        section(["workspace region", "offset", "bytes", "phases"], rows)
    }

    fn decisions(&self) -> String {
        let rows = self.decisions.iter().flat_map(|decision| {
            let first = [decision.name.to_owned(), decision.value.clone(), decision.why.clone()];
            let measures = decision.measures.iter().map(|m| {
                let slack = m.slack;
                [String::new(), String::new(), format!("{}: {} of {}, slack {slack}", m.name, m.used, m.limit)]
            });
            let others = decision.others.iter().map(|o| [String::new(), o.value.clone(), format!("by {}", o.by)]);
            std::iter::once(first).chain(measures).chain(others).map(Vec::from).collect::<Vec<_>>()
        });
        section(["decision", "value", "why, and what would change it"], rows)
    }

    fn choices(&self) -> String {
        let rows = self.choices.iter().map(|c| {
            let used = format!("{} of {}", c.used, c.limit);
            let alternative = c.alternative.map_or("-".into(), |n| n.to_string());
            let LargerReport { value, bound, limit, needs, over } = c.larger;
            let larger = match over {
                0 => format!("{value}: legal, {needs} of {limit} {bound}"),
                over => format!("{value}: {needs} of {limit} {bound}, {over} over"),
            };
            let [value, slack] = [c.value, c.slack].map(|n| n.to_string());
            vec![c.name.to_owned(), value, c.bound.to_owned(), used, slack, alternative, larger]
        });
        section(["choice", "value", "bound by", "used", "slack", "next smaller", "next larger"], rows)
    }

    fn prices(&self) -> String {
        let rows = self.prices.iter().map(|p| vec![p.name.to_owned(), p.paid.to_string(), p.unlimited.to_string()]);
        section(["price of the workspace limit", "paid", "without a limit"], rows)
    }

    fn means(&self) -> String {
        section(["means", "how"], self.means.iter().map(|mean| vec![mean.name.to_owned(), mean.how.clone()]))
    }

    fn aclnn(&self) -> String {
        let Some(aclnn) = &self.aclnn else { return String::new() };
        let steps = aclnn.steps.iter().enumerate().map(|(i, step)| {
            let tensor = step.tensor.unwrap_or("-");
            vec![i.to_string(), step.kernel.to_owned(), tensor.to_owned(), step.route.to_owned()]
        });
        let mut text = section(["aclnn step", "kernel", "tensor", "route"], steps);
        let regions = aclnn.regions.iter().map(|region| {
            let steps = format!("{} to {}", region.first_step, region.last_step);
            let [offset, bytes, used] = [region.offset, region.bytes, region.used_bytes].map(|n| n.to_string());
            vec![region.name.to_owned(), offset, bytes, used, steps]
        });
        text += &section(["aclnn region", "offset", "bytes", "used", "steps"], regions);
        if !aclnn.regions.is_empty() {
            let (peak, apart) = (aclnn.peak_bytes, aclnn.bytes_without_reuse);
            text += &format!("\nat most {peak} bytes live at once; without reuse it would be {apart}\n");
        }
        let savings = aclnn.savings.iter().map(|saving| {
            vec![saving.name.to_owned(), saving.workspace_bytes.to_string(), saving.saves_bytes.to_string()]
        });
        text + &section(["instead of aclnn's workspace", "bytes", "saves"], savings)
    }
}

/// One line for each machine.
pub(super) fn comparison(plans: &[Plan]) -> String {
    let text = |n: Option<String>| n.unwrap_or_else(|| "-".into());
    let rows = plans.iter().map(|plan| {
        let choice = |c: &super::report::ChoiceReport| format!("{} {}", c.name, c.value);
        let tile: Vec<_> = plan.choices.iter().filter(|c| c.name != "block_dim").map(choice).collect();
        let route = plan.vendor_route.unwrap_or(if plan.supported { "-" } else { "refused" });
        vec![
            plan.product.unwrap_or("-").to_owned(),
            plan.target.name.clone(),
            route.to_owned(),
            text(plan.scheme.map(String::from)),
            text(plan.tiling_key.map(|n| n.to_string())),
            text(plan.block_dim.map(|n| n.to_string())),
            if tile.is_empty() { "-".into() } else { tile.join(", ") },
            text(plan.workspace_bytes.map(|n| n.to_string())),
            text(plan.kernel_workspace_bytes.map(|n| n.to_string())),
            text(plan.aclnn_workspace_bytes.map(|n| n.to_string())),
        ]
    });
    let header =
        ["product", "SoC", "vendor", "scheme", "key", "block dim", "tile", "workspace", "vendor's kernel", "aclnn"];
    let mut page = plans.first().map_or_else(String::new, |plan| format!("{}\n\n", plan.operator));
    page += &output::table(header, rows);
    let reasons = plans.iter().filter_map(|plan| Some((plan.product?, plan.reason.as_ref()?)));
    let reasons: Vec<_> = reasons.map(|(product, why)| format!("- {product}: {why}\n")).collect();
    if !reasons.is_empty() {
        page += &format!("\n{}", reasons.concat());
    }
    page
}

/// A table behind an empty line; nothing where there are no rows.
fn section<const N: usize>(header: [&'static str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() { String::new() } else { format!("\n{}", output::table(header, rows)) }
}
