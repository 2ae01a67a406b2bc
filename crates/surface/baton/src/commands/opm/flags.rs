//! Flags as opm reads them: mixed with arguments, letters together, `--flag=false` for switches.

use std::collections::BTreeMap;

use gotemplate::format::quoted;

use crate::arguments::{comma_separated, switch};

/// A flag of a command.
#[derive(Debug, Clone)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) letter: Option<char>,
    pub(super) kind: FlagKind,
    pub(super) usage: String,
    pub(super) is_hidden: bool,
    pub(super) is_required: bool,
    /// What to use instead.
    pub(super) deprecated: Option<&'static str>,
}

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagKind {
    /// Nothing, or true or false behind an equals sign.
    Switch,
    /// A text, with what it is when the flag isn't given.
    Text(&'static str),
    /// Texts between commas; the flag may be given again.
    List,
    /// A number.
    Number(u64),
}

impl Flag {
    fn new(name: &'static str, kind: FlagKind, usage: impl Into<String>) -> Self {
        Self {
            name,
            letter: None,
            kind,
            usage: usage.into(),
            is_hidden: false,
            is_required: false,
            deprecated: None,
        }
    }

    pub(super) fn switch(name: &'static str, usage: impl Into<String>) -> Self {
        Self::new(name, FlagKind::Switch, usage)
    }

    pub(super) fn text(name: &'static str, default: &'static str, usage: impl Into<String>) -> Self {
        Self::new(name, FlagKind::Text(default), usage)
    }

    pub(super) fn list(name: &'static str, usage: impl Into<String>) -> Self {
        Self::new(name, FlagKind::List, usage)
    }

    pub(super) fn number(name: &'static str, default: u64, usage: impl Into<String>) -> Self {
        Self::new(name, FlagKind::Number(default), usage)
    }

    pub(super) fn letter(mut self, letter: char) -> Self {
        self.letter = Some(letter);
        self
    }

    pub(super) fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    pub(super) fn hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// A deprecated flag works, says so, and is not listed.
    pub(super) fn deprecated(mut self, instead: &'static str) -> Self {
        self.deprecated = Some(instead);
        self.hidden()
    }

    fn in_errors(&self) -> String {
        match self.letter {
            Some(letter) => format!("-{letter}, --{}", self.name),
            None => format!("--{}", self.name),
        }
    }

    /// Refuses a value that is not of the flag's kind.
    fn check(&self, value: &str) -> Result<(), String> {
        let invalid = |reason: String| {
            format!(
                "invalid argument {} for {} flag: {reason}",
                quoted(value),
                quoted(self.in_errors())
            )
        };
        match self.kind {
            FlagKind::Switch => switch(value).map(drop).map_err(invalid),
            FlagKind::Text(_) => Ok(()),
            FlagKind::List => comma_separated(&self.in_errors(), &[value.to_owned()])
                .map(drop)
                .map_err(crate::failure::Failure::text),
            FlagKind::Number(_) => value.parse::<u64>().map(drop).map_err(|_| {
                invalid(format!(
                    "strconv.ParseUint: parsing {}: invalid syntax",
                    quoted(value)
                ))
            }),
        }
    }
}

/// What a command line said.
#[derive(Debug, Default)]
pub(super) struct Given {
    values: BTreeMap<&'static str, Vec<String>>,
    pub(super) arguments: Vec<String>,
    /// What is to be said about deprecated flags.
    pub(super) warnings: Vec<String>,
}

impl Given {
    /// Reads the words behind a command.
    pub(super) fn parse(flags: &[&Flag], words: &[String]) -> Result<Self, String> {
        let mut given = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                given.arguments.extend(words.cloned());
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                given.long(flags, word, long, &mut words)?;
            } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                given.letters(flags, letters, &mut words)?;
            } else {
                given.arguments.push(word.clone());
            }
        }
        Ok(given)
    }

    fn long<'w>(
        &mut self,
        flags: &[&Flag],
        word: &str,
        long: &str,
        words: &mut impl Iterator<Item = &'w String>,
    ) -> Result<(), String> {
        if long.starts_with(['-', '=']) {
            return Err(format!("bad flag syntax: {word}"));
        }
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let flag = find(flags, name).ok_or_else(|| format!("unknown flag: --{name}"))?;
        let value = match value {
            Some(value) => value,
            None if flag.kind == FlagKind::Switch => "true".to_owned(),
            None => words
                .next()
                .cloned()
                .ok_or_else(|| format!("flag needs an argument: --{name}"))?,
        };
        self.set(flag, value)
    }

    fn letters<'w>(
        &mut self,
        flags: &[&Flag],
        letters: &str,
        words: &mut impl Iterator<Item = &'w String>,
    ) -> Result<(), String> {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            let flag = flags
                .iter()
                .find(|flag| flag.letter == Some(letter))
                .ok_or_else(|| format!("unknown shorthand flag: '{letter}' in -{rest}"))?;
            let behind = &rest[letter.len_utf8()..];
            let value = match behind.strip_prefix('=').filter(|value| !value.is_empty()) {
                Some(value) => {
                    rest = "";
                    value.to_owned()
                }
                None if flag.kind == FlagKind::Switch => {
                    rest = behind;
                    "true".to_owned()
                }
                None if !behind.is_empty() => {
                    rest = "";
                    behind.to_owned()
                }
                None => {
                    let value = words
                        .next()
                        .ok_or_else(|| format!("flag needs an argument: '{letter}' in -{rest}"))?;
                    rest = "";
                    value.clone()
                }
            };
            self.set(flag, value)?;
        }
        Ok(())
    }

    fn set(&mut self, flag: &Flag, value: String) -> Result<(), String> {
        flag.check(&value)?;
        if let Some(instead) = flag.deprecated {
            self.warnings
                .push(format!("Flag --{} has been deprecated, {instead}", flag.name));
        }
        self.values.entry(flag.name).or_default().push(value);
        Ok(())
    }

    /// Whether a flag stands on the command line, whatever its value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub(super) fn last(&self, name: &str) -> Option<&str> {
        Some(self.values.get(name)?.last()?.as_str())
    }

    pub(super) fn all(&self, name: &str) -> &[String] {
        self.values.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a switch is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.last(name).is_some_and(|value| switch(value) == Ok(true))
    }
}

