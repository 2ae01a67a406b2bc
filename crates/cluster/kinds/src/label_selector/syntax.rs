//! The language of label selectors.

use std::collections::BTreeSet;

use schema::field_error::{FieldError, FieldPath};
use schema::structural::name_rules::label_key;
use serde_json::Value;

use super::{Operator, Requirement, SelectorError};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Identifier,
    In,
    NotIn,
    Open,
    Close,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
}

impl Token {
    /// Words that are operators elsewhere are names where a name or value stands.
    fn as_value(self) -> Self {
        if matches!(self, Self::In | Self::NotIn) {
            Self::Identifier
        } else {
            self
        }
    }
}

/// Splits a selector into tokens; the last one is the end.
fn tokens(text: &str) -> Vec<(Token, &str)> {
    let special = |byte: u8| matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<');
    let space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut position = 0;
    loop {
        while bytes.get(position).is_some_and(|&byte| space(byte)) {
            position += 1;
        }
        let rest = text.get(position..).unwrap_or_default();
        // A zero byte is the end for upstream, except after a name, which it ends.
        let Some(&first) = rest.as_bytes().first().filter(|&&byte| byte != 0) else {
            out.push((Token::End, ""));
            return out;
        };
        let (token, length) = if special(first) {
            match (first, rest.as_bytes().get(1)) {
                (b'=', Some(b'=')) => (Token::DoubleEquals, 2),
                (b'!', Some(b'=')) => (Token::NotEquals, 2),
                (b'=', _) => (Token::Equals, 1),
                (b'!', _) => (Token::Not, 1),
                (b'(', _) => (Token::Open, 1),
                (b')', _) => (Token::Close, 1),
                (b',', _) => (Token::Comma, 1),
                (b'>', _) => (Token::Greater, 1),
                _ => (Token::Less, 1),
            }
        } else {
            let ends = |byte: &u8| special(*byte) || space(*byte) || *byte == 0;
            let length = rest.as_bytes().iter().position(ends).unwrap_or(rest.len());
            let token = match rest.get(..length) {
                Some("in") => Token::In,
                Some("notin") => Token::NotIn,
                _ => Token::Identifier,
            };
            (token, length)
        };
        out.push((token, rest.get(..length).unwrap_or_default()));
        position += length;
        if token.as_value() == Token::Identifier && bytes.get(position) == Some(&0) {
            position += 1;
        }
    }
}

struct Parser<'a> {
    tokens: Vec<(Token, &'a str)>,
    position: usize,
}

type Parsed<T> = Result<T, SelectorError>;

fn found<T>(literal: &str, expected: &str) -> Parsed<T> {
    Err(SelectorError(format!("found '{literal}', expected: {expected}")))
}

impl<'a> Parser<'a> {
    fn peek(&self) -> (Token, &'a str) {
        let (token, literal) = self
            .tokens
            .get(self.position)
            .copied()
            .unwrap_or((Token::End, ""));
        (token.as_value(), literal)
    }

    fn next(&mut self) -> (Token, &'a str) {
        let next = self.peek();
        self.position += 1;
        next
    }

    fn selector(&mut self) -> Parsed<Vec<Requirement>> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => {
                    let requirement = self
                        .requirement()
                        .map_err(|error| SelectorError(format!("unable to parse requirement: {error}")))?;
                    requirements.push(requirement);
                    match self.next() {
                        (Token::End, _) => return Ok(requirements),
                        (Token::Comma, _) => {
                            let (token, literal) = self.peek();
                            if !matches!(token, Token::Identifier | Token::Not) {
                                return found(literal, "identifier after ','");
                            }
                        }
                        (_, literal) => return found(literal, "',' or 'end of string'"),
                    }
                }
                (Token::End, _) => return Ok(requirements),
                (_, literal) => return found(literal, "!, identifier, or 'end of string'"),
            }
        }
    }

    fn requirement(&mut self) -> Parsed<Requirement> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return found(key, "identifier");
        }
        let problems = label_key(key);
        if !problems.is_empty() {
            let value = Value::String(key.to_owned());
            let error = FieldError::invalid(FieldPath::root(), &value, problems.join("; "));
            return Err(SelectorError(error.to_string()));
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = if matches!(operator, Operator::In | Operator::NotIn) {
            self.values()?
        } else {
            self.exact_value()?
        };
        Requirement::new(key, operator, values.into_iter().collect())
    }

    fn operator(&mut self) -> Parsed<Operator> {
        let (token, literal) = self
            .tokens
            .get(self.position)
            .copied()
            .unwrap_or((Token::End, ""));
        self.position += 1;
        Ok(match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            _ => return found(literal, "in, notin, =, ==, !=, gt, lt"),
        })
    }

    fn values(&mut self) -> Parsed<BTreeSet<String>> {
        let (token, literal) = self.next();
        if token != Token::Open {
            return Err(SelectorError(format!("found '{literal}' expected: '('")));
        }
        match self.peek() {
            (Token::Identifier | Token::Comma, _) => {
                let values = self.value_list()?;
                self.next();
                Ok(values)
            }
            (Token::Close, _) => {
                self.next();
                Ok(BTreeSet::from([String::new()]))
            }
            (_, literal) => found(literal, "',', ')' or identifier"),
        }
    }

    /// Reads values up to the closing parenthesis, which stays. A value that is left out is the empty one.
    fn value_list(&mut self) -> Parsed<BTreeSet<String>> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Identifier, literal) => {
                    values.insert(literal.to_owned());
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(values),
                        (_, literal) => return found(literal, "',' or ')'"),
                    }
                }
                (Token::Comma, _) => {
                    let (token, _) = self.peek();
                    if values.is_empty() || matches!(token, Token::Close | Token::Comma) {
                        values.insert(String::new());
                    }
                    if token == Token::Close {
                        return Ok(values);
                    }
                }
                (_, literal) => return found(literal, "',', or identifier"),
            }
        }
    }

    fn exact_value(&mut self) -> Parsed<BTreeSet<String>> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            (Token::Identifier, literal) => Ok(BTreeSet::from([literal.to_owned()])),
            (_, literal) => found(literal, "identifier"),
        }
    }
}

/// Reads the requirements of a selector.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    Parser {
        tokens: tokens(text),
        position: 0,
    }
    .selector()
}
