//! Values as Go's fmt prints them and encoding/json writes them, for messages that show a whole value.

use std::collections::BTreeMap;

use gotemplate::format::float_text;
use goyaml::json::{self, Escape};
use serde_json::Value;

/// What stands for the address that upstream prints for a pointer: it differs from run to run and tells nothing.
pub(super) const ADDRESS: &str = "0xADDR";

/// A value with the two forms that Go's messages give it.
pub(super) trait Printed {
    /// Appends what `%v` prints.
    fn plain(&self, out: &mut String);

    /// Appends what `json.Marshal` writes.
    fn json(&self, out: &mut String);

    /// Appends what `%v` prints for a pointer inside something else.
    fn pointer(value: Option<&Self>, out: &mut String)
    where
        Self: Sized,
    {
        out.push_str(if value.is_some() { ADDRESS } else { "<nil>" });
    }

    /// What `%v` prints.
    fn to_plain(&self) -> String {
        let mut out = String::new();
        self.plain(&mut out);
        out
    }

    /// What `json.Marshal` writes.
    fn to_json(&self) -> String {
        let mut out = String::new();
        self.json(&mut out);
        out
    }
}

impl Printed for String {
    fn plain(&self, out: &mut String) {
        out.push_str(self);
    }

    fn json(&self, out: &mut String) {
        // A string always has a JSON form.
        out.push_str(&json::to_string(self, Escape::Html).unwrap_or_default());
    }
}

macro_rules! displayed {
    ($($type:ty),*) => {$(
        impl Printed for $type {
            fn plain(&self, out: &mut String) {
                out.push_str(&self.to_string());
            }

            fn json(&self, out: &mut String) {
                out.push_str(&self.to_string());
            }
        }
    )*};
}
displayed!(bool, i32, i64);

impl Printed for f64 {
    fn plain(&self, out: &mut String) {
        out.push_str(&float_text(*self, b'g', None));
    }

    fn json(&self, out: &mut String) {
        out.push_str(&json::number_text(*self).unwrap_or_default());
    }
}

impl<T: Printed> Printed for Option<T> {
    fn plain(&self, out: &mut String) {
        T::pointer(self.as_ref(), out);
    }

    fn json(&self, out: &mut String) {
        match self {
            Some(value) => value.json(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Printed> Printed for Box<T> {
    fn plain(&self, out: &mut String) {
        self.as_ref().plain(out);
    }

    fn json(&self, out: &mut String) {
        self.as_ref().json(out);
    }
}

impl<T: Printed> Printed for Vec<T> {
    fn plain(&self, out: &mut String) {
        out.push('[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            item.plain(out);
        }
        out.push(']');
    }

    fn json(&self, out: &mut String) {
        // A list that was left out is null; one that was given empty is rare and printed the same.
        if self.is_empty() {
            out.push_str("null");
            return;
        }
        out.push('[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            item.json(out);
        }
        out.push(']');
    }
}

impl<T: Printed> Printed for BTreeMap<String, T> {
    fn plain(&self, out: &mut String) {
        out.push_str("map[");
        for (index, (key, value)) in self.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            out.push_str(key);
            out.push(':');
            value.plain(out);
        }
        out.push(']');
    }

    fn json(&self, out: &mut String) {
        if self.is_empty() {
            out.push_str("null");
            return;
        }
        out.push('{');
        for (index, (key, value)) in self.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            key.json(out);
            out.push(':');
            value.json(out);
        }
        out.push('}');
    }
}

impl Printed for Value {
    fn plain(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("<nil>"),
            Value::Bool(flag) => flag.plain(out),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => float.plain(out),
                _ => out.push_str(&number.to_string()),
            },
            Value::String(text) => text.plain(out),
            Value::Array(items) => items.plain(out),
            Value::Object(entries) => {
                out.push_str("map[");
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    out.push_str(key);
                    out.push(':');
                    value.plain(out);
                }
                out.push(']');
            }
        }
    }

    fn json(&self, out: &mut String) {
        out.push_str(&json::to_string(self, Escape::Html).unwrap_or_default());
    }
}

/// Appends parts between braces.
pub(super) fn enclosed(out: &mut String, separator: char, parts: &[&dyn Fn(&mut String)]) {
    out.push('{');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(separator);
        }
        part(out);
    }
    out.push('}');
}

/// Says under which names, and in which order, Go prints the fields of a struct.
macro_rules! printed_struct {
    ($type:ty, { $($name:literal => $field:ident),* $(,)? }) => {
        impl $crate::validation::printed::Printed for $type {
            fn plain(&self, out: &mut String) {
                let parts: &[&dyn Fn(&mut String)] = &[
                    $(&|out| $crate::validation::printed::Printed::plain(&self.$field, out)),*
                ];
                $crate::validation::printed::enclosed(out, ' ', parts);
            }

            fn json(&self, out: &mut String) {
                let parts: &[&dyn Fn(&mut String)] = &[$(&|out| {
                    out.push_str(concat!("\"", $name, "\":"));
                    $crate::validation::printed::Printed::json(&self.$field, out);
                }),*];
                $crate::validation::printed::enclosed(out, ',', parts);
            }
        }
    };
}
pub(super) use printed_struct;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_printed_as_go_prints_maps_and_lists() {
        let value = json!({"b": [1, 2.5, true], "a": {"x": null, "y": "z <"}, "c": 1e21});
        assert_eq!(
            value.to_plain(),
            "map[a:map[x:<nil> y:z <] b:[1 2.5 true] c:1e+21]"
        );
        assert_eq!("a<b".to_owned().to_json(), r#""a\u003cb""#);
        assert_eq!(vec![Some(1_i64), None].to_plain(), "[0xADDR <nil>]");
        assert_eq!(vec![Some(1_i64), None].to_json(), "[1,null]");
    }
}
