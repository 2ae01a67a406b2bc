//! Kubernetes' label selectors: `name=operatorhub`, `suite in (operatorframework),name!=multiarch`, `!suite`.

use std::fmt;

use gotemplate::format::quoted;

use super::names;

/// Selects by labels: every requirement must be met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Exists,
    DoesNotExist,
    Equals,
    DoubleEquals,
    NotEquals,
    In,
    NotIn,
    GreaterThan,
    LessThan,
}

/// Why text is not a selector, in the words of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSelector(String);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

/// The longest first, so that `==` isn't two of `=`.
const SYMBOLS: [&str; 9] = ["!=", "==", "=", "!", ",", "(", ")", "<", ">"];

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            tokens.push(Token::End);
            return tokens;
        }
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = rest.get(symbol.len()..).unwrap_or_default();
            continue;
        }
        let end = rest
            .find(|character: char| " \t\r\n=!(),<>".contains(character))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        tokens.push(Token::Word(word.to_owned()));
        rest = after;
    }
}

impl Selector {
    /// Reads a selector; the empty text selects everything.
    ///
    /// # Errors
    ///
    /// When the text is not one.
    pub fn parse(text: &str) -> Result<Self, InvalidSelector> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        let mut requirements = parser
            .requirements()
            .map_err(|problem| InvalidSelector(format!("unable to parse requirement: {problem}")))?;
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(Self { requirements })
    }

    /// Whether labels meet every requirement.
    #[must_use]
    pub fn matches(&self, labels: &[(&str, &str)]) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.is_met_by(labels))
    }

    /// Whether it selects everything, having no requirement.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl Requirement {
    fn is_met_by(&self, labels: &[(&str, &str)]) -> bool {
        let value = labels
            .iter()
            .find(|(key, _)| *key == self.key)
            .map(|(_, value)| *value);
        let is_one = |value: &str| self.values.iter().any(|one| one == value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(is_one),
            Operator::NotIn | Operator::NotEquals => value.is_none_or(|value| !is_one(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let number = |text: &str| text.parse::<i64>().ok();
                let (Some(given), Some(bound)) = (
                    value.and_then(number),
                    self.values.first().and_then(|bound| number(bound)),
                ) else {
                    return false;
                };
                if self.operator == Operator::GreaterThan {
                    given > bound
                } else {
                    given < bound
                }
            }
        }
    }

    fn new(key: String, operator: Operator, mut values: Vec<String>) -> Result<Self, String> {
        let wrong = names::label_key(&key);
        if !wrong.is_empty() {
            return Err(format!(
                "key: Invalid value: {}: {}",
                quoted(&key),
                wrong.join("; ")
            ));
        }
        if matches!(operator, Operator::GreaterThan | Operator::LessThan)
            && let Some(bound) = values.first().filter(|bound| bound.parse::<i64>().is_err())
        {
            return Err(format!(
                "values[0]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                quoted(bound)
            ));
        }
        for (index, value) in values.iter().enumerate() {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                return Err(format!(
                    "values[{index}][{key}]: Invalid value: {}: {}",
                    quoted(value),
                    wrong.join("; ")
                ));
            }
        }
        values.sort();
        values.dedup();
        Ok(Self {
            key,
            operator,
            values,
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            let key = &requirement.key;
            let values = requirement.values.join(",");
            match requirement.operator {
                Operator::Exists => write!(formatter, "{key}")?,
                Operator::DoesNotExist => write!(formatter, "!{key}")?,
                Operator::Equals => write!(formatter, "{key}={values}")?,
                Operator::DoubleEquals => write!(formatter, "{key}=={values}")?,
                Operator::NotEquals => write!(formatter, "{key}!={values}")?,
                Operator::In => write!(formatter, "{key} in ({values})")?,
                Operator::NotIn => write!(formatter, "{key} notin ({values})")?,
                Operator::GreaterThan => write!(formatter, "{key}>{values}")?,
                Operator::LessThan => write!(formatter, "{key}<{values}")?,
            }
        }
        Ok(())
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                Token::End => return Ok(requirements),
                other @ Token::Symbol(_) => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
            requirements.push(self.requirement()?);
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") => {
                    if !matches!(self.peek(), Token::Word(_) | Token::Symbol("!")) {
                        return Err(format!(
                            "found '{}', expected: identifier after ','",
                            self.peek().text()
                        ));
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let is_negated = *self.peek() == Token::Symbol("!");
        if is_negated {
            self.at += 1;
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        let wrong = names::label_key(&key);
        if !wrong.is_empty() {
            return Err(format!(
                "key: Invalid value: {}: {}",
                quoted(&key),
                wrong.join("; ")
            ));
        }
        let ends_here = matches!(self.peek(), Token::End | Token::Symbol(","));
        if is_negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if ends_here {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let operator = match self.next() {
            Token::Symbol("=") => Operator::Equals,
            Token::Symbol("==") => Operator::DoubleEquals,
            Token::Symbol("!=") => Operator::NotEquals,
            Token::Symbol(">") => Operator::GreaterThan,
            Token::Symbol("<") => Operator::LessThan,
            Token::Word(word) if word == "in" => Operator::In,
            Token::Word(word) if word == "notin" => Operator::NotIn,
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.text()
                ));
            }
        };
        let values = match operator {
            Operator::In | Operator::NotIn => self.list()?,
            _ => vec![self.exact_value()?],
        };
        Requirement::new(key, operator, values)
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            _ => match self.next() {
                Token::Word(word) => Ok(word),
                other => Err(format!("found '{}', expected: identifier", other.text())),
            },
        }
    }

    fn list(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}', expected: '('", other.text())),
        }
        let mut values = Vec::new();
        loop {
            let value = match self.peek() {
                Token::Word(_) => self.next().text().to_owned(),
                Token::Symbol("," | ")") => String::new(),
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', ')' or identifier",
                        other.text()
                    ));
                }
            };
            values.push(value);
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LABELS: &[(&str, &str)] = &[("name", "good-practices"), ("suite", "operatorframework")];

    #[test]
    fn requirements_must_all_be_met() {
        for (text, matches) in [
            ("", true),
            ("name=good-practices", true),
            ("name == good-practices , suite", true),
            ("name!=good-practices", false),
            ("suite in (a,operatorframework)", true),
            ("suite notin (operatorframework)", false),
            ("!suite", false),
            ("!other", true),
            ("other notin (x)", true),
            ("name>3", false),
        ] {
            assert_eq!(
                Selector::parse(text).expect(text).matches(LABELS),
                matches,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_selector_is_said_as_kubernetes_says_it() {
        for (text, problem) in [
            ("=x", "found '=', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a in b", "found 'b', expected: '('"),
            ("a in (b", "found '', expected: ',' or ')'"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ] {
            let error = Selector::parse(text).expect_err(text);
            assert_eq!(
                error.to_string(),
                format!("unable to parse requirement: {problem}"),
                "{text}"
            );
        }
        assert_eq!(
            Selector::parse("b in (z,a), a").expect("a selector").to_string(),
            "a,b in (a,z)"
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(text in "[a-c=!,() ]{0,12}(in)?[a-c=!,() ]{0,6}") {
            if let Ok(selector) = Selector::parse(&text) {
                prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
            }
        }
    }
}