fn find<'f>(flags: &[&'f Flag], name: &str) -> Option<&'f Flag> {
    flags.iter().copied().find(|flag| flag.name == name)
}

/// The words that are neither flags nor their values, as far as that can be told before the command is known: a flag that
/// nobody knows is taken to have a value.
pub(super) fn without_flags<'w>(flags: &[&Flag], words: &'w [String]) -> Vec<(usize, &'w str)> {
    let is_switch = |wanted: &dyn Fn(&Flag) -> bool| {
        flags
            .iter()
            .any(|flag| wanted(flag) && flag.kind == FlagKind::Switch)
    };
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(word) = words.get(position) {
        position += 1;
        if word == "--" {
            break;
        }
        let takes_value = if word.contains('=') {
            false
        } else if let Some(long) = word.strip_prefix("--") {
            !is_switch(&|flag| flag.name == long)
        } else if let Some(letter) = word.strip_prefix('-') {
            let mut letters = letter.chars();
            matches!((letters.next(), letters.next()), (Some(letter), None) if !is_switch(&|flag| flag.letter == Some(letter)))
        } else {
            false
        };
        if takes_value {
            if words.len() - position <= 1 {
                break;
            }
            position += 1;
        } else if !word.is_empty() && !word.starts_with('-') {
            found.push((position - 1, word.as_str()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Given, String> {
        let flags = [
            Flag::text("output", "json", "").letter('o'),
            Flag::switch("use-http", ""),
            Flag::switch("gzip", "").letter('z'),
            Flag::list("extra-labels", "").letter('l'),
            Flag::switch("skip-tls", "").deprecated("use another"),
            Flag::number("datalimit", 7, ""),
        ];
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Given::parse(&flags.iter().collect::<Vec<_>>(), &words)
    }

    #[test]
    fn a_value_is_given_in_every_spelling() {
        for line in [
            "a -o yaml b",
            "a b -oyaml",
            "-o=yaml a b",
            "--output yaml a b",
            "a --output=yaml b",
            "-zo yaml a b",
            "-zoyaml a b",
            "-o json a b --output yaml",
        ] {
            let given = read(line).expect(line);
            assert_eq!(given.last("output"), Some("yaml"), "{line}");
            assert_eq!(given.arguments, ["a", "b"], "{line}");
        }
    }

    #[test]
    fn switches_are_revoked_and_the_last_one_counts() {
        assert!(read("--use-http").expect("read").is_on("use-http"));
        let given = read("--use-http --use-http=false").expect("read");
        assert!(!given.is_on("use-http") && given.has("use-http"));
        assert_eq!(read("--use-http x").expect("read").arguments, ["x"]);
        assert_eq!(read("-z=F").map(|given| given.is_on("gzip")), Ok(false));
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_the_library() {
        for (line, text) in [
            ("--nope", "unknown flag: --nope"),
            ("--nope=1", "unknown flag: --nope"),
            ("-xz", "unknown shorthand flag: 'x' in -xz"),
            ("-zx", "unknown shorthand flag: 'x' in -x"),
            ("--output", "flag needs an argument: --output"),
            ("-zo", "flag needs an argument: 'o' in -o"),
            ("---output", "bad flag syntax: ---output"),
            (
                "--use-http=maybe",
                "invalid argument \"maybe\" for \"--use-http\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
            (
                "--datalimit=x",
                "invalid argument \"x\" for \"--datalimit\" flag: strconv.ParseUint: parsing \"x\": invalid syntax",
            ),
        ] {
            assert_eq!(
                read(line).map(|given| given.arguments),
                Err(text.to_owned()),
                "{line}"
            );
        }
    }

    #[test]
    fn what_follows_two_dashes_is_no_flag_and_one_dash_is_an_argument() {
        assert_eq!(read("- -- --output").expect("read").arguments, ["-", "--output"]);
        assert_eq!(
            read("--skip-tls").expect("read").warnings,
            ["Flag --skip-tls has been deprecated, use another"]
        );
        assert_eq!(
            read("-l a=1,b=2 -l c=3").expect("read").all("extra-labels"),
            ["a=1,b=2", "c=3"]
        );
    }
}
