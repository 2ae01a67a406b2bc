//! How values are written, row by row; the answers are those of sigs.k8s.io/yaml v1.4 and its go-yaml v3.

use goyaml::{Numbers, ReadOptions, json, to_string, to_string_v3_indented};
use serde::Serialize;
use serde_json::{Value, json};

/// A string, and how it is written as a value and an item, as a key, and alone.
type StringRow = (&'static str, Result<[&'static str; 3], &'static str>);

fn check_strings(rows: &[StringRow], write: fn(&Value) -> Result<String, goyaml::Error>) {
    for (text, expected) in rows {
        let values = [
            json!({"k": text, "l": [text, [text]]}),
            json!({(*text): {"a": text}}),
            json!(text),
        ];
        let written: Result<Vec<String>, String> = values
            .iter()
            .map(|value| write(value).map_err(|error| error.in_sigs_words()))
            .collect();
        let expected = expected
            .map(|parts| parts.map(str::to_owned).to_vec())
            .map_err(str::to_owned);
        assert_eq!(written, expected, "{text:?}");
    }
}

#[test]
fn strings_are_quoted_as_go_yaml_v2_quotes_them() {
    check_strings(STRINGS_V2, to_string);
}

#[test]
fn strings_are_quoted_as_go_yaml_v3_quotes_them() {
    check_strings(STRINGS_V3, to_string_v3_indented);
}

#[test]
fn values_are_laid_out_as_go_yaml_does() {
    let options = ReadOptions {
        numbers: Numbers::Float64,
        ..ReadOptions::default()
    };
    for (input, v2, v3) in VALUES {
        let value = json::to_value(input.as_bytes(), options).unwrap();
        assert_eq!(to_string(&value).unwrap(), *v2, "{input}");
        assert_eq!(to_string_v3_indented(&value).unwrap(), *v3, "{input}");
    }
}

#[derive(Serialize)]
struct Release {
    version: u32,
    name: &'static str,
    share: f32,
    kind: Kind,
    data: Option<Vec<u8>>,
}

#[derive(Serialize)]
enum Kind {
    Plain,
    Sized(u8, u8),
}

#[test]
fn a_struct_is_a_map_for_v2_and_keeps_its_order_for_v3() {
    let release = Release {
        version: 1,
        name: "x",
        share: 0.1,
        kind: Kind::Plain,
        data: None,
    };
    assert_eq!(
        to_string(&release).unwrap(),
        "data: null\nkind: Plain\nname: x\nshare: 0.1\nversion: 1\n"
    );
    assert_eq!(
        to_string_v3_indented(&release).unwrap(),
        "version: 1\nname: x\nshare: 0.1\nkind: Plain\ndata: null\n"
    );
    let release = Release {
        kind: Kind::Sized(1, 2),
        ..release
    };
    assert!(
        to_string(&release)
            .unwrap()
            .contains("kind:\n  Sized:\n  - 1\n  - 2\n")
    );
}

#[test]
fn a_number_that_json_lacks_is_an_error_with_go_s_words() {
    let error = to_string(&f64::NAN).unwrap_err();
    assert_eq!(error.to_string(), "json: unsupported value: NaN");
    assert_eq!(
        error.in_sigs_words(),
        "error marshaling into JSON: json: unsupported value: NaN"
    );
    assert_eq!(
        to_string(&f64::NEG_INFINITY).unwrap_err().to_string(),
        "json: unsupported value: -Inf"
    );
    assert_eq!(to_string_v3_indented(&f64::INFINITY).unwrap(), ".inf\n");
}

#[test]
fn a_key_that_go_yaml_could_not_read_back_is_an_error() {
    let value = json!({"k".repeat(1023): 1});
    assert_eq!(
        to_string(&value).unwrap_err().to_string(),
        "yaml: did not find expected ',' or '}'"
    );
    assert!(to_string(&json!({"k".repeat(1022): 1})).is_ok());
}

