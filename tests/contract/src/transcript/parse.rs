//! The text form of transcripts, read and written.

use std::fmt::Write as _;

use serde_json::Value;

/// A file of cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// What stands before the first case.
    pub preamble: String,
    /// The cases.
    pub scripts: Vec<Script>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// Its name, a sentence.
    pub name: String,
    /// Why stage may answer otherwise.
    pub differs: Option<String>,
    /// What is asked, in order.
    pub exchanges: Vec<Exchange>,
}

/// A request and what is expected of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// Whether the answer only has to be a success.
    pub preparation: bool,
    /// The method, such as `GET` or `PATCH:merge`.
    pub method: String,
    /// The path as written.
    pub path: String,
    /// The headers as written.
    pub headers: Vec<(String, String)>,
    /// The directives as written, without `! `.
    pub directives: Vec<String>,
    /// The body as written.
    pub body: String,
    /// The recorded answer.
    pub expected: Option<Expected>,
}

/// A recorded answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expected {
    /// The status code.
    pub status: u16,
    /// Headers, as `Name: value`.
    pub headers: Vec<String>,
    /// The body as YAML text.
    pub body: String,
}

impl Exchange {
    /// The argument of a directive, if it is given.
    pub fn directive(&self, name: &str) -> Option<&str> {
        self.directives
            .iter()
            .find_map(|directive| directive.strip_prefix(name))
            .filter(|rest| rest.is_empty() || rest.starts_with(' '))
            .map(str::trim)
    }
}

impl Transcript {
    /// Reads the text form; an error names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut transcript = Self {
            preamble: String::new(),
            scripts: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let wrong = |what: &str| format!("line {}: {what}: {line}", index + 1);
            if let Some(name) = line.strip_prefix("=== ") {
                transcript.scripts.push(Script {
                    name: name.trim().to_owned(),
                    ..Script::default()
                });
                continue;
            }
            let Some(script) = transcript.scripts.last_mut() else {
                transcript.preamble.push_str(line);
                transcript.preamble.push('\n');
                continue;
            };
            let (request, preparation) = match line.strip_prefix(">> ") {
                Some(request) => (Some(request), true),
                None => (line.strip_prefix("> "), false),
            };
            if let Some(request) = request {
                if let Some((name, value)) = header(request) {
                    let exchange = script
                        .exchanges
                        .last_mut()
                        .ok_or_else(|| wrong("a header before a request"))?;
                    exchange.headers.push((name.to_owned(), value.to_owned()));
                } else {
                    let (method, path) = request.split_once(' ').unwrap_or((request, ""));
                    script.exchanges.push(Exchange {
                        preparation,
                        method: method.to_owned(),
                        path: path.trim().to_owned(),
                        ..Exchange::default()
                    });
                }
            } else if let Some(directive) = line.strip_prefix("! ") {
                if let Some(reason) = directive.strip_prefix("differs: ") {
                    script.differs = Some(reason.to_owned());
                } else {
                    let exchange = script
                        .exchanges
                        .last_mut()
                        .ok_or_else(|| wrong("a directive before a request"))?;
                    exchange.directives.push(directive.trim().to_owned());
                }
            } else if let Some(answer) = line.strip_prefix("< ") {
                let exchange = script
                    .exchanges
                    .last_mut()
                    .ok_or_else(|| wrong("an answer before a request"))?;
                match (&mut exchange.expected, answer.trim().parse::<u16>()) {
                    (expected @ None, Ok(status)) => {
                        *expected = Some(Expected {
                            status,
                            ..Expected::default()
                        });
                    }
                    (Some(expected), Err(_)) => expected.headers.push(answer.to_owned()),
                    _ => return Err(wrong("an answer begins with its status code")),
                }
            } else {
                let Some(exchange) = script.exchanges.last_mut() else {
                    if line.trim().is_empty() {
                        continue;
                    }
                    return Err(wrong("neither a request nor part of one"));
                };
                let target = match &mut exchange.expected {
                    Some(expected) => &mut expected.body,
                    None => &mut exchange.body,
                };
                target.push_str(line);
                target.push('\n');
            }
        }
        for exchange in transcript
            .scripts
            .iter_mut()
            .flat_map(|script| &mut script.exchanges)
        {
            trim_end(&mut exchange.body);
            if let Some(expected) = &mut exchange.expected {
                trim_end(&mut expected.body);
            }
        }
        Ok(transcript)
    }

    /// Writes the text form.
    pub fn write(&self) -> String {
        let mut text = format!("{}\n\n", self.preamble.trim_end());
        for script in &self.scripts {
            let _ = writeln!(text, "=== {}", script.name);
            if let Some(reason) = &script.differs {
                let _ = writeln!(text, "! differs: {reason}");
            }
            for exchange in &script.exchanges {
                let mark = if exchange.preparation { ">>" } else { ">" };
                let _ = writeln!(
                    text,
                    "{}",
                    format!("{mark} {} {}", exchange.method, exchange.path).trim_end()
                );
                for (name, value) in &exchange.headers {
                    let _ = writeln!(text, "> {name}: {value}");
                }
                for directive in &exchange.directives {
                    let _ = writeln!(text, "! {directive}");
                }
                text.push_str(&exchange.body);
                if let Some(expected) = &exchange.expected {
                    let _ = writeln!(text, "< {}", expected.status);
                    for header in &expected.headers {
                        let _ = writeln!(text, "< {header}");
                    }
                    text.push_str(&expected.body);
                }
            }
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }
}

impl Expected {
    /// The body as a value.
    pub fn value(&self) -> Result<Value, String> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        goyaml::to_value(self.body.as_bytes()).map_err(|error| error.to_string())
    }
}

/// `Name: value`, where a request line would have a method and a path.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line
        .split_once(": ")
        .or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    is_name.then_some((name, value))
}

fn trim_end(text: &mut String) {
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::Transcript;

    #[test]
    fn a_transcript_is_written_as_it_was_read() {
        let text = "# about\n\n=== first\n! differs: because\n>> POST configmaps\n{a: b}\n> GET x?y=z\n> Accept: text/plain\n! show a.b\n< 200\n< Warning: w\na: b\n\n=== second\n> DELETE y\n< 404\n";
        let read = Transcript::parse(text).unwrap();
        assert_eq!(read.write(), text);
        assert_eq!(read.scripts[0].exchanges[1].directive("show"), Some("a.b"));
        assert_eq!(
            read.scripts[0].exchanges[1]
                .expected
                .as_ref()
                .map(|expected| expected.status),
            Some(200)
        );
    }

    #[test]
    fn a_stray_line_is_reported_with_its_number() {
        assert_eq!(
            Transcript::parse("=== a\nnonsense\n").unwrap_err(),
            "line 2: neither a request nor part of one: nonsense"
        );
    }
}
