//! TOML to and from values, as `BurntSushi`'s library reads and writes it.
//!
//! ```text
//! text ─ characters ─► parser ─► document (tables, what is defined already) ─► values
//! values ─ writer ─► text
//! ```

mod characters;
mod document;
mod key;
mod numbers;
mod parser;
mod writer;

use gotemplate::{Failure, Function, Type, Value};

use super::generic::error_map;
use super::limits;
use crate::source;
use crate::time::Location;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("toToml", &[Type::Any], |call| {
        let value = call.take(0);
        check(&value)?;
        match writer::write(&value) {
            Ok(text) => limits::text(text),
            // Helm's function returns the text of the error.
            Err(error) => limits::text(error.to_string().into_bytes()),
        }
    })
    .heavy(),
    // Helm has this one from 3.18 on.
    Function::new("mustToToml", &[Type::Any], |call| {
        let value = call.take(0);
        check(&value)?;
        limits::text(writer::write(&value)?)
    })
    .heavy(),
    Function::new("fromToml", &[Type::String], |call| {
        let local = Location::local(call);
        // Times without a zone get the offset that is in force now, whatever it was then.
        let offset = local.offset_at(source::of(call).now().as_second());
        let zones = parser::Zones { local, offset };
        Ok(match parser::parse(&call.text(0), &zones) {
            Ok(value) => value,
            Err(error) => error_map(error.to_string()),
        })
    })
    .heavy(),
];

