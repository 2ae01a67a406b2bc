//! Flags that several commands share, read as Helm reads them.

use std::ffi::OsString;

use chart::capabilities::KubeVersion;
use chart::value_options::ValueOptions;
use clap::builder::ArgAction;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command};

use crate::failure::Failure;

/// Flags that set values.
#[derive(Args)]
#[command(next_help_heading = "Values")]
pub(crate) struct ValueFlags {
    /// Take values from a YAML file; several are separated by commas, or the flag is given again
    #[arg(short = 'f', long, value_name = "FILE", allow_hyphen_values = true)]
    values: Vec<String>,
    /// Set values and guess their types: a.b=1,c[0]=true
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set: Vec<String>,
    /// Set values that are always text
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set_string: Vec<String>,
    /// Set values to the contents of files
    #[arg(long, value_name = "KEY=PATH", allow_hyphen_values = true)]
    set_file: Vec<String>,
    /// Set values that are written as JSON
    #[arg(long, value_name = "KEY=JSON", allow_hyphen_values = true)]
    set_json: Vec<String>,
    /// Set a value to exactly this text
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set_literal: Vec<String>,
}

impl ValueFlags {
    pub(crate) fn options(&self) -> Result<ValueOptions, Failure> {
        Ok(ValueOptions {
            files: comma_separated("-f, --values", &self.values)?,
            set_json: self.set_json.clone(),
            set: self.set.clone(),
            set_string: self.set_string.clone(),
            set_file: self.set_file.clone(),
            set_literal: self.set_literal.clone(),
        })
    }
}

/// Flags that say which namespace and cluster templates see.
#[derive(Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    /// The namespace that templates see as .Release.Namespace
    #[arg(
        short,
        long,
        env = "HELM_NAMESPACE",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    namespace: Option<String>,
    /// The version of Kubernetes that templates see
    #[arg(long, value_name = "VERSION", allow_hyphen_values = true)]
    kube_version: Option<String>,
    /// The file whose current context names the namespace when --namespace does not
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    kubeconfig: Option<String>,
    /// The context of that file to take in place of the current one
    #[arg(
        long,
        value_name = "CONTEXT",
        env = "HELM_KUBECONTEXT",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    kube_context: Option<String>,
}

impl ClusterFlags {
    /// The namespace: the flag's, or the kubeconfig's, or `default`, as in Helm.
    pub(crate) fn namespace(&self) -> String {
        self.namespace
            .clone()
            .filter(|namespace| !namespace.is_empty())
            .or_else(|| {
                crate::kubeconfig::namespace(self.kubeconfig.as_deref(), self.kube_context.as_deref())
            })
            .unwrap_or_else(|| "default".to_owned())
    }

    pub(crate) fn kube_version(&self) -> Result<Option<KubeVersion>, Failure> {
        let Some(text) = self.kube_version.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        KubeVersion::parse(text)
            .map(Some)
            .map_err(|error| Failure::new(format!("invalid kube version '{text}': {error}")))
    }
}

/// Splits the values of a flag at commas, with the quotes of CSV, as Helm's flag library does.
pub(crate) fn comma_separated(flag: &str, values: &[String]) -> Result<Vec<String>, Failure> {
    let mut items = Vec::new();
    for value in values.iter().filter(|value| !value.is_empty()) {
        split_csv(value, &mut items).map_err(|reason| {
            Failure::new(format!(
                "invalid argument {value:?} for \"{flag}\" flag: {reason}"
            ))
        })?;
    }
    Ok(items)
}

fn split_csv(line: &str, items: &mut Vec<String>) -> Result<(), &'static str> {
    let mut rest = line;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            let (item, tail) = rest
                .split_once(',')
                .map_or((rest, None), |(item, tail)| (item, Some(tail)));
            if item.contains('"') {
                return Err("parse error on line 1: bare \" in non-quoted field");
            }
            items.push(item.to_owned());
            match tail {
                Some(tail) => rest = tail,
                None => return Ok(()),
            }
            continue;
        };
        let mut item = String::new();
        let mut tail = quoted;
        loop {
            let Some((before, after)) = tail.split_once('"') else {
                return Err("parse error on line 1: extraneous or missing \" in quoted-field");
            };
            item.push_str(before);
            tail = after;
            match after.strip_prefix('"') {
                Some(after) => {
                    item.push('"');
                    tail = after;
                }
                None => break,
            }
        }
        items.push(item);
        match tail.strip_prefix(',') {
            Some(after) => rest = after,
            None if tail.is_empty() => return Ok(()),
            None => return Err("parse error on line 1: extraneous or missing \" in quoted-field"),
        }
    }
}

/// Reads the value of a switch such as `--include-crds=false`, in all the spellings that Go knows.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

