//! `schema`, `import`, `completions` and `man`: what other programs have to know, and what this one
//! learns from theirs.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use toolcrib::deployment::ProcessEnvironment;
use toolcrib::deployment::import::import_file;

use super::Failure;
use super::output::{Look, Out};
use crate::cli::{Cli, Global};

/// Prints the JSON Schema of the deployment file.
pub(crate) fn schema(global: &Global) -> Result<(), Failure> {
    let mut out = Out::stdout(global.ascii);
    // Indented for programs too: it is kept in a file beside the deployment and read by people.
    match serde_json::to_string_pretty(&toolcrib::deployment::schema()) {
        Ok(text) => out.line(&text),
        Err(error) => return Err(Failure::Failed(format!("cannot write the schema: {error}"))),
    }
    out.finish()
}

/// Prints the deployment that a file of another client amounts to; what it leaves out is told on
/// stderr.
pub(crate) fn import(file: &Path, global: &Global) -> Result<(), Failure> {
    let imported = import_file(file, &ProcessEnvironment)?;
    let look = Look::of_stderr(global.ascii);
    for note in &imported.notes {
        eprintln!("{}", look.line(&note.to_string()));
    }
    let mut out = Out::stdout(global.ascii);
    out.text(&imported.to_yaml());
    out.finish()
}

/// Prints a completion script.
pub(crate) fn completions(shell: Shell, global: &Global) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "toolcrib", &mut script);
    print(&script, global)
}

/// Prints the man page: one page with all commands.
pub(crate) fn man(global: &Global) -> Result<(), Failure> {
    let page = page()
        .map_err(|error| Failure::Failed(format!("cannot put the man page together: {error}")))?;
    print(&page, global)
}

fn print(text: &[u8], global: &Global) -> Result<(), Failure> {
    let mut out = Out::stdout(global.ascii);
    out.text(&String::from_utf8_lossy(text));
    out.finish()
}

fn page() -> io::Result<Vec<u8>> {
    let mut cli = Cli::command();
    cli.build();
    let mut page = Vec::new();
    let man = Man::new(cli.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for command in cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        render_command(command, &mut page)?;
    }
    man.render_extra_section(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// A command as a section of its own. Options that every command takes stand in the main section
/// alone.
fn render_command(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    use std::io::Write as _;
    let own = command
        .get_arguments()
        .filter(|argument| !argument.is_global_set() && argument.get_id() != "help")
        .cloned();
    let bare = Command::new("command")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(own);
    writeln!(
        page,
        ".SH \"COMMAND {}\"",
        command.get_name().to_uppercase()
    )?;
    if let Some(about) = command.get_about() {
        writeln!(page, "{}", about.to_string().replace('-', "\\-"))?;
    }
    let mut options = Vec::new();
    Man::new(bare).render_options_section(&mut options)?;
    // The section's own heading would stand on the level of the command's.
    let options = String::from_utf8_lossy(&options);
    let options = options.replacen(".SH OPTIONS", ".PP", 1);
    page.write_all(options.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_man_page_has_a_section_for_each_command_with_its_own_options() {
        let page = String::from_utf8(page().unwrap()).unwrap();
        let section = |name: &str| {
            let start = format!(".SH \"COMMAND {name}\"");
            let rest = page
                .split(&start)
                .nth(1)
                .unwrap_or_else(|| panic!("no {name}"));
            rest.split(".SH ").next().unwrap().to_owned()
        };
        assert!(section("CALL").contains("\\-\\-timeout"));
        assert!(section("CHECK").contains("\\-\\-strict"));
        assert!(!section("CHECK").contains("\\-\\-config"));
        assert!(page.contains("\\-\\-config"));
    }
}
