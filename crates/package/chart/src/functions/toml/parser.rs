//! Reads TOML 1.0 in the order of `BurntSushi`'s lexer and parser, so that the first complaint is theirs.

mod strings;

use gotemplate::format::{is_letter, quoted, sprintf};
use gotemplate::{Failure, Integer, IntegerKind, Map, Text, Value};

use super::characters::{Characters, Complaint, END, is_bare_key, is_blank, is_line_end};
use super::document::Document;
use super::numbers;
use crate::functions::limits;
use crate::time::Location;

/// The zones of times: those with an offset of their own, and those without.
pub(super) struct Zones {
    pub(super) local: Location,
    /// The machine's offset from UTC at present.
    pub(super) offset: i64,
}

/// Reads a text into a map; errors have the library's words.
pub(super) fn parse(text: &[u8], zones: &Zones) -> Result<Value, Failure> {
    let marks: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];
    let text = marks
        .iter()
        .find_map(|mark| text.strip_prefix(*mark))
        .unwrap_or(text);
    if text.iter().take(6).any(|byte| *byte == 0) {
        return Err(
            "toml: line 1: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8"
                .into(),
        );
    }
    let mut parser = Parser {
        input: Characters::new(text),
        document: Document::default(),
        line: 0,
        depth: 0,
        line_of_closed: 0,
        zones,
    };
    match parser.top() {
        Ok(()) => Ok(parser.document.into_value()),
        Err(Stop::Complaint(complaint)) => {
            let last_key = parser.document.last_key();
            let Complaint { line, message } = complaint;
            Err(Failure::Message(if last_key.is_empty() {
                format!("toml: line {line}: {message}")
            } else {
                format!("toml: line {line} (last key {}): {message}", quoted(last_key))
            }))
        }
        Err(Stop::Failure(failure)) => Err(failure),
    }
}

struct Parser<'a> {
    input: Characters<'a>,
    document: Document,
    /// The line of the last key, which complaints about definitions mention.
    line: usize,
    depth: usize,
    /// The line on which the last multi-line string ended.
    line_of_closed: usize,
    zones: &'a Zones,
}

/// Why reading ends early.
enum Stop {
    Complaint(Complaint),
    Failure(Failure),
}

impl From<Complaint> for Stop {
    fn from(complaint: Complaint) -> Stop {
        Stop::Complaint(complaint)
    }
}

type Step<T> = Result<T, Stop>;

/// A character as Go's `%q` shows it.
fn shown(character: char) -> String {
    let number = Value::Integer(Integer {
        kind: IntegerKind::Int32,
        bits: i64::from(u32::from(character)),
    });
    String::from_utf8_lossy(&sprintf(b"%q", &[number])).into_owned()
}

fn shown_or_end(character: char) -> String {
    if character == END {
        "end of file".into()
    } else {
        format!("'{character}'")
    }
}

