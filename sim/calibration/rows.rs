//! Times that were measured on devices, and the programs that were timed.

use std::fmt::Write;

use ubtile_sim::clock::{ClockError, Options, Series, Spread, Timing, series};
use ubtile_sim::product::Soc;
use ubtile_sim::text;

/// A measurement.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
    pub(crate) soc: &'static str,
    /// What differs from the SoC's file.
    pub(crate) settings: &'static str,
    /// Microseconds.
    pub(crate) task: f64,
    /// Busy microseconds of a core, where they were measured.
    pub(crate) vector: Option<f64>,
    pub(crate) mte2: Option<f64>,
    pub(crate) mte3: Option<f64>,
}

const B1: (&str, &str) = ("Ascend910B1", "");
/// The samples report 1650 MHz.
const B4: (&str, &str) = ("Ascend910B4", "[clock]\ncore_mhz = 1650\n");

const fn row(
    name: &'static str,
    program: &'static str,
    (soc, settings): (&'static str, &'static str),
    task: f64,
    [vector, mte2, mte3]: [Option<f64>; 3],
) -> Row {
    Row { name, program, soc, settings, task, vector, mte2, mte3 }
}

/// The rows that the numbers of Atlas A2 were fitted on.
pub(crate) const ROWS: [Row; 7] = [
    row(
        "add, 1 core, tile 4096",
        include_str!("add_1_core.tile"),
        B1,
        6909.6,
        [Some(761.7), Some(6208.8), Some(2613.2)],
    ),
    row(
        "add, 48 cores, tile 4096",
        include_str!("add_48_cores_4096.tile"),
        B1,
        306.6,
        [Some(15.9), Some(215.5), Some(54.3)],
    ),
    row(
        "add, 48 cores, tile 16384",
        include_str!("add_48_cores_16384.tile"),
        B1,
        268.5,
        [Some(12.8), Some(184.4), Some(57.4)],
    ),
    row("copy in, 48 cores, tile 1x64", include_str!("copy_1x64.tile"), B1, 564.8, [None, Some(548.2), None]),
    row("copy in, 48 cores, tile 64x64", include_str!("copy_64x64.tile"), B1, 233.5, [None, Some(220.8), None]),
    // Shares of the time, as they are printed.
    row(
        "add with queues, 1 core, tile 2048",
        include_str!("add_queue_1_core.tile"),
        B4,
        14975.0,
        [Some(1662.2), Some(12728.8), Some(5930.1)],
    ),
    row(
        "add with queues, 8 cores, tile 2048",
        include_str!("add_queue_8_cores.tile"),
        B4,
        2045.5,
        [Some(208.6), Some(1759.1), Some(797.7)],
    ),
];

impl Row {
    /// The SoC that it was measured on.
    pub(crate) fn soc(&self) -> Soc {
        let text = format!("inherits = \"{}\"\n{}", self.soc, self.settings);
        Soc::parse(self.soc, "calibration", &text).expect("a built-in SoC")
    }

    /// Eight seeds.
    pub(crate) fn run(&self) -> Result<Series, ClockError> {
        let soc = self.soc();
        let (program, _) = text::parse(self.program, &soc).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        series(&program, &soc, &Options::default())
    }

    /// What was measured, what the model says, and how far it is off.
    pub(crate) fn compare(&self, series: &Series) -> Vec<(&'static str, f64, Spread, f64)> {
        let mhz = f64::from(self.soc().clock.core_mhz.get().expect("known").get());
        let busy = |cycles: fn(&Timing) -> f64| series.spread(|timing| cycles(timing) / mhz);
        let mut all = vec![("task", Some(self.task), series.spread(|timing| timing.task_us))];
        all.push(("vector", self.vector, busy(|timing| timing.pipes.vector.busy_cycles)));
        all.push(("mte2", self.mte2, busy(|timing| timing.pipes.mte2.busy_cycles)));
        all.push(("mte3", self.mte3, busy(|timing| timing.pipes.mte3.busy_cycles)));
        let known = all.into_iter().filter_map(|(what, measured, model)| Some((what, measured?, model)));
        known.map(|(what, measured, model)| (what, measured, model, model.mean / measured - 1.0)).collect()
    }

    /// Lines of the table.
    pub(crate) fn lines(&self, compared: &[(&'static str, f64, Spread, f64)]) -> String {
        let mut text = String::new();
        for (what, measured, Spread { mean, min, max }, error) in compared {
            let error = 100.0 * error;
            let name = if *what == "task" { self.name } else { "" };
            let _ = writeln!(
                text,
                "| {name} | {what} | {measured:.1} | {mean:.1} | {min:.1} to {max:.1} | {error:+.1} % |"
            );
        }
        text
    }
}

/// What stands above the lines.
pub(crate) const HEADER: &str = "\
| row | | measured us | model us | eight seeds | error |
|---|---|---:|---:|---:|---:|
";
