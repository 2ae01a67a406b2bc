//! A command of opm, how it is found on the command line, and how it is run.

use crate::failure::Failure;
use crate::terminal::Terminal;

use super::ending::Ending;
use super::flags::{Flag, FlagKind, Given, without_flags};
use super::usage;
use crate::arguments::comma_separated;

/// The name of the flag that every command has.
const HELP: &str = "help";

/// How a command is carried out.
pub(super) type Run = fn(&Invocation<'_>, &mut Terminal) -> Result<(), Ending>;

/// A command, or a group of them.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Its name, and then the arguments, as in its usage.
    pub(super) line: &'static str,
    pub(super) short: &'static str,
    pub(super) long: String,
    pub(super) example: &'static str,
    pub(super) arguments: Arguments,
    pub(super) flags: Vec<Flag>,
    /// Flags that the commands below have too.
    pub(super) shared_flags: Vec<Flag>,
    /// Flags of which one excludes the other.
    pub(super) exclusive: Option<[&'static str; 2]>,
    pub(super) is_hidden: bool,
    pub(super) deprecated: Option<&'static str>,
    pub(super) commands: Vec<Command>,
    /// Nothing for groups: they show their help.
    pub(super) run: Option<Run>,
}

/// How many arguments a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Arguments {
    /// Any; the command doesn't look at them, nor at flags.
    #[default]
    Ignored,
    /// None; a word is taken for a command that there is not.
    None,
    Exactly(usize),
    AtLeast(usize),
    AtMost(usize),
    Between(usize, usize),
}

impl Arguments {
    fn check(self, given: &[String], path: &str) -> Result<(), String> {
        let count = given.len();
        match self {
            Self::None => match given.first() {
                Some(word) => Err(format!(
                    "unknown command {} for {}",
                    gotemplate::format::quoted(word),
                    gotemplate::format::quoted(path)
                )),
                None => Ok(()),
            },
            Self::Exactly(wanted) if count != wanted => {
                Err(format!("accepts {wanted} arg(s), received {count}"))
            }
            Self::AtLeast(least) if count < least => {
                Err(format!("requires at least {least} arg(s), only received {count}"))
            }
            Self::AtMost(most) if count > most => {
                Err(format!("accepts at most {most} arg(s), received {count}"))
            }
            Self::Between(least, most) if count < least || count > most => Err(format!(
                "accepts between {least} and {most} arg(s), received {count}"
            )),
            _ => Ok(()),
        }
    }
}

impl Command {
    pub(super) fn name(&self) -> &'static str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// Whether its group lists it.
    pub(super) fn is_available(&self) -> bool {
        !self.is_hidden
            && self.deprecated.is_none()
            && (self.run.is_some() || self.commands.iter().any(Self::is_available))
    }
}

/// A command with those above it, the outermost first.
#[derive(Debug, Clone)]
pub(super) struct Found<'c> {
    above: Vec<&'c Command>,
    pub(super) command: &'c Command,
    pub(super) help: Flag,
}

impl<'c> Found<'c> {
    fn new(above: Vec<&'c Command>, command: &'c Command) -> Self {
        let help = Flag::switch(HELP, format!("help for {}", command.name())).letter('h');
        Self { above, command, help }
    }

    /// Follows the words of a command line to the command that they name; the words that are left are its own.
    fn find(root: &'c Command, words: &[String]) -> (Self, Vec<String>) {
        let mut found = Self::new(Vec::new(), root);
        let mut words = words.to_vec();
        loop {
            let flags = found.flags();
            let Some((position, word)) = without_flags(&flags, &words).into_iter().next() else {
                return (found, words);
            };
            let Some(next) = found
                .command
                .commands
                .iter()
                .find(|command| command.name() == word)
            else {
                return (found, words);
            };
            words.remove(position);
            let mut above = found.above;
            above.push(found.command);
            found = Self::new(above, next);
        }
    }

    /// Its name with those of the commands above it.
    pub(super) fn path(&self) -> String {
        let mut names: Vec<&str> = self.above.iter().map(|command| command.name()).collect();
        names.push(self.command.name());
        names.join(" ")
    }

    pub(super) fn is_root(&self) -> bool {
        self.above.is_empty()
    }

    /// Its own flags, but for `--help`.
    pub(super) fn own_flags(&self) -> Vec<&Flag> {
        self.command
            .flags
            .iter()
            .chain(&self.command.shared_flags)
            .collect()
    }