#[test]
fn raw_json_is_written_as_what_it_says() {
    let raw: Box<serde_json::value::RawValue> =
        serde_json::from_str(r#"{"b": [1.0], "a": "\u00e9"}"#).unwrap();
    assert_eq!(to_string(&raw).unwrap(), "a: \u{E9}\nb:\n- 1\n");
}

#[rustfmt::skip]
const STRINGS_V2: &[StringRow] = &[
    ("", Ok(["k: \"\"\nl:\n- \"\"\n- - \"\"\n", "\"\":\n  a: \"\"\n", "\"\"\n"])),
    ("a", Ok(["k: a\nl:\n- a\n- - a\n", "a:\n  a: a\n", "a\n"])),
    ("y", Ok(["k: \"y\"\nl:\n- \"y\"\n- - \"y\"\n", "\"y\":\n  a: \"y\"\n", "\"y\"\n"])),
    ("Y", Ok(["k: \"Y\"\nl:\n- \"Y\"\n- - \"Y\"\n", "\"Y\":\n  a: \"Y\"\n", "\"Y\"\n"])),
    ("yes", Ok(["k: \"yes\"\nl:\n- \"yes\"\n- - \"yes\"\n", "\"yes\":\n  a: \"yes\"\n", "\"yes\"\n"])),
    ("No", Ok(["k: \"No\"\nl:\n- \"No\"\n- - \"No\"\n", "\"No\":\n  a: \"No\"\n", "\"No\"\n"])),
    ("on", Ok(["k: \"on\"\nl:\n- \"on\"\n- - \"on\"\n", "\"on\":\n  a: \"on\"\n", "\"on\"\n"])),
    ("OFF", Ok(["k: \"OFF\"\nl:\n- \"OFF\"\n- - \"OFF\"\n", "\"OFF\":\n  a: \"OFF\"\n", "\"OFF\"\n"])),
    ("true", Ok(["k: \"true\"\nl:\n- \"true\"\n- - \"true\"\n", "\"true\":\n  a: \"true\"\n", "\"true\"\n"])),
    ("null", Ok(["k: \"null\"\nl:\n- \"null\"\n- - \"null\"\n", "\"null\":\n  a: \"null\"\n", "\"null\"\n"])),
    ("~", Ok(["k: \"~\"\nl:\n- \"~\"\n- - \"~\"\n", "\"~\":\n  a: \"~\"\n", "\"~\"\n"])),
    ("Null", Ok(["k: \"Null\"\nl:\n- \"Null\"\n- - \"Null\"\n", "\"Null\":\n  a: \"Null\"\n", "\"Null\"\n"])),
    ("1", Ok(["k: \"1\"\nl:\n- \"1\"\n- - \"1\"\n", "\"1\":\n  a: \"1\"\n", "\"1\"\n"])),
    ("-1", Ok(["k: \"-1\"\nl:\n- \"-1\"\n- - \"-1\"\n", "\"-1\":\n  a: \"-1\"\n", "\"-1\"\n"])),
    ("+1", Ok(["k: \"+1\"\nl:\n- \"+1\"\n- - \"+1\"\n", "\"+1\":\n  a: \"+1\"\n", "\"+1\"\n"])),
    ("1.5", Ok(["k: \"1.5\"\nl:\n- \"1.5\"\n- - \"1.5\"\n", "\"1.5\":\n  a: \"1.5\"\n", "\"1.5\"\n"])),
    ("1e3", Ok(["k: \"1e3\"\nl:\n- \"1e3\"\n- - \"1e3\"\n", "\"1e3\":\n  a: \"1e3\"\n", "\"1e3\"\n"])),
    ("1e400", Ok(["k: 1e400\nl:\n- 1e400\n- - 1e400\n", "1e400:\n  a: 1e400\n", "1e400\n"])),
    (".5", Ok(["k: \".5\"\nl:\n- \".5\"\n- - \".5\"\n", "\".5\":\n  a: \".5\"\n", "\".5\"\n"])),
    (".", Ok(["k: .\nl:\n- .\n- - .\n", ".:\n  a: .\n", ".\n"])),
    (".4_9", Ok(["k: \".4_9\"\nl:\n- \".4_9\"\n- - \".4_9\"\n", "\".4_9\":\n  a: \".4_9\"\n", "\".4_9\"\n"])),
    ("1_000", Ok(["k: \"1_000\"\nl:\n- \"1_000\"\n- - \"1_000\"\n", "\"1_000\":\n  a: \"1_000\"\n", "\"1_000\"\n"])),
    ("0x1F", Ok(["k: \"0x1F\"\nl:\n- \"0x1F\"\n- - \"0x1F\"\n", "\"0x1F\":\n  a: \"0x1F\"\n", "\"0x1F\"\n"])),
    ("0777", Ok(["k: \"0777\"\nl:\n- \"0777\"\n- - \"0777\"\n", "\"0777\":\n  a: \"0777\"\n", "\"0777\"\n"])),
    ("0o7", Ok(["k: \"0o7\"\nl:\n- \"0o7\"\n- - \"0o7\"\n", "\"0o7\":\n  a: \"0o7\"\n", "\"0o7\"\n"])),
    ("-0o7", Ok(["k: \"-0o7\"\nl:\n- \"-0o7\"\n- - \"-0o7\"\n", "\"-0o7\":\n  a: \"-0o7\"\n", "\"-0o7\"\n"])),
    ("0o-7", Ok(["k: 0o-7\nl:\n- 0o-7\n- - 0o-7\n", "0o-7:\n  a: 0o-7\n", "0o-7\n"])),
    ("0b1", Ok(["k: \"0b1\"\nl:\n- \"0b1\"\n- - \"0b1\"\n", "\"0b1\":\n  a: \"0b1\"\n", "\"0b1\"\n"])),
    ("0b-1", Ok(["k: \"0b-1\"\nl:\n- \"0b-1\"\n- - \"0b-1\"\n", "\"0b-1\":\n  a: \"0b-1\"\n", "\"0b-1\"\n"])),
    ("08", Ok(["k: \"08\"\nl:\n- \"08\"\n- - \"08\"\n", "\"08\":\n  a: \"08\"\n", "\"08\"\n"])),
    ("12:30", Ok(["k: \"12:30\"\nl:\n- \"12:30\"\n- - \"12:30\"\n", "\"12:30\":\n  a: \"12:30\"\n", "\"12:30\"\n"])),
    ("12:30:45", Ok(["k: \"12:30:45\"\nl:\n- \"12:30:45\"\n- - \"12:30:45\"\n", "\"12:30:45\":\n  a: \"12:30:45\"\n", "\"12:30:45\"\n"])),
    ("-1:2", Ok(["k: \"-1:2\"\nl:\n- \"-1:2\"\n- - \"-1:2\"\n", "\"-1:2\":\n  a: \"-1:2\"\n", "\"-1:2\"\n"])),
    ("1:99", Ok(["k: 1:99\nl:\n- 1:99\n- - 1:99\n", "1:99:\n  a: 1:99\n", "1:99\n"])),
    ("190:20:30.15", Ok(["k: \"190:20:30.15\"\nl:\n- \"190:20:30.15\"\n- - \"190:20:30.15\"\n", "\"190:20:30.15\":\n  a: \"190:20:30.15\"\n", "\"190:20:30.15\"\n"])),
    ("2001-01-01", Ok(["k: \"2001-01-01\"\nl:\n- \"2001-01-01\"\n- - \"2001-01-01\"\n", "\"2001-01-01\":\n  a: \"2001-01-01\"\n", "\"2001-01-01\"\n"])),
    ("2001-1-1", Ok(["k: \"2001-1-1\"\nl:\n- \"2001-1-1\"\n- - \"2001-1-1\"\n", "\"2001-1-1\":\n  a: \"2001-1-1\"\n", "\"2001-1-1\"\n"])),
    ("2001-13-01", Ok(["k: 2001-13-01\nl:\n- 2001-13-01\n- - 2001-13-01\n", "2001-13-01:\n  a: 2001-13-01\n", "2001-13-01\n"])),
    ("2001-02-29", Ok(["k: 2001-02-29\nl:\n- 2001-02-29\n- - 2001-02-29\n", "2001-02-29:\n  a: 2001-02-29\n", "2001-02-29\n"])),
    ("2000-02-29", Ok(["k: \"2000-02-29\"\nl:\n- \"2000-02-29\"\n- - \"2000-02-29\"\n", "\"2000-02-29\":\n  a: \"2000-02-29\"\n", "\"2000-02-29\"\n"])),
    ("2001-12-14T21:59:43.10-05:00", Ok(["k: \"2001-12-14T21:59:43.10-05:00\"\nl:\n- \"2001-12-14T21:59:43.10-05:00\"\n- - \"2001-12-14T21:59:43.10-05:00\"\n", "\"2001-12-14T21:59:43.10-05:00\":\n  a: \"2001-12-14T21:59:43.10-05:00\"\n", "\"2001-12-14T21:59:43.10-05:00\"\n"])),
    ("2001-12-14t21:59:43,5Z", Ok(["k: \"2001-12-14t21:59:43,5Z\"\nl:\n- \"2001-12-14t21:59:43,5Z\"\n- - \"2001-12-14t21:59:43,5Z\"\n", "\"2001-12-14t21:59:43,5Z\":\n  a: \"2001-12-14t21:59:43,5Z\"\n", "\"2001-12-14t21:59:43,5Z\"\n"])),
    ("2001-12-14   21:59:43", Ok(["k: \"2001-12-14   21:59:43\"\nl:\n- \"2001-12-14   21:59:43\"\n- - \"2001-12-14   21:59:43\"\n", "\"2001-12-14   21:59:43\":\n  a: \"2001-12-14   21:59:43\"\n", "\"2001-12-14   21:59:43\"\n"])),
    ("2001-12-14 21:59:43.10 -5", Ok(["k: 2001-12-14 21:59:43.10 -5\nl:\n- 2001-12-14 21:59:43.10 -5\n- - 2001-12-14 21:59:43.10 -5\n", "2001-12-14 21:59:43.10 -5:\n  a: 2001-12-14 21:59:43.10 -5\n", "2001-12-14 21:59:43.10 -5\n"])),
    (".inf", Ok(["k: \".inf\"\nl:\n- \".inf\"\n- - \".inf\"\n", "\".inf\":\n  a: \".inf\"\n", "\".inf\"\n"])),
    ("-.INF", Ok(["k: \"-.INF\"\nl:\n- \"-.INF\"\n- - \"-.INF\"\n", "\"-.INF\":\n  a: \"-.INF\"\n", "\"-.INF\"\n"])),
    (".nan", Ok(["k: \".nan\"\nl:\n- \".nan\"\n- - \".nan\"\n", "\".nan\":\n  a: \".nan\"\n", "\".nan\"\n"])),
    ("<<", Ok(["k: <<\nl:\n- <<\n- - <<\n", "<<:\n  a: <<\n", "<<\n"])),
    ("=", Ok(["k: =\nl:\n- =\n- - =\n", "=:\n  a: =\n", "=\n"])),
    ("a: b", Ok(["k: 'a: b'\nl:\n- 'a: b'\n- - 'a: b'\n", "'a: b':\n  a: 'a: b'\n", "'a: b'\n"])),
    ("a:b", Ok(["k: a:b\nl:\n- a:b\n- - a:b\n", "a:b:\n  a: a:b\n", "a:b\n"])),
    ("a:", Ok(["k: 'a:'\nl:\n- 'a:'\n- - 'a:'\n", "'a:':\n  a: 'a:'\n", "'a:'\n"])),
    (": a", Ok(["k: ': a'\nl:\n- ': a'\n- - ': a'\n", "': a':\n  a: ': a'\n", "': a'\n"])),
    (":a", Ok(["k: :a\nl:\n- :a\n- - :a\n", ":a:\n  a: :a\n", ":a\n"])),
    ("a #b", Ok(["k: 'a #b'\nl:\n- 'a #b'\n- - 'a #b'\n", "'a #b':\n  a: 'a #b'\n", "'a #b'\n"])),
    ("a#b", Ok(["k: a#b\nl:\n- a#b\n- - a#b\n", "a#b:\n  a: a#b\n", "a#b\n"])),
    ("#a", Ok(["k: '#a'\nl:\n- '#a'\n- - '#a'\n", "'#a':\n  a: '#a'\n", "'#a'\n"])),
    ("- a", Ok(["k: '- a'\nl:\n- '- a'\n- - '- a'\n", "'- a':\n  a: '- a'\n", "'- a'\n"])),
    ("-a", Ok(["k: -a\nl:\n- -a\n- - -a\n", "-a:\n  a: -a\n", "-a\n"])),
    ("-", Ok(["k: '-'\nl:\n- '-'\n- - '-'\n", "'-':\n  a: '-'\n", "'-'\n"])),
    ("--", Ok(["k: --\nl:\n- --\n- - --\n", "--:\n  a: --\n", "--\n"])),
    ("---", Ok(["k: '---'\nl:\n- '---'\n- - '---'\n", "'---':\n  a: '---'\n", "'---'\n"])),
    ("--- a", Ok(["k: '--- a'\nl:\n- '--- a'\n- - '--- a'\n", "'--- a':\n  a: '--- a'\n", "'--- a'\n"])),
    ("...", Ok(["k: '...'\nl:\n- '...'\n- - '...'\n", "'...':\n  a: '...'\n", "'...'\n"])),
    ("?", Ok(["k: '?'\nl:\n- '?'\n- - '?'\n", "'?':\n  a: '?'\n", "'?'\n"])),
    ("? a", Ok(["k: '? a'\nl:\n- '? a'\n- - '? a'\n", "'? a':\n  a: '? a'\n", "'? a'\n"])),
    ("?a", Ok(["k: ?a\nl:\n- ?a\n- - ?a\n", "?a:\n  a: ?a\n", "?a\n"])),
    ("[a", Ok(["k: '[a'\nl:\n- '[a'\n- - '[a'\n", "'[a':\n  a: '[a'\n", "'[a'\n"])),
    ("a]", Ok(["k: a]\nl:\n- a]\n- - a]\n", "a]:\n  a: a]\n", "a]\n"])),
    ("{a", Ok(["k: '{a'\nl:\n- '{a'\n- - '{a'\n", "'{a':\n  a: '{a'\n", "'{a'\n"])),
    ("a, b", Ok(["k: a, b\nl:\n- a, b\n- - a, b\n", "a, b:\n  a: a, b\n", "a, b\n"])),
    (",a", Ok(["k: ',a'\nl:\n- ',a'\n- - ',a'\n", "',a':\n  a: ',a'\n", "',a'\n"])),
    ("&a", Ok(["k: '&a'\nl:\n- '&a'\n- - '&a'\n", "'&a':\n  a: '&a'\n", "'&a'\n"])),
    ("*a", Ok(["k: '*a'\nl:\n- '*a'\n- - '*a'\n", "'*a':\n  a: '*a'\n", "'*a'\n"])),
    ("!a", Ok(["k: '!a'\nl:\n- '!a'\n- - '!a'\n", "'!a':\n  a: '!a'\n", "'!a'\n"])),
    ("|a", Ok(["k: '|a'\nl:\n- '|a'\n- - '|a'\n", "'|a':\n  a: '|a'\n", "'|a'\n"])),
    (">a", Ok(["k: '>a'\nl:\n- '>a'\n- - '>a'\n", "'>a':\n  a: '>a'\n", "'>a'\n"])),
    ("'a", Ok(["k: '''a'\nl:\n- '''a'\n- - '''a'\n", "'''a':\n  a: '''a'\n", "'''a'\n"])),
    ("it's", Ok(["k: it's\nl:\n- it's\n- - it's\n", "it's:\n  a: it's\n", "it's\n"])),
    ("\"a\"", Ok(["k: '\"a\"'\nl:\n- '\"a\"'\n- - '\"a\"'\n", "'\"a\"':\n  a: '\"a\"'\n", "'\"a\"'\n"])),
    ("a \"b\"", Ok(["k: a \"b\"\nl:\n- a \"b\"\n- - a \"b\"\n", "a \"b\":\n  a: a \"b\"\n", "a \"b\"\n"])),
    ("%a", Ok(["k: '%a'\nl:\n- '%a'\n- - '%a'\n", "'%a':\n  a: '%a'\n", "'%a'\n"])),
    ("@a", Ok(["k: '@a'\nl:\n- '@a'\n- - '@a'\n", "'@a':\n  a: '@a'\n", "'@a'\n"])),
    ("`a", Ok(["k: '`a'\nl:\n- '`a'\n- - '`a'\n", "'`a':\n  a: '`a'\n", "'`a'\n"])),
    (" a", Ok(["k: ' a'\nl:\n- ' a'\n- - ' a'\n", "' a':\n  a: ' a'\n", "' a'\n"])),
    ("a ", Ok(["k: 'a '\nl:\n- 'a '\n- - 'a '\n", "'a ':\n  a: 'a '\n", "'a '\n"])),
    ("a\tb", Ok(["k: \"a\\tb\"\nl:\n- \"a\\tb\"\n- - \"a\\tb\"\n", "\"a\\tb\":\n  a: \"a\\tb\"\n", "\"a\\tb\"\n"])),
    ("\ta", Ok(["k: \"\\ta\"\nl:\n- \"\\ta\"\n- - \"\\ta\"\n", "\"\\ta\":\n  a: \"\\ta\"\n", "\"\\ta\"\n"])),
    ("a\\b", Ok(["k: a\\b\nl:\n- a\\b\n- - a\\b\n", "a\\b:\n  a: a\\b\n", "a\\b\n"])),
    ("\u{E9}", Ok(["k: \u{E9}\nl:\n- \u{E9}\n- - \u{E9}\n", "\u{E9}:\n  a: \u{E9}\n", "\u{E9}\n"])),
    ("\u{65E5}\u{672C}", Ok(["k: \u{65E5}\u{672C}\nl:\n- \u{65E5}\u{672C}\n- - \u{65E5}\u{672C}\n", "\u{65E5}\u{672C}:\n  a: \u{65E5}\u{672C}\n", "\u{65E5}\u{672C}\n"])),
    ("\u{A0}", Ok(["k: \u{A0}\nl:\n- \u{A0}\n- - \u{A0}\n", "\u{A0}:\n  a: \u{A0}\n", "\u{A0}\n"])),
    ("\u{1F600}", Ok(["k: \"\\U0001F600\"\nl:\n- \"\\U0001F600\"\n- - \"\\U0001F600\"\n", "\"\\U0001F600\":\n  a: \"\\U0001F600\"\n", "\"\\U0001F600\"\n"])),
    ("\u{FEFF}", Ok(["k: \"\\uFEFF\"\nl:\n- \"\\uFEFF\"\n- - \"\\uFEFF\"\n", "\"\\uFEFF\":\n  a: \"\\uFEFF\"\n", "\"\\uFEFF\"\n"])),
    ("\u{FEFF}ab", Ok(["k: \"\\uFEFF\\x61\\x62\"\nl:\n- \"\\uFEFF\\x61\\x62\"\n- - \"\\uFEFF\\x61\\x62\"\n", "\"\\uFEFF\\x61\\x62\":\n  a: \"\\uFEFF\\x61\\x62\"\n", "\"\\uFEFF\\x61\\x62\"\n"])),
    ("\u{E000}", Ok(["k: \u{E000}\nl:\n- \u{E000}\n- - \u{E000}\n", "\u{E000}:\n  a: \u{E000}\n", "\u{E000}\n"])),
    ("\u{FFFD}", Ok(["k: \u{FFFD}\nl:\n- \u{FFFD}\n- - \u{FFFD}\n", "\u{FFFD}:\n  a: \u{FFFD}\n", "\u{FFFD}\n"])),
    ("\u{0}\u{7}\u{1B}", Ok(["k: \"\\0\\a\\e\"\nl:\n- \"\\0\\a\\e\"\n- - \"\\0\\a\\e\"\n", "\"\\0\\a\\e\":\n  a: \"\\0\\a\\e\"\n", "\"\\0\\a\\e\"\n"])),
    ("a\nb", Ok(["k: |-\n  a\n  b\nl:\n- |-\n  a\n  b\n- - |-\n    a\n    b\n", "? |-\n  a\n  b\n: a: |-\n    a\n    b\n", "|-\n  a\n  b\n"])),
    ("a\nb\n", Ok(["k: |\n  a\n  b\nl:\n- |\n  a\n  b\n- - |\n    a\n    b\n", "? |\n  a\n  b\n: a: |\n    a\n    b\n", "|\n  a\n  b\n"])),
    ("a\nb\n\n", Ok(["k: |+\n  a\n  b\n\nl:\n- |+\n  a\n  b\n\n- - |+\n    a\n    b\n\n", "? |+\n  a\n  b\n\n: a: |+\n    a\n    b\n\n", "|+\n  a\n  b\n\n"])),
    ("\n", Ok(["k: |2+\n\nl:\n- |2+\n\n- - |2+\n\n", "? |2+\n\n: a: |2+\n\n", "|2+\n\n"])),
    ("\n\n", Ok(["k: |2+\n\n\nl:\n- |2+\n\n\n- - |2+\n\n\n", "? |2+\n\n\n: a: |2+\n\n\n", "|2+\n\n\n"])),
    ("\na", Ok(["k: |2-\n\n  a\nl:\n- |2-\n\n  a\n- - |2-\n\n    a\n", "? |2-\n\n  a\n: a: |2-\n\n    a\n", "|2-\n\n  a\n"])),
    (" a\nb", Ok(["k: |2-\n   a\n  b\nl:\n- |2-\n   a\n  b\n- - |2-\n     a\n    b\n", "? |2-\n   a\n  b\n: a: |2-\n     a\n    b\n", "|2-\n   a\n  b\n"])),
    ("a \nb", Ok(["k: \"a \\nb\"\nl:\n- \"a \\nb\"\n- - \"a \\nb\"\n", "? \"a \\nb\"\n: a: \"a \\nb\"\n", "\"a \\nb\"\n"])),
    ("a\n b", Ok(["k: |-\n  a\n   b\nl:\n- |-\n  a\n   b\n- - |-\n    a\n     b\n", "? |-\n  a\n   b\n: a: |-\n    a\n     b\n", "|-\n  a\n   b\n"])),
    ("a\n\n\nb", Ok(["k: |-\n  a\n\n\n  b\nl:\n- |-\n  a\n\n\n  b\n- - |-\n    a\n\n\n    b\n", "? |-\n  a\n\n\n  b\n: a: |-\n    a\n\n\n    b\n", "|-\n  a\n\n\n  b\n"])),
    ("a\n\tb", Ok(["k: \"a\\n\\tb\"\nl:\n- \"a\\n\\tb\"\n- - \"a\\n\\tb\"\n", "? \"a\\n\\tb\"\n: a: \"a\\n\\tb\"\n", "\"a\\n\\tb\"\n"])),
    ("a\nb ", Ok(["k: \"a\\nb \"\nl:\n- \"a\\nb \"\n- - \"a\\nb \"\n", "? \"a\\nb \"\n: a: \"a\\nb \"\n", "\"a\\nb \"\n"])),
    ("a\r\nb", Ok(["k: \"a\\r\\nb\"\nl:\n- \"a\\r\\nb\"\n- - \"a\\r\\nb\"\n", "? \"a\\r\\nb\"\n: a: \"a\\r\\nb\"\n", "\"a\\r\\nb\"\n"])),
    ("a\u{2028}b", Ok(["k: 'a\u{2028}  b'\nl:\n- 'a\u{2028}  b'\n- - 'a\u{2028}    b'\n", "? 'a\u{2028}  b'\n: a: 'a\u{2028}    b'\n", "'a\u{2028}  b'\n"])),
    ("a\u{2028}", Ok(["k: 'a\u{2028}'\nl:\n- 'a\u{2028}'\n- - 'a\u{2028}'\n", "? 'a\u{2028}'\n: a: 'a\u{2028}'\n", "'a\u{2028}'\n"])),
    ("a\n\u{2028}", Ok(["k: |+\n  a\n\u{2028}l:\n- |+\n  a\n\u{2028}- - |+\n    a\n\u{2028}", "? |+\n  a\n\u{2028}: a: |+\n    a\n\u{2028}", "|+\n  a\n\u{2028}"])),
    ("a \u{2028}b", Ok(["k: \"a \\Lb\"\nl:\n- \"a \\Lb\"\n- - \"a \\Lb\"\n", "? \"a \\Lb\"\n: a: \"a \\Lb\"\n", "\"a \\Lb\"\n"])),
    ("word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ", Ok(["k: 'word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word '\nl:\n- 'word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word '\n- - 'word word word word word word word word word word word word word word word word\n    word word word word word word word word word word word word word word '\n", "? 'word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word '\n: a: 'word word word word word word word word word word word word word word word word\n    word word word word word word word word word word word word word word '\n", "'word word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word '\n"])),
    ("word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word", Ok(["k: word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word word\nl:\n- word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word word\n- - word word word word word word word word word word word word word word word word\n    word word word word word word word word word word word word word word word\n", "? word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word word\n: a: word word word word word word word word word word word word word word word word\n    word word word word word word word word word word word word word word word\n", "word word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word\n"])),
    ("it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end", Ok(["k: it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's\n  it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\nl:\n- it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's\n  it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n- - it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's\n    it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n", "? it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's\n  it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n: a: it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's\n    it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n", "it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's\n  it's it's it's it's it's it's it's it's it's it's it's it's it's end\n"])),
    ("a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: ", Ok(["k: 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a:\n  a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\nl:\n- 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a:\n  a: a: a: a: a: a: a: a: a: a: a: a: a: '\n- - 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a:\n    a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\n", "'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: ':\n  a: 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a:\n    a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\n", "'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a:\n  a: a: a: a: a: a: a: a: a: a: a: a: a: '\n"])),
    ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", Ok(["k: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nl:\n- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n- - xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:\n  a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"])),
    ("word\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y ", Ok(["k: \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t\n  y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\nl:\n- \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t\n  y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n- - \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t\n    y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y\n    y \"\n", "? \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t\n  y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n: a: \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t\n    y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y\n    y \"\n", "\"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t\n  y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n"])),
    ("two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces ", Ok(["k: 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\nl:\n- 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n- - 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n    two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n    two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n", "? 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n: a: 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n    two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n    two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n", "'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces\n  two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n"])),
    ("\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} ", Ok(["k: '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9}\n  \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\nl:\n- '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9}\n  \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n- - '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9}\n    \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n", "? '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9}\n  \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n: a: '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9}\n    \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n", "'\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9}\n  \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n"])),
    ("\u{85}", Err("yaml: line 1: did not find expected ',' or '}'")),
    ("a\u{85} b", Err("yaml: line 1: did not find expected ',' or '}'")),
    ("a\u{7F}", Err("yaml: control characters are not allowed")),
    ("\u{80}", Err("yaml: control characters are not allowed")),
    ("\u{FFFF}", Err("yaml: control characters are not allowed")),
    ("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", Ok(["k: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\nl:\n- kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n- - kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n: a: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n"])),
    ("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", Ok(["k: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\nl:\n- kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n- - kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk:\n  a: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n"])),
    ("\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}", Ok(["k: \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\nl:\n- \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n- - \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n", "? \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n: a: \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n", "\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n"])),
    ("a\nba\nb", Ok(["k: |-\n  a\n  ba\n  b\nl:\n- |-\n  a\n  ba\n  b\n- - |-\n    a\n    ba\n    b\n", "? |-\n  a\n  ba\n  b\n: a: |-\n    a\n    ba\n    b\n", "|-\n  a\n  ba\n  b\n"])),
];

#[rustfmt::skip]
const STRINGS_V3: &[StringRow] = &[
    ("", Ok(["k: \"\"\nl:\n  - \"\"\n  - - \"\"\n", "\"\":\n  a: \"\"\n", "\"\"\n"])),
    ("a", Ok(["k: a\nl:\n  - a\n  - - a\n", "a:\n  a: a\n", "a\n"])),
    ("y", Ok(["k: \"y\"\nl:\n  - \"y\"\n  - - \"y\"\n", "\"y\":\n  a: \"y\"\n", "\"y\"\n"])),
    ("Y", Ok(["k: \"Y\"\nl:\n  - \"Y\"\n  - - \"Y\"\n", "\"Y\":\n  a: \"Y\"\n", "\"Y\"\n"])),
    ("yes", Ok(["k: \"yes\"\nl:\n  - \"yes\"\n  - - \"yes\"\n", "\"yes\":\n  a: \"yes\"\n", "\"yes\"\n"])),
    ("No", Ok(["k: \"No\"\nl:\n  - \"No\"\n  - - \"No\"\n", "\"No\":\n  a: \"No\"\n", "\"No\"\n"])),
    ("on", Ok(["k: \"on\"\nl:\n  - \"on\"\n  - - \"on\"\n", "\"on\":\n  a: \"on\"\n", "\"on\"\n"])),
    ("OFF", Ok(["k: \"OFF\"\nl:\n  - \"OFF\"\n  - - \"OFF\"\n", "\"OFF\":\n  a: \"OFF\"\n", "\"OFF\"\n"])),
    ("true", Ok(["k: \"true\"\nl:\n  - \"true\"\n  - - \"true\"\n", "\"true\":\n  a: \"true\"\n", "\"true\"\n"])),
    ("null", Ok(["k: \"null\"\nl:\n  - \"null\"\n  - - \"null\"\n", "\"null\":\n  a: \"null\"\n", "\"null\"\n"])),
    ("~", Ok(["k: \"~\"\nl:\n  - \"~\"\n  - - \"~\"\n", "\"~\":\n  a: \"~\"\n", "\"~\"\n"])),
    ("Null", Ok(["k: \"Null\"\nl:\n  - \"Null\"\n  - - \"Null\"\n", "\"Null\":\n  a: \"Null\"\n", "\"Null\"\n"])),
    ("1", Ok(["k: \"1\"\nl:\n  - \"1\"\n  - - \"1\"\n", "\"1\":\n  a: \"1\"\n", "\"1\"\n"])),
    ("-1", Ok(["k: \"-1\"\nl:\n  - \"-1\"\n  - - \"-1\"\n", "\"-1\":\n  a: \"-1\"\n", "\"-1\"\n"])),
    ("+1", Ok(["k: \"+1\"\nl:\n  - \"+1\"\n  - - \"+1\"\n", "\"+1\":\n  a: \"+1\"\n", "\"+1\"\n"])),
    ("1.5", Ok(["k: \"1.5\"\nl:\n  - \"1.5\"\n  - - \"1.5\"\n", "\"1.5\":\n  a: \"1.5\"\n", "\"1.5\"\n"])),
    ("1e3", Ok(["k: \"1e3\"\nl:\n  - \"1e3\"\n  - - \"1e3\"\n", "\"1e3\":\n  a: \"1e3\"\n", "\"1e3\"\n"])),
    ("1e400", Ok(["k: 1e400\nl:\n  - 1e400\n  - - 1e400\n", "1e400:\n  a: 1e400\n", "1e400\n"])),
    (".5", Ok(["k: \".5\"\nl:\n  - \".5\"\n  - - \".5\"\n", "\".5\":\n  a: \".5\"\n", "\".5\"\n"])),
    (".", Ok(["k: .\nl:\n  - .\n  - - .\n", ".:\n  a: .\n", ".\n"])),
    (".4_9", Ok(["k: \".4_9\"\nl:\n  - \".4_9\"\n  - - \".4_9\"\n", "\".4_9\":\n  a: \".4_9\"\n", "\".4_9\"\n"])),
    ("1_000", Ok(["k: \"1_000\"\nl:\n  - \"1_000\"\n  - - \"1_000\"\n", "\"1_000\":\n  a: \"1_000\"\n", "\"1_000\"\n"])),
    ("0x1F", Ok(["k: \"0x1F\"\nl:\n  - \"0x1F\"\n  - - \"0x1F\"\n", "\"0x1F\":\n  a: \"0x1F\"\n", "\"0x1F\"\n"])),
    ("0777", Ok(["k: \"0777\"\nl:\n  - \"0777\"\n  - - \"0777\"\n", "\"0777\":\n  a: \"0777\"\n", "\"0777\"\n"])),
    ("0o7", Ok(["k: \"0o7\"\nl:\n  - \"0o7\"\n  - - \"0o7\"\n", "\"0o7\":\n  a: \"0o7\"\n", "\"0o7\"\n"])),
    ("-0o7", Ok(["k: \"-0o7\"\nl:\n  - \"-0o7\"\n  - - \"-0o7\"\n", "\"-0o7\":\n  a: \"-0o7\"\n", "\"-0o7\"\n"])),
    ("0o-7", Ok(["k: \"0o-7\"\nl:\n  - \"0o-7\"\n  - - \"0o-7\"\n", "\"0o-7\":\n  a: \"0o-7\"\n", "\"0o-7\"\n"])),
    ("0b1", Ok(["k: \"0b1\"\nl:\n  - \"0b1\"\n  - - \"0b1\"\n", "\"0b1\":\n  a: \"0b1\"\n", "\"0b1\"\n"])),
    ("0b-1", Ok(["k: \"0b-1\"\nl:\n  - \"0b-1\"\n  - - \"0b-1\"\n", "\"0b-1\":\n  a: \"0b-1\"\n", "\"0b-1\"\n"])),
    ("08", Ok(["k: \"08\"\nl:\n  - \"08\"\n  - - \"08\"\n", "\"08\":\n  a: \"08\"\n", "\"08\"\n"])),
    ("12:30", Ok(["k: \"12:30\"\nl:\n  - \"12:30\"\n  - - \"12:30\"\n", "\"12:30\":\n  a: \"12:30\"\n", "\"12:30\"\n"])),
    ("12:30:45", Ok(["k: \"12:30:45\"\nl:\n  - \"12:30:45\"\n  - - \"12:30:45\"\n", "\"12:30:45\":\n  a: \"12:30:45\"\n", "\"12:30:45\"\n"])),
    ("-1:2", Ok(["k: \"-1:2\"\nl:\n  - \"-1:2\"\n  - - \"-1:2\"\n", "\"-1:2\":\n  a: \"-1:2\"\n", "\"-1:2\"\n"])),
    ("1:99", Ok(["k: 1:99\nl:\n  - 1:99\n  - - 1:99\n", "1:99:\n  a: 1:99\n", "1:99\n"])),
    ("190:20:30.15", Ok(["k: \"190:20:30.15\"\nl:\n  - \"190:20:30.15\"\n  - - \"190:20:30.15\"\n", "\"190:20:30.15\":\n  a: \"190:20:30.15\"\n", "\"190:20:30.15\"\n"])),
    ("2001-01-01", Ok(["k: \"2001-01-01\"\nl:\n  - \"2001-01-01\"\n  - - \"2001-01-01\"\n", "\"2001-01-01\":\n  a: \"2001-01-01\"\n", "\"2001-01-01\"\n"])),
    ("2001-1-1", Ok(["k: \"2001-1-1\"\nl:\n  - \"2001-1-1\"\n  - - \"2001-1-1\"\n", "\"2001-1-1\":\n  a: \"2001-1-1\"\n", "\"2001-1-1\"\n"])),
    ("2001-13-01", Ok(["k: 2001-13-01\nl:\n  - 2001-13-01\n  - - 2001-13-01\n", "2001-13-01:\n  a: 2001-13-01\n", "2001-13-01\n"])),
    ("2001-02-29", Ok(["k: 2001-02-29\nl:\n  - 2001-02-29\n  - - 2001-02-29\n", "2001-02-29:\n  a: 2001-02-29\n", "2001-02-29\n"])),
    ("2000-02-29", Ok(["k: \"2000-02-29\"\nl:\n  - \"2000-02-29\"\n  - - \"2000-02-29\"\n", "\"2000-02-29\":\n  a: \"2000-02-29\"\n", "\"2000-02-29\"\n"])),
    ("2001-12-14T21:59:43.10-05:00", Ok(["k: \"2001-12-14T21:59:43.10-05:00\"\nl:\n  - \"2001-12-14T21:59:43.10-05:00\"\n  - - \"2001-12-14T21:59:43.10-05:00\"\n", "\"2001-12-14T21:59:43.10-05:00\":\n  a: \"2001-12-14T21:59:43.10-05:00\"\n", "\"2001-12-14T21:59:43.10-05:00\"\n"])),
    ("2001-12-14t21:59:43,5Z", Ok(["k: \"2001-12-14t21:59:43,5Z\"\nl:\n  - \"2001-12-14t21:59:43,5Z\"\n  - - \"2001-12-14t21:59:43,5Z\"\n", "\"2001-12-14t21:59:43,5Z\":\n  a: \"2001-12-14t21:59:43,5Z\"\n", "\"2001-12-14t21:59:43,5Z\"\n"])),
    ("2001-12-14   21:59:43", Ok(["k: \"2001-12-14   21:59:43\"\nl:\n  - \"2001-12-14   21:59:43\"\n  - - \"2001-12-14   21:59:43\"\n", "\"2001-12-14   21:59:43\":\n  a: \"2001-12-14   21:59:43\"\n", "\"2001-12-14   21:59:43\"\n"])),
    ("2001-12-14 21:59:43.10 -5", Ok(["k: 2001-12-14 21:59:43.10 -5\nl:\n  - 2001-12-14 21:59:43.10 -5\n  - - 2001-12-14 21:59:43.10 -5\n", "2001-12-14 21:59:43.10 -5:\n  a: 2001-12-14 21:59:43.10 -5\n", "2001-12-14 21:59:43.10 -5\n"])),
    (".inf", Ok(["k: \".inf\"\nl:\n  - \".inf\"\n  - - \".inf\"\n", "\".inf\":\n  a: \".inf\"\n", "\".inf\"\n"])),
    ("-.INF", Ok(["k: \"-.INF\"\nl:\n  - \"-.INF\"\n  - - \"-.INF\"\n", "\"-.INF\":\n  a: \"-.INF\"\n", "\"-.INF\"\n"])),
    (".nan", Ok(["k: \".nan\"\nl:\n  - \".nan\"\n  - - \".nan\"\n", "\".nan\":\n  a: \".nan\"\n", "\".nan\"\n"])),
    ("<<", Ok(["k: <<\nl:\n  - <<\n  - - <<\n", "<<:\n  a: <<\n", "<<\n"])),
    ("=", Ok(["k: =\nl:\n  - =\n  - - =\n", "=:\n  a: =\n", "=\n"])),
    ("a: b", Ok(["k: 'a: b'\nl:\n  - 'a: b'\n  - - 'a: b'\n", "'a: b':\n  a: 'a: b'\n", "'a: b'\n"])),
    ("a:b", Ok(["k: a:b\nl:\n  - a:b\n  - - a:b\n", "a:b:\n  a: a:b\n", "a:b\n"])),
    ("a:", Ok(["k: 'a:'\nl:\n  - 'a:'\n  - - 'a:'\n", "'a:':\n  a: 'a:'\n", "'a:'\n"])),
    (": a", Ok(["k: ': a'\nl:\n  - ': a'\n  - - ': a'\n", "': a':\n  a: ': a'\n", "': a'\n"])),
    (":a", Ok(["k: :a\nl:\n  - :a\n  - - :a\n", ":a:\n  a: :a\n", ":a\n"])),
    ("a #b", Ok(["k: 'a #b'\nl:\n  - 'a #b'\n  - - 'a #b'\n", "'a #b':\n  a: 'a #b'\n", "'a #b'\n"])),
    ("a#b", Ok(["k: a#b\nl:\n  - a#b\n  - - a#b\n", "a#b:\n  a: a#b\n", "a#b\n"])),
    ("#a", Ok(["k: '#a'\nl:\n  - '#a'\n  - - '#a'\n", "'#a':\n  a: '#a'\n", "'#a'\n"])),
    ("- a", Ok(["k: '- a'\nl:\n  - '- a'\n  - - '- a'\n", "'- a':\n  a: '- a'\n", "'- a'\n"])),
    ("-a", Ok(["k: -a\nl:\n  - -a\n  - - -a\n", "-a:\n  a: -a\n", "-a\n"])),
    ("-", Ok(["k: '-'\nl:\n  - '-'\n  - - '-'\n", "'-':\n  a: '-'\n", "'-'\n"])),
    ("--", Ok(["k: --\nl:\n  - --\n  - - --\n", "--:\n  a: --\n", "--\n"])),
    ("---", Ok(["k: '---'\nl:\n  - '---'\n  - - '---'\n", "'---':\n  a: '---'\n", "'---'\n"])),
    ("--- a", Ok(["k: '--- a'\nl:\n  - '--- a'\n  - - '--- a'\n", "'--- a':\n  a: '--- a'\n", "'--- a'\n"])),
    ("...", Ok(["k: '...'\nl:\n  - '...'\n  - - '...'\n", "'...':\n  a: '...'\n", "'...'\n"])),
    ("?", Ok(["k: '?'\nl:\n  - '?'\n  - - '?'\n", "'?':\n  a: '?'\n", "'?'\n"])),
    ("? a", Ok(["k: '? a'\nl:\n  - '? a'\n  - - '? a'\n", "'? a':\n  a: '? a'\n", "'? a'\n"])),
    ("?a", Ok(["k: ?a\nl:\n  - ?a\n  - - ?a\n", "?a:\n  a: ?a\n", "?a\n"])),
    ("[a", Ok(["k: '[a'\nl:\n  - '[a'\n  - - '[a'\n", "'[a':\n  a: '[a'\n", "'[a'\n"])),
    ("a]", Ok(["k: a]\nl:\n  - a]\n  - - a]\n", "a]:\n  a: a]\n", "a]\n"])),
    ("{a", Ok(["k: '{a'\nl:\n  - '{a'\n  - - '{a'\n", "'{a':\n  a: '{a'\n", "'{a'\n"])),
    ("a, b", Ok(["k: a, b\nl:\n  - a, b\n  - - a, b\n", "a, b:\n  a: a, b\n", "a, b\n"])),
    (",a", Ok(["k: ',a'\nl:\n  - ',a'\n  - - ',a'\n", "',a':\n  a: ',a'\n", "',a'\n"])),
    ("&a", Ok(["k: '&a'\nl:\n  - '&a'\n  - - '&a'\n", "'&a':\n  a: '&a'\n", "'&a'\n"])),
    ("*a", Ok(["k: '*a'\nl:\n  - '*a'\n  - - '*a'\n", "'*a':\n  a: '*a'\n", "'*a'\n"])),
    ("!a", Ok(["k: '!a'\nl:\n  - '!a'\n  - - '!a'\n", "'!a':\n  a: '!a'\n", "'!a'\n"])),
    ("|a", Ok(["k: '|a'\nl:\n  - '|a'\n  - - '|a'\n", "'|a':\n  a: '|a'\n", "'|a'\n"])),
    (">a", Ok(["k: '>a'\nl:\n  - '>a'\n  - - '>a'\n", "'>a':\n  a: '>a'\n", "'>a'\n"])),
    ("'a", Ok(["k: '''a'\nl:\n  - '''a'\n  - - '''a'\n", "'''a':\n  a: '''a'\n", "'''a'\n"])),
    ("it's", Ok(["k: it's\nl:\n  - it's\n  - - it's\n", "it's:\n  a: it's\n", "it's\n"])),
    ("\"a\"", Ok(["k: '\"a\"'\nl:\n  - '\"a\"'\n  - - '\"a\"'\n", "'\"a\"':\n  a: '\"a\"'\n", "'\"a\"'\n"])),
    ("a \"b\"", Ok(["k: a \"b\"\nl:\n  - a \"b\"\n  - - a \"b\"\n", "a \"b\":\n  a: a \"b\"\n", "a \"b\"\n"])),
    ("%a", Ok(["k: '%a'\nl:\n  - '%a'\n  - - '%a'\n", "'%a':\n  a: '%a'\n", "'%a'\n"])),
    ("@a", Ok(["k: '@a'\nl:\n  - '@a'\n  - - '@a'\n", "'@a':\n  a: '@a'\n", "'@a'\n"])),
    ("`a", Ok(["k: '`a'\nl:\n  - '`a'\n  - - '`a'\n", "'`a':\n  a: '`a'\n", "'`a'\n"])),
    (" a", Ok(["k: ' a'\nl:\n  - ' a'\n  - - ' a'\n", "' a':\n  a: ' a'\n", "' a'\n"])),
    ("a ", Ok(["k: 'a '\nl:\n  - 'a '\n  - - 'a '\n", "'a ':\n  a: 'a '\n", "'a '\n"])),
    ("a\tb", Ok(["k: \"a\\tb\"\nl:\n  - \"a\\tb\"\n  - - \"a\\tb\"\n", "\"a\\tb\":\n  a: \"a\\tb\"\n", "\"a\\tb\"\n"])),
    ("\ta", Ok(["k: \"\\ta\"\nl:\n  - \"\\ta\"\n  - - \"\\ta\"\n", "\"\\ta\":\n  a: \"\\ta\"\n", "\"\\ta\"\n"])),
    ("a\\b", Ok(["k: a\\b\nl:\n  - a\\b\n  - - a\\b\n", "a\\b:\n  a: a\\b\n", "a\\b\n"])),
    ("\u{E9}", Ok(["k: \u{E9}\nl:\n  - \u{E9}\n  - - \u{E9}\n", "\u{E9}:\n  a: \u{E9}\n", "\u{E9}\n"])),
    ("\u{65E5}\u{672C}", Ok(["k: \u{65E5}\u{672C}\nl:\n  - \u{65E5}\u{672C}\n  - - \u{65E5}\u{672C}\n", "\u{65E5}\u{672C}:\n  a: \u{65E5}\u{672C}\n", "\u{65E5}\u{672C}\n"])),
    ("\u{A0}", Ok(["k: \u{A0}\nl:\n  - \u{A0}\n  - - \u{A0}\n", "\u{A0}:\n  a: \u{A0}\n", "\u{A0}\n"])),
    ("\u{1F600}", Ok(["k: \"\\U0001F600\"\nl:\n  - \"\\U0001F600\"\n  - - \"\\U0001F600\"\n", "\"\\U0001F600\":\n  a: \"\\U0001F600\"\n", "\"\\U0001F600\"\n"])),
    ("\u{FEFF}", Ok(["k: \"\\uFEFF\"\nl:\n  - \"\\uFEFF\"\n  - - \"\\uFEFF\"\n", "\"\\uFEFF\":\n  a: \"\\uFEFF\"\n", "\"\\uFEFF\"\n"])),
    ("\u{FEFF}ab", Ok(["k: \"\\uFEFF\\x61\\x62\"\nl:\n  - \"\\uFEFF\\x61\\x62\"\n  - - \"\\uFEFF\\x61\\x62\"\n", "\"\\uFEFF\\x61\\x62\":\n  a: \"\\uFEFF\\x61\\x62\"\n", "\"\\uFEFF\\x61\\x62\"\n"])),
    ("\u{E000}", Ok(["k: \u{E000}\nl:\n  - \u{E000}\n  - - \u{E000}\n", "\u{E000}:\n  a: \u{E000}\n", "\u{E000}\n"])),
    ("\u{FFFD}", Ok(["k: \u{FFFD}\nl:\n  - \u{FFFD}\n  - - \u{FFFD}\n", "\u{FFFD}:\n  a: \u{FFFD}\n", "\u{FFFD}\n"])),
    ("\u{0}\u{7}\u{1B}", Ok(["k: \"\\0\\a\\e\"\nl:\n  - \"\\0\\a\\e\"\n  - - \"\\0\\a\\e\"\n", "\"\\0\\a\\e\":\n  a: \"\\0\\a\\e\"\n", "\"\\0\\a\\e\"\n"])),
    ("a\nb", Ok(["k: |-\n  a\n  b\nl:\n  - |-\n    a\n    b\n  - - |-\n      a\n      b\n", "? |-\n  a\n  b\n: a: |-\n    a\n    b\n", "|-\n  a\n  b\n"])),
    ("a\nb\n", Ok(["k: |\n  a\n  b\nl:\n  - |\n    a\n    b\n  - - |\n      a\n      b\n", "? |\n  a\n  b\n: a: |\n    a\n    b\n", "|\n  a\n  b\n"])),
    ("a\nb\n\n", Ok(["k: |+\n  a\n  b\n\nl:\n  - |+\n    a\n    b\n\n  - - |+\n      a\n      b\n\n", "? |+\n  a\n  b\n\n: a: |+\n    a\n    b\n\n", "|+\n  a\n  b\n\n"])),
    ("\n", Ok(["k: |2+\n\nl:\n  - |2+\n\n  - - |2+\n\n", "? |2+\n\n: a: |2+\n\n", "|2+\n\n"])),
    ("\n\n", Ok(["k: |2+\n\n\nl:\n  - |2+\n\n\n  - - |2+\n\n\n", "? |2+\n\n\n: a: |2+\n\n\n", "|2+\n\n\n"])),
    ("\na", Ok(["k: |2-\n\n  a\nl:\n  - |2-\n\n    a\n  - - |2-\n\n      a\n", "? |2-\n\n  a\n: a: |2-\n\n    a\n", "|2-\n\n  a\n"])),
    (" a\nb", Ok(["k: |2-\n   a\n  b\nl:\n  - |2-\n     a\n    b\n  - - |2-\n       a\n      b\n", "? |2-\n   a\n  b\n: a: |2-\n     a\n    b\n", "|2-\n   a\n  b\n"])),
    ("a \nb", Ok(["k: \"a \\nb\"\nl:\n  - \"a \\nb\"\n  - - \"a \\nb\"\n", "? \"a \\nb\"\n: a: \"a \\nb\"\n", "\"a \\nb\"\n"])),
    ("a\n b", Ok(["k: |-\n  a\n   b\nl:\n  - |-\n    a\n     b\n  - - |-\n      a\n       b\n", "? |-\n  a\n   b\n: a: |-\n    a\n     b\n", "|-\n  a\n   b\n"])),
    ("a\n\n\nb", Ok(["k: |-\n  a\n\n\n  b\nl:\n  - |-\n    a\n\n\n    b\n  - - |-\n      a\n\n\n      b\n", "? |-\n  a\n\n\n  b\n: a: |-\n    a\n\n\n    b\n", "|-\n  a\n\n\n  b\n"])),
    ("a\n\tb", Ok(["k: |-\n  a\n  \tb\nl:\n  - |-\n    a\n    \tb\n  - - |-\n      a\n      \tb\n", "? |-\n  a\n  \tb\n: a: |-\n    a\n    \tb\n", "|-\n  a\n  \tb\n"])),
    ("a\nb ", Ok(["k: \"a\\nb \"\nl:\n  - \"a\\nb \"\n  - - \"a\\nb \"\n", "? \"a\\nb \"\n: a: \"a\\nb \"\n", "\"a\\nb \"\n"])),
    ("a\r\nb", Ok(["k: \"a\\r\\nb\"\nl:\n  - \"a\\r\\nb\"\n  - - \"a\\r\\nb\"\n", "? \"a\\r\\nb\"\n: a: \"a\\r\\nb\"\n", "\"a\\r\\nb\"\n"])),
    ("a\u{2028}b", Ok(["k: 'a\u{2028}  b'\nl:\n  - 'a\u{2028}    b'\n  - - 'a\u{2028}      b'\n", "? 'a\u{2028}  b'\n: a: 'a\u{2028}    b'\n", "'a\u{2028}  b'\n"])),
    ("a\u{2028}", Ok(["k: 'a\u{2028}'\nl:\n  - 'a\u{2028}'\n  - - 'a\u{2028}'\n", "? 'a\u{2028}'\n: a: 'a\u{2028}'\n", "'a\u{2028}'\n"])),
    ("a\n\u{2028}", Ok(["k: |+\n  a\n\u{2028}l:\n  - |+\n    a\n\u{2028}  - - |+\n      a\n\u{2028}", "? |+\n  a\n\u{2028}: a: |+\n    a\n\u{2028}", "|+\n  a\n\u{2028}"])),
    ("a \u{2028}b", Ok(["k: \"a \\Lb\"\nl:\n  - \"a \\Lb\"\n  - - \"a \\Lb\"\n", "? \"a \\Lb\"\n: a: \"a \\Lb\"\n", "\"a \\Lb\"\n"])),
    ("word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ", Ok(["k: 'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word '\nl:\n  - 'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word '\n  - - 'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word '\n", "? 'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word '\n: a: 'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word '\n", "'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word '\n"])),
    ("word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word", Ok(["k: word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word\nl:\n  - word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word\n  - - word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word\n", "? word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word\n: a: word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word\n", "word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word\n"])),
    ("it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end", Ok(["k: it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\nl:\n  - it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n  - - it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n", "? it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n: a: it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n", "it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's end\n"])),
    ("a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: ", Ok(["k: 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\nl:\n  - 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\n  - - 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\n", "'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: ':\n  a: 'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\n", "'a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: '\n"])),
    ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", Ok(["k: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nl:\n  - xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  - - xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:\n  a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"])),
    ("word\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\tword\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y ", Ok(["k: \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\nl:\n  - \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n  - - \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n", "? \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n: a: \"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n", "\"word\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\tword\\t y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y \"\n"])),
    ("two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces ", Ok(["k: 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\nl:\n  - 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n  - - 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n", "? 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n: a: 'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n", "'two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces two  spaces '\n"])),
    ("\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} ", Ok(["k: '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\nl:\n  - '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n  - - '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n", "? '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n: a: '\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n", "'\u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} \u{E9} '\n"])),
    ("\u{85}", Ok(["k: \"\\N\"\nl:\n  - \"\\N\"\n  - - \"\\N\"\n", "? \"\\N\"\n: a: \"\\N\"\n", "\"\\N\"\n"])),
    ("a\u{85} b", Ok(["k: \"a\\N b\"\nl:\n  - \"a\\N b\"\n  - - \"a\\N b\"\n", "? \"a\\N b\"\n: a: \"a\\N b\"\n", "\"a\\N b\"\n"])),
    ("a\u{7F}", Ok(["k: \"a\\x7F\"\nl:\n  - \"a\\x7F\"\n  - - \"a\\x7F\"\n", "\"a\\x7F\":\n  a: \"a\\x7F\"\n", "\"a\\x7F\"\n"])),
    ("\u{80}", Ok(["k: \"\\x80\"\nl:\n  - \"\\x80\"\n  - - \"\\x80\"\n", "\"\\x80\":\n  a: \"\\x80\"\n", "\"\\x80\"\n"])),
    ("\u{FFFF}", Ok(["k: \"\\uFFFF\"\nl:\n  - \"\\uFFFF\"\n  - - \"\\uFFFF\"\n", "\"\\uFFFF\":\n  a: \"\\uFFFF\"\n", "\"\\uFFFF\"\n"])),
    ("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", Ok(["k: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\nl:\n  - kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n  - - kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n: a: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n"])),
    ("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", Ok(["k: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\nl:\n  - kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n  - - kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk:\n  a: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n", "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n"])),
    ("\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}", Ok(["k: \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\nl:\n  - \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n  - - \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n", "? \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n: a: \u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n", "\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\u{E9}\n"])),
    ("a\nba\nb", Ok(["k: |-\n  a\n  ba\n  b\nl:\n  - |-\n    a\n    ba\n    b\n  - - |-\n      a\n      ba\n      b\n", "? |-\n  a\n  ba\n  b\n: a: |-\n    a\n    ba\n    b\n", "|-\n  a\n  ba\n  b\n"])),
];

/// JSON, and how v2 and v3 write it.
#[rustfmt::skip]
const VALUES: &[(&str, &str, &str)] = &[
    ("{}", "{}\n", "{}\n"),
    ("[]", "[]\n", "[]\n"),
    ("null", "null\n", "null\n"),
    ("true", "true\n", "true\n"),
    ("0", "0\n", "0\n"),
    ("-0", "0\n", "-0\n"),
    ("1", "1\n", "1\n"),
    ("1.5", "1.5\n", "1.5\n"),
    ("1e21", "1e+21\n", "1e+21\n"),
    ("1e20", "1e+20\n", "1e+20\n"),
    ("1e-7", "1e-07\n", "1e-07\n"),
    ("0.000001", "1e-06\n", "1e-06\n"),
    ("123456789.5", "1.234567895e+08\n", "1.234567895e+08\n"),
    ("100000000000000000000", "1e+20\n", "1e+20\n"),
    ("12345678901234567890", "12345678901234567000\n", "1.2345678901234567e+19\n"),
    ("-9223372036854775809", "-9.223372036854776e+18\n", "-9.223372036854776e+18\n"),
    ("{\"a\":{},\"b\":[],\"c\":null}", "a: {}\nb: []\nc: null\n", "a: {}\nb: []\nc: null\n"),
    ("{\"a\":[1,[2,[3]],{\"b\":[4]}]}", "a:\n- 1\n- - 2\n  - - 3\n- b:\n  - 4\n", "a:\n  - 1\n  - - 2\n    - - 3\n  - b:\n      - 4\n"),
    ("[[],[[]],{}]", "- []\n- - []\n- {}\n", "- []\n- - []\n- {}\n"),
    ("[{\"a\":1,\"b\":{\"c\":[{\"d\":1}]}}]", "- a: 1\n  b:\n    c:\n    - d: 1\n", "- a: 1\n  b:\n    c:\n      - d: 1\n"),
    ("{\"b10\":1,\"b9\":2,\"B1\":3,\"_x\":4,\"1\":5,\"01\":6,\"a\":7,\"\":8,\"b\":9,\"b01\":10,\"b1a\":11,\"b1-\":12,\"\u{E9}\":13,\"~\":14,\"/\":15}", "\"\": 8\n/: 15\n_x: 4\n\"~\": 14\n\"1\": 5\n\"01\": 6\nB1: 3\na: 7\nb: 9\nb1-: 12\nb1a: 11\nb01: 10\nb9: 2\nb10: 1\n\u{E9}: 13\n", "\"\": 8\n/: 15\n_x: 4\n\"~\": 14\n\"1\": 5\n\"01\": 6\nB1: 3\na: 7\nb: 9\nb1a: 11\nb1-: 12\nb01: 10\nb9: 2\nb10: 1\n\u{E9}: 13\n"),
    ("{\"a1\":1,\"a1b\":2,\"a12\":3,\"a1-\":4}", "a1: 1\na1-: 4\na12: 3\na1b: 2\n", "a1: 1\na1b: 2\na1-: 4\na12: 3\n"),
    ("{\"1a\":1,\"12\":2,\"1-\":3,\"1\":4}", "\"1\": 4\n1-: 3\n\"12\": 2\n1a: 1\n", "\"1\": 4\n1a: 1\n1-: 3\n\"12\": 2\n"),
    ("{\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\":{\"a\":[1]},\"a\\nb\":[1,{\"c\":2}],\"z\":\"a\\nb\"}", "? |-\n  a\n  b\n: - 1\n  - c: 2\n? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n: a:\n  - 1\nz: |-\n  a\n  b\n", "? |-\n  a\n  b\n: - 1\n  - c: 2\n? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n: a:\n    - 1\nz: |-\n  a\n  b\n"),
    ("{\"a\":\"long text long text long text long text long text long text long text long text long text long text long text long text \",\"b\":[\"long text long text long text long text long text long text long text long text long text long text long text long text \"]}", "a: 'long text long text long text long text long text long text long text long text\n  long text long text long text long text '\nb:\n- 'long text long text long text long text long text long text long text long text\n  long text long text long text long text '\n", "a: 'long text long text long text long text long text long text long text long text long text long text long text long text '\nb:\n  - 'long text long text long text long text long text long text long text long text long text long text long text long text '\n"),
    ("[[\"a\\nb\"],{\"k\":\"a\\nb\"}]", "- - |-\n    a\n    b\n- k: |-\n    a\n    b\n", "- - |-\n    a\n    b\n- k: |-\n    a\n    b\n"),
    ("{\"a\":\"<>&\\u2028\"}", "a: '<>&\u{2028}'\n", "a: '<>&\u{2028}'\n"),
];

#[test]
fn minus_zero_takes_the_form_that_json_gives_it_and_keeps_it() {
    let read = goyaml::to_value(b"-.0").expect("a number");
    let written = goyaml::to_string(&read).expect("a number");
    let again = goyaml::to_value(written.as_bytes()).expect("a number");
    assert_eq!(goyaml::to_string(&again).expect("a number"), "0\n");
}
