//! The text of a path as steps.

use serde_json::Value;

use super::{Bound, Comparison, JsonPathError, Step};

/// How deep filters and unions may be nested in each other.
const MAX_DEPTH: usize = 16;

/// Reads a path.
pub(super) fn parse(text: &str) -> Result<Vec<Step>, JsonPathError> {
    steps(text, 0)
}

fn refused<T>(text: impl Into<String>) -> Result<T, JsonPathError> {
    Err(JsonPathError(text.into()))
}

fn steps(text: &str, depth: usize) -> Result<Vec<Step>, JsonPathError> {
    if depth > MAX_DEPTH {
        return refused("the path is nested too deeply");
    }
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        rest = if let Some(filter) = rest.strip_prefix("[?(") {
            let (step, after) = filter_step(filter, depth)?;
            out.push(step);
            after
        } else if let Some(after) = rest.strip_prefix("..") {
            out.push(Step::Descent);
            if after
                .chars()
                .next()
                .is_some_and(|next| next.is_alphanumeric() || next == '_')
            {
                let (step, after) = field(after);
                out.push(step);
                after
            } else {
                after
            }
        } else {
            match first {
                ' ' | '@' | '$' => after,
                '.' => {
                    let (step, after) = field(after);
                    out.push(step);
                    after
                }
                '[' => {
                    let Some((inside, after)) = after.split_once(']') else {
                        return refused("unterminated array");
                    };
                    out.extend(brackets(inside, depth)?);
                    after
                }
                '"' | '\'' => {
                    let (step, after) = quoted(after, first)?;
                    out.push(step);
                    after
                }
                '+' | '-' | '0'..='9' => {
                    let (step, after) = number(rest)?;
                    out.push(step);
                    after
                }
                letter if letter.is_alphanumeric() || letter == '_' => {
                    let end = rest
                        .find(|one: char| !(one.is_alphanumeric() || one == '_'))
                        .unwrap_or(rest.len());
                    let (word, after) = rest.split_at(end);
                    match word {
                        "true" | "false" => out.push(Step::Literal(Value::Bool(word == "true"))),
                        other => return refused(format!("unrecognized identifier {other}")),
                    }
                    after
                }
                other => {
                    return refused(format!(
                        "unrecognized character in action: U+{:04X} '{other}'",
                        other as u32
                    ));
                }
            }
        };
    }
    Ok(out)
}

/// Reads the name of a field, up to what can't be part of one; a backslash makes anything part of it.
fn field(text: &str) -> (Step, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    let mut end = text.len();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            ' ' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' => {
                end = index;
                break;
            }
            other => name.push(other),
        }
    }
    let rest = text.get(end..).unwrap_or_default();
    (
        if name == "*" {
            Step::Wildcard
        } else {
            Step::Field(name)
        },
        rest,
    )
}

fn quoted(text: &str, quote: char) -> Result<(Step, &str), JsonPathError> {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, other)) => out.push(other),
                None => break,
            },
            end if end == quote => {
                let rest = text.get(index + end.len_utf8()..).unwrap_or_default();
                return Ok((Step::Literal(Value::String(out)), rest));
            }
            other => out.push(other),
        }
    }
    refused("unterminated quoted string")
}

fn number(text: &str) -> Result<(Step, &str), JsonPathError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = text.len() - digits.len();
    let length = digits
        .find(|one: char| !(one.is_ascii_digit() || one == '.'))
        .unwrap_or(digits.len());
    let (literal, rest) = text.split_at(sign + length);
    let value = match (literal.parse::<i64>(), literal.parse::<f64>()) {
        (Ok(whole), _) => Value::from(whole),
        (_, Ok(float)) => Value::from(float),
        _ => return refused(format!("cannot parse number {literal}")),
    };
    Ok((Step::Literal(value), rest))
}

/// Reads what is between brackets: an index, a slice, a name in quotes, or several of them.
fn brackets(text: &str, depth: usize) -> Result<Vec<Step>, JsonPathError> {
    if text.contains(',') {
        let paths: Result<Vec<Vec<Step>>, JsonPathError> = text
            .split(',')
            .map(|part| steps(&format!("[{}]", part.trim_matches(' ')), depth + 1))
            .collect();
        return Ok(vec![Step::Union(paths?)]);
    }
    if let Some(name) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''))
        && !name.contains('\'')
    {
        return steps(&format!(".{name}"), depth + 1);
    }
    let text = if text == "*" { ":" } else { text };
    let whole = |part: &str| -> Result<Option<i64>, JsonPathError> {
        let digits = part.strip_prefix('-').unwrap_or(part);
        match part {
            "" => Ok(None),
            _ if digits.bytes().all(|byte| byte.is_ascii_digit()) => match part.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => refused(format!("array index {part} is not a number")),
            },
            _ => refused(format!("invalid array index {text}")),
        }
    };
    let mut parts = text.split(':');
    let start = whole(parts.next().unwrap_or_default())?;
    let end = parts.next().map(whole).transpose()?;
    let step = parts.next().map(whole).transpose()?.flatten();
    if parts.next().is_some() {
        return refused(format!("invalid array index {text}"));
    }
    let end = match end {
        None => Bound::After(start.unwrap_or_default() + 1),
        Some(None) => Bound::Open,
        Some(Some(end)) => Bound::At(end),
    };
    Ok(vec![Step::Slice {
        start: start.map_or(Bound::Open, Bound::At),
        end,
        step,
    }])
}

/// Reads a filter after its opening, and returns what comes after it.
fn filter_step(text: &str, depth: usize) -> Result<(Step, &str), JsonPathError> {
    let mut quote = None;
    let mut closed = false;
    let mut before = ' ';
    let mut end = None;
    for (index, character) in text.char_indices() {
        match character {
            '"' | '\'' => match quote {
                None => quote = Some(character),
                Some(pair) => closed |= before != '\\' && pair == character,
            },
            ')' if quote.is_some() == closed => {
                end = Some(index);
                break;
            }
            _ => {}
        }
        before = character;
    }
    let Some((inside, after)) = end.and_then(|end| Some((text.get(..end)?, text.get(end + 1..)?))) else {
        return refused("unterminated filter");
    };
    let Some(after) = after.strip_prefix(']') else {
        return refused("unclosed array expect ]");
    };
    let is_operator = |one: char| matches!(one, '!' | '<' | '>' | '=');
    let comparison = inside
        .find(is_operator)
        .filter(|&index| index > 0)
        .and_then(|index| {
            let (left, rest) = inside.split_at(index);
            let length = rest.find(|one| !is_operator(one))?;
            let (operator, right) = rest.split_at(length);
            Some((left, operator, right))
        });
    let step = match comparison {
        None => Step::Filter {
            left: steps(inside, depth + 1)?,
            comparison: None,
        },
        Some((left, operator, right)) => {
            let comparison = match operator {
                "==" => Comparison::Equal,
                "!=" => Comparison::NotEqual,
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">" => Comparison::Greater,
                ">=" => Comparison::GreaterOrEqual,
                other => return refused(format!("unrecognized filter operator {other}")),
            };
            let (left, right) = (steps(left, depth + 1)?, steps(right, depth + 1)?);
            Step::Filter {
                left,
                comparison: Some((comparison, right)),
            }
        }
    };
    Ok((step, after))
}