impl Parser<'_> {
    fn complain<T>(&self, message: impl Into<String>) -> Step<T> {
        Err(self.input.complain(message).into())
    }

    /// Turns what is wrong with a definition into a complaint about the last key's line.
    fn defined<T>(&self, result: Result<T, String>) -> Step<T> {
        result.map_err(|message| {
            Stop::Complaint(Complaint {
                line: self.line,
                message,
            })
        })
    }

    fn top(&mut self) -> Step<()> {
        loop {
            match self.input.next()? {
                END => return Ok(()),
                character if is_blank(character) || is_line_end(character) => self.input.start_item(),
                '#' => self.comment()?,
                '[' => {
                    self.table_header()?;
                    self.end_of_line()?;
                }
                _ => {
                    self.input.back();
                    self.key_and_value()?;
                    self.end_of_line()?;
                }
            }
        }
    }

    fn comment(&mut self) -> Step<()> {
        loop {
            let character = self.input.next()?;
            if is_line_end(character) || character == END {
                self.input.back();
                self.input.start_item();
                return Ok(());
            }
        }
    }

    fn end_of_line(&mut self) -> Step<()> {
        loop {
            match self.input.next()? {
                '#' => return self.comment(),
                END => {
                    self.input.back();
                    return Ok(());
                }
                character if is_blank(character) => {}
                character if is_line_end(character) => {
                    self.input.start_item();
                    return Ok(());
                }
                character => {
                    return self.complain(format!(
                        "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                        shown(character)
                    ));
                }
            }
        }
    }

    fn table_header(&mut self) -> Step<()> {
        let in_array = self.input.accept('[')?;
        let mut key = Vec::new();
        loop {
            self.input.skip_blanks()?;
            match self.input.peek()? {
                ']' | END => {
                    return self.complain("unexpected end of table name (table names cannot be empty)");
                }
                '.' => return self.complain("unexpected table separator (table names cannot be empty)"),
                _ => {}
            }
            match self.push_key_part(&mut key)? {
                '.' => self.input.start_item(),
                ']' => break,
                character => {
                    let got = shown(character);
                    return self.complain(format!(
                        "expected '.' or ']' to end table name, but got {got} instead"
                    ));
                }
            }
        }
        if in_array {
            let character = self.input.next()?;
            if character != ']' {
                let got = shown(character);
                return self.complain(format!(
                    "expected end of table array name delimiter ']', but got {got} instead"
                ));
            }
        }
        self.input.start_item();
        let entered = self.document.enter(&key, in_array);
        self.defined(entered)?;
        self.document.set_array(&Text::default(), false);
        Ok(())
    }

    /// Reads one more part of a dotted key; returns the character after it.
    fn push_key_part(&mut self, key: &mut Vec<Text>) -> Step<char> {
        let part = self.key_part()?;
        if key.is_empty() {
            self.line = self.input.line();
        }
        key.push(part);
        self.input.skip_blanks()?;
        Ok(self.input.next()?)
    }

    /// Reads one part of a key, bare or in quotes.
    fn key_part(&mut self) -> Step<Text> {
        match self.input.peek()? {
            '"' => {
                self.input.next()?;
                self.input.start_item();
                let (text, line) = self.string()?;
                strings::unescaped(text, line)
            }
            '\'' => {
                self.input.next()?;
                self.input.start_item();
                Ok(self.raw_string()?.into())
            }
            _ => {
                while is_bare_key(self.input.next()?) {}
                self.input.back();
                Ok(self.input.take_item().into())
            }
        }
    }

    /// Reads a key up to its `=`, goes into the tables that it names, and returns those.
    fn key(&mut self) -> Step<Vec<Text>> {
        self.input.skip_blanks()?;
        match self.input.peek()? {
            '=' | END => return self.complain("unexpected '=': key name appears blank"),
            '.' => return self.complain("unexpected '.': keys cannot start with a '.'"),
            _ => {}
        }
        let mut key = Vec::new();
        loop {
            self.input.skip_blanks()?;
            match self.input.peek()? {
                '=' | END => return self.complain("unexpected '='"),
                '.' => return self.complain("unexpected '.'"),
                _ => {}
            }
            match self.push_key_part(&mut key)? {
                END => return self.complain("unexpected EOF; expected key separator '='"),
                '.' => self.input.start_item(),
                '=' => break,
                character => {
                    return self.complain(format!(
                        "expected '.' or '=', but got {} instead",
                        shown(character)
                    ));
                }
            }
        }
        self.input.start_item();
        self.document.current = key.pop().unwrap_or_default();
        for part in &key {
            let entered = self.document.enter_implicit(part);
            self.defined(entered)?;
        }
        Ok(key)
    }

    fn key_and_value(&mut self) -> Step<()> {
        let outer = self.document.context.clone();
        self.key()?;
        let value = self.value(false)?;
        let current = self.document.current.clone();
        let is_array = matches!(value, Value::List(_));
        let set = self.document.set(&current, value);
        self.defined(set)?;
        self.document.set_array(&current, is_array);
        self.document.context = outer;
        self.document.current = Text::default();
        Ok(())
    }

    fn value(&mut self, in_array: bool) -> Step<Value> {
        self.input.skip_blanks()?;
        let character = self.input.next()?;
        match character {
            '0'..='9' => {
                self.input.back();
                return self.number_or_time();
            }
            '[' => return self.deeper(Parser::array),
            '{' => return self.deeper(|parser| parser.inline_table(in_array)),
            '"' => {
                if self.input.accept('"')? {
                    if self.input.accept('"')? {
                        self.input.start_item();
                        return self.multi_line_string();
                    }
                    self.input.back();
                }
                self.input.start_item();
                let (text, line) = self.string()?;
                return Ok(Value::String(strings::unescaped(text, line)?));
            }
            '\'' => {
                if self.input.accept('\'')? {
                    if self.input.accept('\'')? {
                        self.input.start_item();
                        return self.multi_line_raw_string();
                    }
                    self.input.back();
                }
                self.input.start_item();
                return Ok(Value::string(self.raw_string()?));
            }
            '.' => return self.complain("floats must start with a digit, not '.'"),
            'i' | 'n'
                if self.input.accept('n')? && self.input.accept('f')?
                    || self.input.accept('a')? && self.input.accept('n')? =>
            {
                return self.float();
            }
            '-' | '+' => return self.signed_number(),
            _ => {}
        }
        if is_letter(character) {
            self.input.back();
            return self.boolean();
        }
        if character == END {
            return self.complain("unexpected EOF; expected value");
        }
        self.complain(format!("expected value but found {} instead", shown(character)))
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Step<Value>) -> Step<Value> {
        self.depth += 1;
        let result = limits::nested(self.depth, || Ok(read(self)));
        self.depth -= 1;
        result.unwrap_or_else(|failure| Err(Stop::Failure(failure)))
    }

    fn array(&mut self) -> Step<Value> {
        self.input.start_item();
        let current = self.document.current.clone();
        self.document.set_array(&current, true);
        let mut items = Vec::new();
        loop {
            match self.input.next()? {
                character if is_blank(character) || is_line_end(character) => {
                    self.input.start_item();
                    continue;
                }
                '#' => {
                    self.comment()?;
                    continue;
                }
                ',' => return self.complain("unexpected comma"),
                ']' => break,
                _ => self.input.back(),
            }
            items.push(self.value(true)?);
            if !self.another_item()? {
                break;
            }
        }
        self.input.start_item();
        Ok(Value::list(items))
    }

    /// Reads what follows an item of an array, and returns whether that was a comma.
    fn another_item(&mut self) -> Step<bool> {
        loop {
            match self.input.next()? {
                character if is_blank(character) || is_line_end(character) => self.input.start_item(),
                '#' => self.comment()?,
                ',' => {
                    self.input.start_item();
                    return Ok(true);
                }
                ']' => return Ok(false),
                character => {
                    let got = shown_or_end(character);
                    return self.complain(format!(
                        "expected a comma (',') or array terminator (']'), but got {got}"
                    ));
                }
            }
        }
    }

    fn inline_table(&mut self, in_array: bool) -> Step<Value> {
        self.input.start_item();
        let outer_context = self.document.context.clone();
        let outer_key = std::mem::take(&mut self.document.current);
        let mut context = outer_context.clone();
        context.push(outer_key.clone());
        self.document.context.clone_from(&context);
        self.document.add_implicit(&context);
        let entered = self.document.enter(&context, in_array);
        self.defined(entered)?;
        let table = Map::default();
        loop {
            match self.input.next()? {
                character if is_blank(character) => {
                    self.input.start_item();
                    continue;
                }
                character if is_line_end(character) => {
                    return Err(self
                        .input
                        .complain_before("newlines not allowed within inline tables")
                        .into());
                }
                '#' => {
                    self.comment()?;
                    continue;
                }
                ',' => return self.complain("unexpected comma"),
                '}' => break,
                _ => self.input.back(),
            }
            self.inline_entry(&table)?;
            self.document.context.clone_from(&context);
            if !self.another_entry()? {
                break;
            }
        }
        self.input.start_item();
        self.document.context = outer_context;
        self.document.current = outer_key;
        Ok(Value::Map(table))
    }

    fn inline_entry(&mut self, table: &Map) -> Step<()> {
        let parents = self.key()?;
        let value = self.value(false)?;
        let current = self.document.current.clone();
        let set = self.document.set(&current, value.clone());
        self.defined(set)?;
        self.document.set_array(&current, matches!(value, Value::List(_)));
        let mut inner = table.clone();
        for part in &parents {
            let next = inner.get(part.as_bytes()).unwrap_or_else(|| {
                let next = Value::map::<_, Text>([]);
                inner.insert(part.clone(), next.clone());
                next
            });
            let Value::Map(next) = next else {
                let key = super::key::dotted(&self.document.context);
                return self.defined(Err(format!("{} is not a table", quoted(key))));
            };
            inner = next;
        }
        inner.insert(current, value);
        Ok(())
    }

    /// Reads what follows an entry of an inline table, and returns whether that was a comma.
    fn another_entry(&mut self) -> Step<bool> {
        loop {
            match self.input.next()? {
                character if is_blank(character) => self.input.start_item(),
                character if is_line_end(character) => {
                    return Err(self
                        .input
                        .complain_before("newlines not allowed within inline tables")
                        .into());
                }
                '#' => self.comment()?,
                ',' => {
                    self.input.start_item();
                    self.input.skip_blanks()?;
                    if self.input.peek()? == '}' {
                        return self.complain("trailing comma not allowed in inline tables");
                    }
                    return Ok(true);
                }
                '}' => return Ok(false),
                character => {
                    let got = shown_or_end(character);
                    return self.complain(format!(
                        "expected a comma or an inline table terminator '}}', but got {got} instead"
                    ));
                }
            }
        }
    }

    fn boolean(&mut self) -> Step<Value> {
        let mut word = String::new();
        loop {
            let character = self.input.next()?;
            if !is_letter(character) {
                self.input.back();
                break;
            }
            word.push(character);
        }
        self.input.start_item();
        match word.as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => self.complain(format!("expected value but found {} instead", quoted(word))),
        }
    }

    fn item_text(&mut self) -> String {
        String::from_utf8_lossy(self.input.take_item()).into_owned()
    }

    /// Adds this line to what is wrong with a finished item.
    fn finished(&self, result: Result<Value, String>) -> Step<Value> {
        let line = self.input.line();
        result.map_err(|message| Stop::Complaint(Complaint { line, message }))
    }

    fn integer(&mut self) -> Step<Value> {
        let text = self.item_text();
        self.finished(numbers::integer(&text))
    }

    fn float(&mut self) -> Step<Value> {
        let text = self.item_text();
        self.finished(numbers::float(&text))
    }

    /// Reads the characters that `belongs` takes.
    fn read_while(&mut self, belongs: impl Fn(char) -> bool) -> Step<char> {
        loop {
            let character = self.input.next()?;
            if !belongs(character) {
                return Ok(character);
            }
        }
    }

    fn number_or_time(&mut self) -> Step<Value> {
        if self.input.accept('0')? {
            match self.input.next()? {
                '0'..='9' => {}
                '_' => return self.decimal_number(),
                '.' | 'e' | 'E' => return self.rest_of_float(),
                'b' => return self.based_integer("a binary", |digit| matches!(digit, '0' | '1')),
                'o' => return self.based_integer("an octal", |digit| matches!(digit, '0'..='7')),
                'x' => return self.based_integer("a hexidecimal", |digit| digit.is_ascii_hexdigit()),
                _ => {
                    self.input.back();
                    return self.integer();
                }
            }
        }
        match self.read_while(|character| character.is_ascii_digit())? {
            '-' | ':' => {
                let belongs = |character: char| {
                    character.is_ascii_digit()
                        || matches!(character, '-' | ':' | 'T' | 't' | ' ' | '.' | 'Z' | 'z' | '+')
                };
                self.read_while(belongs)?;
                self.input.back();
                let text = self.input.take_item().trim_ascii();
                let time = numbers::time(text, self.zones);
                self.finished(time)
            }
            '_' => self.decimal_number(),
            '.' | 'e' | 'E' => self.rest_of_float(),
            _ => {
                self.input.back();
                self.integer()
            }
        }
    }

    fn based_integer(&mut self, name: &str, is_digit: fn(char) -> bool) -> Step<Value> {
        let next = self.input.peek()?;
        if !is_digit(next) {
            let so_far = String::from_utf8_lossy(self.input.item()).into_owned();
            return self.complain(format!("not {name} number: '{so_far}{next}'"));
        }
        self.read_while(|character| is_digit(character) || character == '_')?;
        self.input.back();
        self.integer()
    }

    fn decimal_number(&mut self) -> Step<Value> {
        match self.read_while(|character| character.is_ascii_digit() || character == '_')? {
            '.' | 'e' | 'E' => self.rest_of_float(),
            _ => {
                self.input.back();
                self.integer()
            }
        }
    }

    fn rest_of_float(&mut self) -> Step<Value> {
        let belongs = |character: char| {
            character.is_ascii_digit() || matches!(character, '_' | '.' | '-' | '+' | 'e' | 'E')
        };
        self.read_while(belongs)?;
        self.input.back();
        self.float()
    }

    fn signed_number(&mut self) -> Step<Value> {
        let so_far = |parser: &Self| String::from_utf8_lossy(parser.input.item()).into_owned();
        let character = self.input.next()?;
        let spelled = match character {
            'i' => Some(self.input.accept('n')? && self.input.accept('f')?),
            'n' => Some(self.input.accept('a')? && self.input.accept('n')?),
            _ => None,
        };
        match (character, spelled) {
            (_, Some(true)) => self.float(),
            (_, Some(false)) => self.complain(format!("invalid float: '{}'", so_far(self))),
            ('.', None) => self.complain("floats must start with a digit, not '.'"),
            ('0'..='9', None) => {
                if character == '0' {
                    let next = self.input.peek()?;
                    if matches!(next, 'b' | 'o' | 'x') {
                        return self.complain(format!(
                            "cannot use sign with non-decimal numbers: '{}{next}'",
                            so_far(self)
                        ));
                    }
                }
                self.decimal_number()
            }
            _ => self.complain(format!("expected a digit but got {}", shown(character))),
        }
    }
}
