//! `ubtile manual` and `ubtile completions`: the help for those who read man pages, and for shells.

use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use ubtile_sim::report::Folder;

use crate::args;
use crate::error::Error;
use crate::output::{self, Format};

/// Writes a page for each command.
pub(crate) fn run(folder: &Path) -> Result<(), Error> {
    let mut command = args::command();
    // Gives each command its full name.
    command.build();
    let files = Folder::create(folder)?;
    pages(&command, &files)?;
    Ok(files.keep()?)
}

fn pages(command: &Command, files: &Folder) -> Result<(), Error> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let version = concat!("ubtile ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).title(name.to_uppercase()).source(version).manual("ubtile");
    files.write(&format!("{name}.1"), |to| page.render(to) as io::Result<()>)?;
    let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    command.get_subcommands().filter(shown).try_for_each(|command| pages(command, files))
}

/// Prints what a shell needs.
pub(crate) fn completions(shell: Shell, format: Format) -> Result<(), Error> {
    if matches!(format, Format::Json) {
        return Err(Error::Usage("--format json: completions are a script, which no shell takes as JSON".into()));
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "ubtile", &mut script);
    output::raw(&String::from_utf8_lossy(&script))
}