fn check(value: &Value) -> Result<(), Failure> {
    match value {
        Value::Nil => Err("reflect: call of reflect.Value.Type on zero Value".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn toml_is_read_and_written_as_in_helm() {
        check(&[
            (
                "{{ toToml nil }}",
                Err("reflect: call of reflect.Value.Type on zero Value"),
            ),
            (r#"{{ toToml "x\"\u0001\n" }}"#, Ok(r#""x\"\u0001\n""#)),
            ("{{ toToml 1.0 }}", Ok("1.0")),
            (
                r#"{{ toToml (list 1 2 "a" 1.5 true) }}"#,
                Ok(r#"[1, 2, "a", 1.5, true]"#),
            ),
            ("{{ toToml (list) }}", Ok("[]")),
            (
                r#"{{ toToml (list (dict "a" 1)) }}"#,
                Ok("toml: top-level values must be Go maps or structs"),
            ),
            ("{{ toToml (dict) }}", Ok("")),
            (r#"{{ toToml (dict "a" nil "b" 1) }}"#, Ok("b = 1\n")),
            (
                r#"{{ toToml (dict "a" (list 1 nil)) }}"#,
                Ok("toml: cannot encode array with nil element"),
            ),
            (
                r#"{{ toToml (dict "a" (list (dict "b" 1 "n" nil) (dict "c" (dict "d" 2)))) }}"#,
                Ok("[[a]]\n  b = 1\n\n[[a]]\n  [a.c]\n    d = 2\n"),
            ),
            (
                r#"{{ toToml (dict "a" (list (dict "b" 1) "x")) }}"#,
                Ok("a = [{b = 1}, \"x\"]\n"),
            ),
            (
                r#"{{ toToml (dict "a" (list (dict "b" nil "a" 1) "x")) }}"#,
                Ok("a = [{a = 1, }, \"x\"]\n"),
            ),
            (
                r#"{{ toToml (dict "a" (list (dict "b" (dict "q" 1) "a" nil "c" 3) "x")) }}"#,
                Ok("a = [{c = 3, b = {q = 1}}, \"x\"]\n"),
            ),
            (
                r#"{{ toToml (dict "z" 1 "a" (dict "y" (dict "x" (dict "w" 1.5)) "b" 1) "m" (list (dict "n" (list (dict "o" 1) (dict "p" 2))))) }}"#,
                Ok(
                    "z = 1\n\n[a]\n  b = 1\n  [a.y]\n    [a.y.x]\n      w = 1.5\n\n[[m]]\n\n  [[m.n]]\n    o = 1\n\n  [[m.n]]\n    p = 2\n",
                ),
            ),
            (
                r#"{{ toToml (dict "a b" 1 "" 2 "é" 3 "c.d" (dict "e f" (dict "g" 1)) "q\"" 4) }}"#,
                Ok(
                    "\"\" = 2\n\"a b\" = 1\n\"q\\\"\" = 4\n\"é\" = 3\n\n[\"c.d\"]\n  [\"c.d\".\"e f\"]\n    g = 1\n",
                ),
            ),
            (
                r#"{{ toToml (dict "f" 1e21 "g" 1e-7 "h" 100.0 "i" -0.0 "j" 123456789.125) }}"#,
                Ok("f = 1000000000000000000000.0\ng = 0.0000001\nh = 100.0\ni = -0.0\nj = 123456789.125\n"),
            ),
            (
                r#"{{ toToml (dict "d" (dict "a" (dict)) "l" (list (list 1 2) (list "a")) "e" (list)) }}"#,
                Ok("e = []\nl = [[1, 2], [\"a\"]]\n\n[d]\n  [d.a]\n"),
            ),
            (
                r#"{{ toToml (dict "l" (list (list (dict "a" 1)))) }}"#,
                Ok("l = [[{a = 1}]]\n"),
            ),
            (
                r#"{{ toToml (dict "t" (toDate "2006-01-02" "2024-02-02") "v" (semver "1.2") "s" (splitList "," "a,b")) }}"#,
                Ok("s = [\"a\", \"b\"]\nt = 2024-02-02T00:00:00Z\nv = \"1.2.0\"\n"),
            ),
            (
                r#"{{ toToml (dict "t" (list (toDate "2006-01-02T15:04:05.000Z07:00" "2024-02-02T01:02:03.400+02:00"))) }}"#,
                Ok("t = [2024-02-02T01:02:03.4+02:00]\n"),
            ),
            (
                r#"{{ toToml (dict "d" ((toDate "2006" "2024").Sub (toDate "2006" "2023")) "m" (toDate "2006" "2024").Month) }}"#,
                Ok("d = \"8760h0m0s\"\nm = 1\n"),
            ),
            (
                r#"{{ toToml (dict "c" (buildCustomCert "x" "y")) }}"#,
                Err("unable to decode base64 certificate"),
            ),
            (
                r#"{{ toToml (dict "a" (dict "b" (list)) "c" (list (dict))) }}"#,
                Ok("[a]\n  b = []\n\n[[c]]\n"),
            ),
            (
                r#"{{ toToml (dict "a" (list (dict) (dict "b" 1))) }}"#,
                Ok("[[a]]\n\n[[a]]\n  b = 1\n"),
            ),
            (r#"{{ toToml (dict "a" (dict "n" nil)) }}"#, Ok("[a]\n")),
            (r#"{{ toToml (dict "a" (fromJson "null")) }}"#, Ok("")),
            (
                r#"{{ toToml (list (fromJson "null")) }}"#,
                Ok("toml: cannot encode array with nil element"),
            ),
            (
                r#"{{ toToml (dict "a" (list (fromJson "null") 1)) }}"#,
                Ok("toml: cannot encode array with nil element"),
            ),
            (r#"{{ toToml (dict "a" (fromJsonArray "null")) }}"#, Ok("")),
            (
                r#"{{ toToml (dict "u" (int64 3) "k" (dict "a.b" (list (dict "x" 1)))) }}"#,
                Ok("u = 3\n\n[k]\n\n  [[k.\"a.b\"]]\n    x = 1\n"),
            ),
            (
                r#"{{ toToml (dict "str" "tab\tnl\ncr\rbs\bff\f\u007f é \u0085") }}"#,
                Ok("str = \"tab\\tnl\\ncr\\rbs\\bff\\f\\u007f é \u{85}\"\n"),
            ),
            (
                r#"{{ toToml (dict "m" (list (dict "x" (list (dict "y" (dict "z" 1)))))) }}"#,
                Ok("[[m]]\n\n  [[m.x]]\n    [m.x.y]\n      z = 1\n"),
            ),
            (r#"{{ toToml (dict "b" ("ab" | toString)) }}"#, Ok("b = \"ab\"\n")),
            (r#"{{ fromToml "a = 1\nb = [1,2]" }}"#, Ok("map[a:1 b:[1 2]]")),
            (
                r#"{{ fromToml "a = " | toJson }}"#,
                Ok(r#"{"Error":"toml: line 0 (last key \"a\"): unexpected EOF; expected value"}"#),
            ),
            (
                r#"{{ fromToml "a = 1\na = 2" | toJson }}"#,
                Ok(r#"{"Error":"toml: line 2 (last key \"a\"): Key 'a' has already been defined."}"#),
            ),
            (
                r#"{{ fromToml "[a]\nb=1\n[a]\nc=2" | toJson }}"#,
                Ok(r#"{"Error":"toml: line 3: Key 'a' has already been defined."}"#),
            ),
            (
                r#"{{ fromToml "a = \"x" | toJson }}"#,
                Ok(r#"{"Error":"toml: line 0 (last key \"a\"): unexpected EOF; expected '\"'"}"#),
            ),
            (
                r#"{{ fromToml "a" | toJson }}"#,
                Ok(r#"{"Error":"toml: line 0: unexpected EOF; expected key separator '='"}"#),
            ),
            (
                r#"{{ fromToml "= 1" | toJson }}"#,
                Ok(r#"{"Error":"toml: line 1: unexpected '=': key name appears blank"}"#),
            ),
            (
                r#"{{ fromToml "a = 01" | toJson }}"#,
                Ok(
                    r#"{"Error":"toml: line 1 (last key \"a\"): Invalid integer \"01\": cannot have leading zeroes"}"#,
                ),
            ),
            (
                r#"{{ fromToml "a = 1_000\nb = 0xff\nc = 0o17\nd = 0b11\ne = 1.5e3\nf = inf\ng = nan\nh = -0\ni = +5" }}"#,
                Ok("map[a:1000 b:255 c:15 d:3 e:1500 f:+Inf g:NaN h:0 i:5]"),
            ),
            (
                r#"{{ fromToml "a = 1979-05-27T07:32:00Z\nb = 1979-05-27T07:32:00\nc = 1979-05-27\nd = 07:32:00\ne = 1979-05-27 07:32:00.999-07:00" | toJson }}"#,
                Ok(
                    r#"{"a":"1979-05-27T07:32:00Z","b":"1979-05-27T07:32:00Z","c":"1979-05-27T00:00:00Z","d":"0000-01-01T07:32:00Z","e":"1979-05-27T07:32:00.999-07:00"}"#,
                ),
            ),
            (
                r#"{{ fromToml "a = 1979-05-27T07:32:00Z\nb = 1979-05-27T07:32:00\nc = 1979-05-27\nd = 07:32:00\ne = 1979-05-27 07:32:00.999-07:00" }}"#,
                Ok(
                    "map[a:1979-05-27 07:32:00 +0000 UTC b:1979-05-27 07:32:00 +0000 datetime-local c:1979-05-27 00:00:00 +0000 date-local d:0000-01-01 07:32:00 +0000 time-local e:1979-05-27 07:32:00.999 -0700 -0700]",
                ),
            ),
            (
                r#"{{ fromToml "a = 1979-05-27T07:32:00Z\nb = 1979-05-27T07:32:00\nc = 1979-05-27\nd = 07:32:00\ne = 1979-05-27 07:32:00.999-07:00" | toToml }}"#,
                Ok(
                    "a = 1979-05-27T07:32:00Z\nb = 1979-05-27T07:32:00\nc = 1979-05-27\nd = 07:32:00\ne = 1979-05-27T07:32:00.999-07:00\n",
                ),
            ),
            (
                r#"{{ fromToml "a = 1979-05-27T07:32:00\n" | toYaml }}"#,
                Ok(r#"a: "1979-05-27T07:32:00Z""#),
            ),
            (
                r#"{{ typeOf (fromToml "a = 1").a }}{{ typeOf (fromToml "a = 1.5").a }}{{ typeOf (fromToml "a = [1]").a }}{{ typeOf (fromToml "[[a]]\nb=1").a }}{{ typeOf (fromToml "a = {b=1}").a }}{{ typeOf (fromToml "a = 1979-05-27").a }}{{ typeOf (fromToml "a = []").a }}"#,
                Ok(
                    "int64float64[]interface {}[]map[string]interface {}map[string]interface {}time.Time[]interface {}",
                ),
            ),
            (
                r#"{{ fromToml "a.b.c = 1\n[x.y]\nz = {q = 1, r.s = 'lit'}\n[[x.w]]\nk = \"\"\"\n  multi \\\n   line\"\"\"\n[[x.w]]\nk = '''\nraw'''" | toJson }}"#,
                Ok(
                    r#"{"a":{"b":{"c":1}},"x":{"w":[{"k":"  multi line"},{"k":"raw"}],"y":{"z":{"q":1,"r":{"s":"lit"}}}}}"#,
                ),
            ),
        ]);
    }
}