/// Replaces `--switch=true` by `--switch`, and takes `--switch=false` out together with what it revokes.
pub(crate) fn plain_switches(
    program: &Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Vec<OsString>, Failure> {
    let is_switch = |command: &Command, name: &str| {
        command.get_arguments().any(|argument| {
            let is_called = argument.get_long() == Some(name)
                || argument
                    .get_all_aliases()
                    .is_some_and(|aliases| aliases.contains(&name));
            is_called && matches!(argument.get_action(), ArgAction::SetTrue)
        })
    };
    let mut command = program;
    let mut arguments = arguments.into_iter();
    let mut plain: Vec<OsString> = arguments.next().into_iter().collect();
    while let Some(argument) = arguments.next() {
        if let Some(next) = argument.to_str().and_then(|word| command.find_subcommand(word)) {
            command = next;
        }
        // What is handed on as it is has flags of its own.
        let is_handed_on = command.get_arguments().any(Arg::is_trailing_var_arg_set);
        if argument == "--" || is_handed_on {
            plain.push(argument);
            plain.extend(arguments);
            break;
        }
        let spelled = argument
            .to_str()
            .and_then(|text| text.strip_prefix("--")?.split_once('='));
        let Some((name, value)) = spelled.filter(|(name, _)| is_switch(command, name)) else {
            plain.push(argument);
            continue;
        };
        let flag = format!("--{name}");
        plain.retain(|earlier| *earlier != *flag);
        match switch(value) {
            Ok(true) => plain.push(flag.into()),
            Ok(false) => {}
            Err(reason) => {
                return Err(Failure::new(format!(
                    "invalid argument {value:?} for \"{flag}\" flag: {reason}"
                )));
            }
        }
    }
    Ok(plain)
}

/// Says what is wrong with a command line, in Helm's words where it has them.
pub(crate) fn usage_error(error: &clap::Error) -> Failure {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let argument = context(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::UnknownArgument if argument.starts_with("--") => {
            let similar = context(ContextKind::SuggestedArg);
            let hint = if similar.is_empty() {
                String::new()
            } else {
                format!("; did you mean {similar}?")
            };
            Failure::new(format!("unknown flag: {argument}{hint}"))
        }
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            let letter = argument.chars().nth(1).unwrap_or('-');
            Failure::new(format!("unknown shorthand flag: {letter:?} in {argument}"))
        }
        ErrorKind::InvalidValue if context(ContextKind::InvalidValue).is_empty() => {
            let flag = argument.split_whitespace().next().unwrap_or_default();
            Failure::new(format!("flag needs an argument: {flag}"))
        }
        ErrorKind::InvalidSubcommand => {
            let command = context(ContextKind::InvalidSubcommand);
            Failure::new(format!(
                "unknown command {command:?} for \"baton\"\nRun 'baton --help' for usage."
            ))
        }
        _ => {
            let text = error.to_string();
            Failure::new(
                text.strip_prefix("error: ")
                    .unwrap_or(&text)
                    .trim_end()
                    .to_owned(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_as_csv() {
        let split = |text: &str| comma_separated("-f", &[text.to_owned()]).ok();
        assert_eq!(split("a,b"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(split("a,"), Some(vec!["a".to_owned(), String::new()]));
        assert_eq!(split("\"a,b\",c"), Some(vec!["a,b".to_owned(), "c".to_owned()]));
        assert_eq!(split("\"a\"\"b\""), Some(vec!["a\"b".to_owned()]));
        assert_eq!(split("a\"b"), None);
        assert_eq!(split("\"a"), None);
        assert_eq!(split("\"a\"b"), None);
        assert_eq!(split(""), Some(vec![]));
    }

    #[test]
    fn a_switch_can_be_given_a_value_and_revoked() {
        let program = Command::new("baton").subcommand(
            Command::new("a")
                .arg(clap::Arg::new("x").long("x").action(ArgAction::SetTrue))
                .arg(clap::Arg::new("y").long("y")),
        );
        let program = program
            .subcommand(
                Command::new("b").subcommand(
                    Command::new("c").arg(clap::Arg::new("z").long("z").action(ArgAction::SetTrue)),
                ),
            )
            .subcommand(Command::new("d").arg(clap::Arg::new("words").trailing_var_arg(true).num_args(0..)));
        let plain = |line: &str| {
            let arguments = plain_switches(&program, line.split(' ').map(OsString::from)).ok()?;
            Some(
                arguments
                    .iter()
                    .map(|argument| argument.to_string_lossy())
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        assert_eq!(
            plain("baton a --x=true --y=1").as_deref(),
            Some("baton a --x --y=1")
        );
        assert_eq!(plain("baton a --x b --x=F").as_deref(), Some("baton a b"));
        assert_eq!(
            plain("baton a -- --x=true").as_deref(),
            Some("baton a -- --x=true")
        );
        assert_eq!(plain("baton a --x=maybe"), None);
        assert_eq!(
            plain("baton b c --z=true --x=true").as_deref(),
            Some("baton b c --z --x=true")
        );
        assert_eq!(plain("baton d --x=true").as_deref(), Some("baton d --x=true"));
    }

    #[test]
    fn switches_know_the_spellings_of_go() {
        assert_eq!(switch("T"), Ok(true));
        assert_eq!(switch("False"), Ok(false));
        assert!(switch("yes").is_err());
    }
}