    /// Flags of the commands above it; its own of the same name win.
    pub(super) fn inherited_flags(&self) -> Vec<&Flag> {
        let own = self.own_flags();
        self.above
            .iter()
            .flat_map(|command| &command.shared_flags)
            .filter(|flag| !own.iter().any(|own| own.name == flag.name))
            .collect()
    }

    fn flags(&self) -> Vec<&Flag> {
        let mut flags = self.own_flags();
        flags.extend(self.inherited_flags());
        flags
    }
}

/// A command with what its command line says.
pub(super) struct Invocation<'c> {
    found: Found<'c>,
    pub(super) given: Given,
}

impl Invocation<'_> {
    /// The value of a flag, or what it is when it isn't given.
    pub(super) fn text(&self, name: &str) -> &str {
        let default = || {
            let flag = self.found.flags().into_iter().find(|flag| flag.name == name);
            match flag.map(|flag| flag.kind) {
                Some(FlagKind::Text(default)) => default,
                _ => "",
            }
        };
        self.given.last(name).unwrap_or_else(default)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.given.is_on(name)
    }

    /// The texts of a flag that may be given again.
    pub(super) fn list(&self, name: &str) -> Result<Vec<String>, Failure> {
        comma_separated(name, self.given.all(name))
    }

    /// An argument; empty where there is none.
    pub(super) fn argument(&self, position: usize) -> &str {
        self.given.arguments.get(position).map_or("", String::as_str)
    }

    pub(super) fn arguments(&self) -> &[String] {
        &self.given.arguments
    }

    pub(super) fn help(&self) -> String {
        usage::help(&self.found)
    }

    /// The command's path, such as `opm index add`.
    pub(super) fn path(&self) -> String {
        self.found.path()
    }
}

/// Runs the command that words name.
pub(super) fn execute(root: &Command, words: &[String], terminal: &mut Terminal) -> Result<(), Failure> {
    let (found, words) = Found::find(root, words);
    if found.is_root() && words.first().is_some_and(|word| word == HELP) {
        return show_help(root, &words[1..], terminal);
    }
    if let Some(instead) = found.command.deprecated {
        terminal.remark(format!(
            "Command {:?} is deprecated, {instead}",
            found.command.name()
        ));
    }
    match perform(&found, &words, terminal) {
        Ok(()) => Ok(()),
        Err(ending) => ending.tell(&found, terminal),
    }
}

fn perform(found: &Found<'_>, words: &[String], terminal: &mut Terminal) -> Result<(), Ending> {
    let command = found.command;
    let ignores_line = command.arguments == Arguments::Ignored && command.run.is_some();
    let given = if ignores_line {
        Given::default()
    } else {
        let mut flags = found.flags();
        flags.push(&found.help);
        Given::parse(&flags, words).map_err(Ending::Usage)?
    };
    for warning in &given.warnings {
        terminal.remark(warning);
    }
    let Some(run) = command.run.filter(|_| !given.is_on(HELP)) else {
        return Ok(terminal.print(usage::help(found).as_bytes())?);
    };
    command
        .arguments
        .check(&given.arguments, &found.path())
        .map_err(Ending::Usage)?;
    let mut missing: Vec<&str> = found
        .flags()
        .iter()
        .filter(|flag| flag.is_required && !given.has(flag.name))
        .map(|flag| flag.name)
        .collect();
    if !missing.is_empty() {
        missing.sort_unstable();
        let missing = missing.join("\", \"");
        return Err(Ending::Usage(format!("required flag(s) \"{missing}\" not set")));
    }
    if let Some([one, other]) = command.exclusive
        && given.has(one)
        && given.has(other)
    {
        let mut both = [one, other];
        both.sort_unstable();
        return Err(Ending::Usage(format!(
            "if any flags in the group [{one} {other}] are set none of the others can be; [{}] were all set",
            both.join(" ")
        )));
    }
    let invocation = Invocation {
        found: found.clone(),
        given,
    };
    run(&invocation, terminal)
}

/// `opm help [command]`.
fn show_help(root: &Command, words: &[String], terminal: &mut Terminal) -> Result<(), Failure> {
    // A word that names no command is passed over, as opm does.
    let (found, _) = Found::find(root, words);
    terminal.print(usage::help(&found).as_bytes())
}
