//! Random text and numbers, drawn from the render's source.

use std::rc::Rc;

use gotemplate::{Call, Failure, Function, Type, Value};

use super::limits::check_text;
use crate::go_characters::characters;
use crate::host::Host;
use crate::source::{Source, SystemSource};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("randAlphaNum", &[Type::INT], |call| {
        random_text(
            call,
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        )
    })
    .heavy(),
    Function::new("randAlpha", &[Type::INT], |call| {
        random_text(call, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    })
    .heavy(),
    Function::new("randNumeric", &[Type::INT], |call| {
        random_text(call, b"0123456789")
    })
    .heavy(),
    Function::new("randAscii", &[Type::INT], |call| {
        let printable: Vec<u8> = (b' '..=b'~').collect();
        random_text(call, &printable)
    })
    .heavy(),
    Function::new("randInt", &[Type::INT, Type::INT], random_integer).fixed(),
    Function::new("shuffle", &[Type::String], shuffle).heavy(),
];

fn source(call: &Call<'_, '_>) -> Rc<dyn Source> {
    Host::of(call).map_or_else(
        || Rc::new(SystemSource) as Rc<dyn Source>,
        |host| Rc::clone(&host.source),
    )
}

/// Returns characters of the alphabet, each equally likely; nothing for a negative count.
fn random_text(call: &mut Call<'_, '_>, alphabet: &[u8]) -> Result<Value, Failure> {
    let count = usize::try_from(call.integer(0)).unwrap_or(0);
    check_text(count)?;
    let source = source(call);
    let draw = |_| {
        alphabet
            .get(source.random_below(alphabet.len() as u64) as usize)
            .copied()
            .unwrap_or_default()
    };
    Ok(Value::string((0..count).map(draw).collect::<Vec<u8>>()))
}

/// Returns a number from the first argument up to, but not including, the second.
fn random_integer(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let (low, high) = (call.integer(0), call.integer(1));
    match u64::try_from(high.wrapping_sub(low)) {
        Ok(width) if width > 0 => Ok(Value::int(
            low.wrapping_add(source(call).random_below(width) as i64),
        )),
        _ => Err("invalid argument to Intn".into()),
    }
}

fn shuffle(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let source = source(call);
    let mut shuffled: Vec<char> = characters(&call.text(0))
        .map(|(character, _)| character)
        .collect();
    for last in (1..shuffled.len()).rev() {
        shuffled.swap(last, source.random_below(last as u64 + 1) as usize);
    }
    Ok(Value::string(shuffled.into_iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::{complaint, render};

    #[test]
    fn text_is_made_of_its_alphabet_only() {
        for (function, belongs) in [
            ("randAlphaNum", char::is_alphanumeric as fn(char) -> bool),
            ("randAlpha", char::is_alphabetic),
            ("randNumeric", char::is_numeric),
            ("randAscii", |character| matches!(character, ' '..='~')),
        ] {
            let text = render(&format!("{{{{ {function} 500 }}}}")).expect("a template that renders");
            assert_eq!(text.len(), 500, "{function}");
            assert!(text.chars().all(belongs), "{function} gave {text}");
        }
    }

    #[test]
    fn a_seed_repeats_its_text() {
        let template = "{{ randAlphaNum 20 }} {{ randInt 0 1000000 }} {{ shuffle \"abcdefghij\" }}";
        assert_eq!(render(template), render(template));
        let twice = render("{{ randAlpha 20 }} {{ randAlpha 20 }}").expect("a template that renders");
        let (first, second) = twice.split_once(' ').expect("two texts");
        assert_ne!(first, second);
    }

    #[test]
    fn shuffling_keeps_the_characters() {
        let shuffled = render("{{ shuffle \"aébc\" }}").expect("a template that renders");
        let mut characters: Vec<char> = shuffled.chars().collect();
        characters.sort_unstable();
        assert_eq!(characters, ['a', 'b', 'c', 'é']);
    }

    #[test]
    fn endless_text_is_refused() {
        assert!(complaint("{{ randAlpha 9999999999 }}").starts_with("text of 9999999999 bytes exceeds"));
    }
}
