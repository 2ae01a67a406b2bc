//! A page of the book as what its readers type, in the order in which they type it.
//!
//! ```text
//! <!-- not run: REASON -->   the next block is for a machine that a test doesn't have
//! <!-- runs on -->           the commands of the next block stay, as in a second terminal
//! <!-- eventually -->        the commands of the next block are repeated until they show what the page shows
//! <!-- exit: 1 -->           the last command of the next block ends with this exit code
//! <!-- setup                 commands that a reader doesn't need to see, one on each line
//! …
//! -->
//! ```

/// What a page asks for, one after the other.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Commands that only the test sees.
    Setup(Vec<Shown>),
    /// A block of commands with what they show.
    Block(Block),
}

/// A `console` block.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Block {
    /// Where it begins.
    pub(crate) line: usize,
    pub(crate) commands: Vec<Shown>,
    /// Why it can't be run, if it can't.
    pub(crate) not_run: Option<String>,
    pub(crate) runs_on: bool,
    pub(crate) eventually: bool,
    /// What the last command ends with.
    pub(crate) exit_code: i32,
}

/// A command and what the page shows of its output.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Shown {
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) output: Vec<String>,
}

/// What stands before a block and is about it.
#[derive(Default)]
struct Remarks {
    not_run: Option<String>,
    runs_on: bool,
    eventually: bool,
    exit_code: Option<i32>,
}

/// Reads a page. An error names the line that a test can't do anything with.
pub(crate) fn read(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut remarks = Remarks::default();
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    while let Some((number, line)) = lines.next() {
        let indented = line.trim_start();
        let indent = line.len() - indented.len();
        if indented == "<!-- setup" {
            let inside: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "-->").collect();
            steps.push(Step::Setup(shown(&inside, "")));
        } else if let Some(remark) = indented.strip_prefix("<!-- ") {
            remarks
                .note(remark.trim_end_matches("-->").trim())
                .map_err(|problem| format!("line {number}: {problem}"))?;
        } else if let Some(language) = indented.strip_prefix("```").filter(|rest| !rest.starts_with('`')) {
            let inside: Vec<(usize, &str)> = lines
                .by_ref()
                .take_while(|(_, line)| line.trim() != "```")
                .map(|(number, line)| (number, line.get(indent..).unwrap_or_default()))
                .collect();
            let types = inside.iter().any(|(_, line)| line.starts_with("$ "));
            match language {
                "console" => {
                    let remarks = std::mem::take(&mut remarks);
                    steps.push(Step::Block(remarks.about(number, shown(&inside, "$ "))));
                }
                "sh" | "bash" | "shell" => {
                    return Err(format!(
                        "line {number}: write it as `console`, with `$ ` before each command"
                    ));
                }
                _ if types => {
                    return Err(format!(
                        "line {number}: commands are in {language:?}; write it as `console`"
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(steps)
}

impl Remarks {
    fn note(&mut self, remark: &str) -> Result<(), String> {
        match remark.split_once(':').unwrap_or((remark, "")) {
            ("not run", reason) if !reason.trim().is_empty() => self.not_run = Some(reason.trim().to_owned()),
            ("not run", _) => return Err("`not run` needs a reason".to_owned()),
            ("runs on", _) => self.runs_on = true,
            ("eventually", _) => self.eventually = true,
            ("exit", code) => {
                let code = code.trim().parse();
                self.exit_code = Some(code.map_err(|_| format!("{remark:?} has no exit code"))?);
            }
            // Any other comment is one.
            _ => {}
        }
        Ok(())
    }

    fn about(self, line: usize, commands: Vec<Shown>) -> Block {
        // An error that is shown is what the page is about.
        let shows_error = commands
            .last()
            .is_some_and(|last| last.output.iter().any(|line| line.starts_with("Error: ")));
        Block {
            line,
            commands,
            not_run: self.not_run,
            runs_on: self.runs_on,
            eventually: self.eventually,
            exit_code: self.exit_code.unwrap_or(i32::from(shows_error)),
        }
    }
}

/// Takes commands, which begin with a prompt, and their output apart.
fn shown(lines: &[(usize, &str)], prompt: &str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut lines = lines.iter();
    while let Some((number, line)) = lines.next() {
        let Some(first) = line.strip_prefix(prompt) else {
            if let Some(last) = commands.last_mut() {
                last.output.push((*line).to_owned());
            }
            continue;
        };
        let mut command = first.to_owned();
        while command.ends_with('\\') {
            let Some((_, next)) = lines.next() else { break };
            command = format!("{command}\n{next}");
        }
        if let Some(end) = here_document(&command) {
            for (_, next) in lines.by_ref() {
                command = format!("{command}\n{next}");
                if *next == end {
                    break;
                }
            }
            command.push('\n');
        }
        commands.push(Shown {
            line: *number,
            command,
            output: Vec::new(),
        });
    }
    commands
}

/// The word that ends what a command reads from the lines after it.
fn here_document(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("<<")?;
    let word: String = rest
        .trim_start_matches(['\'', '"', '-'])
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    (!word.is_empty()).then_some(word)
}

#[test]
fn a_page_is_read_as_its_readers_type_it() {
    let page = "
Words.

<!-- setup
start
stop
-->
```console
$ baton a \\
    --flag
out
  more
$ cat > f <<EOF
x
EOF
```

<!-- not run: needs a cluster -->
```console
$ baton b
```
- in a list:
  ```console
  $ baton c
  Error: no
  ```
";
    let steps = read(page).expect("a page");
    let [
        Step::Setup(setup),
        Step::Block(first),
        Step::Block(second),
        Step::Block(third),
    ] = &steps[..]
    else {
        panic!("{steps:?}")
    };
    let setup: Vec<&str> = setup.iter().map(|shown| shown.command.as_str()).collect();
    assert_eq!(setup, ["start", "stop"]);
    assert_eq!(first.commands[0].command, "baton a \\\n    --flag");
    assert_eq!(first.commands[0].output, ["out", "  more"]);
    assert_eq!(first.commands[1].command, "cat > f <<EOF\nx\nEOF\n");
    assert_eq!(second.not_run.as_deref(), Some("needs a cluster"));
    assert_eq!((third.exit_code, third.not_run.as_ref()), (1, None));
    assert!(read("```sh\nbaton\n```").is_err());
    assert!(read("```text\n$ baton\n```").is_err());
    assert!(read("<!-- not run: -->").is_err());
}
