//! What Helm 3.17.3 makes of expressions.

use crate::functions::testing::check;

#[test]
fn expressions_find_replace_and_split_as_in_go() {
    check(&[
        (r#"{{ regexMatch "(" "a" }}"#, Ok("false")),
        (r#"{{ mustRegexFind "(?<n>a)" "a" }}"#, Ok("a")),
        (r#"{{ mustRegexFind "(?<n>a)(?<n>b)" "ab" }}"#, Ok("ab")),
        (r#"{{ mustRegexFind "\\pZ" " " }}"#, Ok(" ")),
        (r#"{{ mustRegexFind "a{,2}" "a{,2}" }}"#, Ok("a{,2}")),
        (r#"{{ mustRegexFind "a{2" "a{2" }}"#, Ok("a{2")),
        (r#"{{ mustRegexFind "(?s-i:.)" "a" }}"#, Ok("a")),
        (r#"{{ mustRegexFind "[]a]+" "]a" }}"#, Ok("]a")),
        (r#"{{ mustRegexFind "[^]a]+" "b" }}"#, Ok("b")),
        (r#"{{ mustRegexFind "[a-]+" "a-" }}"#, Ok("a-")),
        (r#"{{ mustRegexFind "[-a]+" "a-" }}"#, Ok("a-")),
        (r#"{{ mustRegexFind "\\Qa.b\\E+" "a.bb" }}"#, Ok("a.bb")),
        (r#"{{ mustRegexFind "\\Qa.b" "a.b" }}"#, Ok("a.b")),
        (
            r#"{{ regexFindAll "\\b" "a b" -1 | toJson }}"#,
            Ok(r#"["","","",""]"#),
        ),
        (r#"{{ regexFindAll "\\B" "éab" -1 | toJson }}"#, Ok(r#"["",""]"#)),
        (r#"{{ regexReplaceAll "\\B" "éaéb" "-" }}"#, Ok("-éaéb")),
        (r#"{{ regexReplaceAll "a*" "baaac" "-" }}"#, Ok("-b-c-")),
        (r#"{{ regexReplaceAll "" "aé" "-" }}"#, Ok("-a-é-")),
        (
            r#"{{ regexReplaceAll "(?P<x>a)(b)?" "ab a" "${x}$2$$$3$x1${1}1$1x" }}"#,
            Ok("ab$a1 a$a1"),
        ),
        (r#"{{ regexReplaceAll "a" "a" "$" }}"#, Ok("$")),
        (r#"{{ regexReplaceAll "a" "a" "${" }}"#, Ok("${")),
        (r#"{{ regexReplaceAll "a" "a" "${a" }}"#, Ok("${a")),
        (r#"{{ regexReplaceAll "(a)" "a" "$01 $0 ${0}" }}"#, Ok(" a a")),
        (
            r#"{{ regexReplaceAllLiteral "a" "banana" "$1" }}"#,
            Ok("b$1n$1n$1"),
        ),
        (
            r#"{{ regexSplit "a" "banana" -1 | toJson }}"#,
            Ok(r#"["b","n","n",""]"#),
        ),
        (
            r#"{{ regexSplit "a" "banana" 2 | toJson }}"#,
            Ok(r#"["b","nana"]"#),
        ),
        (r#"{{ regexSplit "a" "banana" 0 | toJson }}"#, Ok("null")),
        (r#"{{ regexSplit "" "abc" -1 | toJson }}"#, Ok(r#"["a","b","c"]"#)),
        (r#"{{ regexSplit "" "" -1 | toJson }}"#, Ok("[]")),
        (r#"{{ regexSplit "a" "" -1 | toJson }}"#, Ok(r#"[""]"#)),
        (r#"{{ regexSplit "a*" "baac" -1 | toJson }}"#, Ok(r#"["b","c"]"#)),
        (r#"{{ regexSplit "z+" "pizza" 1 | toJson }}"#, Ok(r#"["pizza"]"#)),
        (
            r#"{{ regexFindAll "a*" "baaac" -1 | toJson }}"#,
            Ok(r#"["","aaa",""]"#),
        ),
        (r#"{{ regexFindAll "a" "aaa" 2 | toJson }}"#, Ok(r#"["a","a"]"#)),
        (
            r#"{{ regexFindAll "a" "aaa" 0 | toJson }}{{ regexFindAll "x" "aaa" -1 | toJson }}"#,
            Ok("nullnull"),
        ),
        (r#"{{ regexQuoteMeta "a.b*c[d]é\\" }}"#, Ok(r"a\.b\*c\[d\]é\\")),
        (r#"{{ regexFind "(?i)K" "\u212a" }}"#, Ok("\u{212a}")),
        (r#"{{ regexFind "(?i)straSSe" "STRASSE" }}"#, Ok("STRASSE")),
        (r#"{{ regexFind "\\w+" "éa_1" }}"#, Ok("a_1")),
        (r#"{{ regexFind "(?m)^b$" "a\nb\nc" }}"#, Ok("b")),
        (r#"{{ regexFind "a$" "a\n" }}|"#, Ok("|")),
        (r#"{{ regexFind "(?U)a+" "aaa" }}"#, Ok("a")),
        (r#"{{ regexFind "(?U)a+?" "aaa" }}"#, Ok("aaa")),
        (
            r#"{{ regexFind "a.b" "a\nb" }}|{{ regexFind "(?s)a.b" "a\nb" | quote }}"#,
            Ok(r#"|"a\nb""#),
        ),
        (r#"{{ regexFind "[[:^alpha:][:digit:]]+" "ab1 c" }}"#, Ok("1 ")),
        (r#"{{ regexFind "\\p{^Greek}\\P{Latin}" "aα" }}"#, Ok("aα")),
        (
            r#"{{ regexFind "(|a)*" "aaa" }}|{{ regexReplaceAll "(|a)*" "aaa" "x" }}|{{ regexReplaceAll "(|a)+" "aaa" "x$1y" }}"#,
            Ok("|xaxaxax|xaxaxax"),
        ),
        (r#"{{ regexFind "(a|ab)(c|bcd)" "abcd" }}"#, Ok("abcd")),
        (r#"{{ regexFind "\\07\\x41\\x{42}" "\u0007AB" }}"#, Ok("\u{7}AB")),
        (
            r#"{{ regexReplaceAll "(a)|(b)" "ab" "[$1|$2]" }}"#,
            Ok("[a|][|b]"),
        ),
        (
            r#"{{ typeOf (regexSplit "a" "b" 0) }}{{ typeOf (regexFindAll "a" "b" 0) }}"#,
            Ok("[]string[]string"),
        ),
        (
            r#"{{ regexReplaceAll "^" (b64dec "/2H/") "x" | b64enc }}"#,
            Ok("eP9h/w=="),
        ),
        (
            r#"{{ regexReplaceAll "\uFFFD" (b64dec "/2H/") "x" | b64enc }}"#,
            Ok("eGF4"),
        ),
        (
            r#"{{ regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" "abc-d" }}"#,
            Ok("true"),
        ),
        (r#"{{ regexFind "[\\pL\\d]+" "é9-" }}"#, Ok("é9")),
        (
            r#"{{ regexFind "[^\\S\\n]+" "a\n \tb" | quote }}"#,
            Ok(r#"" \t""#),
        ),
        (r#"{{ regexFind "(?i)[^k]+" "\u212akKx" }}"#, Ok("x")),
        (r#"{{ regexFind "[[:word:]-]+" "a-b c" }}"#, Ok("a-b")),
        (r#"{{ regexFind "[a-c-e]+" "a-e" }}"#, Ok("a-e")),
        (r#"{{ regexFind "\\_" "_" }}"#, Ok("_")),
        (r#"{{ regexFind "a{0}b" "ab" }}"#, Ok("b")),
        (r#"{{ regexFind "((a{0,5}){0}){999}b" "ab" }}"#, Ok("b")),
        (r#"{{ regexFindAll "." (b64dec "/2H/") -1 | len }}"#, Ok("3")),
        (r#"{{ regexReplaceAll "(a){0}(b)" "ab" "[$1|$2]" }}"#, Ok("a[|b]")),
        (r#"{{ regexFind "\\pC" "\u0378x" }}|"#, Ok("|")),
        (r#"{{ regexFind "\\pC" "\u00ad" | quote }}"#, Ok(r#""\u00ad""#)),
        (r#"{{ regexFind "\\x{D800}" "x" }}|"#, Ok("|")),
    ]);
}

#[test]
fn unsound_expressions_get_the_words_of_go() {
    check(&[
        (
            r#"{{ regexFind "(" "a" }}"#,
            Err("regexp: Compile(`(`): error parsing regexp: missing closing ): `(`"),
        ),
        (
            r#"{{ mustRegexMatch "(" "a" }}"#,
            Err("error parsing regexp: missing closing ): `(`"),
        ),
        (
            r#"{{ mustRegexFind "a**" "a" }}"#,
            Err("error parsing regexp: invalid nested repetition operator: `**`"),
        ),
        (
            r#"{{ mustRegexFind "a*?+" "a" }}"#,
            Err("error parsing regexp: invalid nested repetition operator: `*?+`"),
        ),
        (
            r#"{{ mustRegexFind "(?i" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?i`"),
        ),
        (
            r#"{{ mustRegexFind "(?" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?`"),
        ),
        (
            r#"{{ mustRegexFind "(?P<n" "a" }}"#,
            Err("error parsing regexp: invalid named capture: `(?P<n`"),
        ),
        (
            r#"{{ mustRegexFind "(?P<n-x>a)" "a" }}"#,
            Err("error parsing regexp: invalid named capture: `(?P<n-x>`"),
        ),
        (
            r#"{{ mustRegexFind "(?=a)" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ),
        (
            r#"{{ mustRegexFind "(?!a)" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
        ),
        (
            r#"{{ mustRegexFind "(?<=a)" "a" }}"#,
            Err("error parsing regexp: invalid named capture: `(?<=a)`"),
        ),
        (
            r#"{{ mustRegexFind "(?P=n)" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?P`"),
        ),
        (
            r#"{{ mustRegexFind "\\1" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\1`"),
        ),
        (
            r#"{{ mustRegexFind "\\8" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\8`"),
        ),
        (
            r#"{{ mustRegexFind "\\Z" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\Z`"),
        ),
        (
            r#"{{ mustRegexFind "\\C" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\C`"),
        ),
        (
            r#"{{ mustRegexFind "a)" "a" }}"#,
            Err("error parsing regexp: unexpected ): `a)`"),
        ),
        (
            r#"{{ mustRegexFind "[a" "a" }}"#,
            Err("error parsing regexp: missing closing ]: `[a`"),
        ),
        (
            r#"{{ mustRegexFind "x[z-a]y" "a" }}"#,
            Err("error parsing regexp: invalid character class range: `z-a`"),
        ),
        (
            r#"{{ mustRegexFind "[[:foo:]]" "a" }}"#,
            Err("error parsing regexp: invalid character class range: `[:foo:]`"),
        ),
        (
            r#"{{ mustRegexFind "[a-\\d]" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\d`"),
        ),
        (
            r#"{{ mustRegexFind "\\p{Foo}" "a" }}"#,
            Err(r"error parsing regexp: invalid character class range: `\p{Foo}`"),
        ),
        (
            r#"{{ mustRegexFind "\\p{greek}" "a" }}"#,
            Err(r"error parsing regexp: invalid character class range: `\p{greek}`"),
        ),
        (
            r#"{{ mustRegexFind "\\pq" " " }}"#,
            Err(r"error parsing regexp: invalid character class range: `\pq`"),
        ),
        (
            r#"{{ mustRegexFind "\\p{L" " " }}"#,
            Err(r"error parsing regexp: invalid character class range: `\p{L`"),
        ),
        (
            r#"{{ mustRegexFind "a{1001}" "a" }}"#,
            Err("error parsing regexp: invalid repeat count: `{1001}`"),
        ),
        (
            r#"{{ mustRegexFind "a{2,1}" "a" }}"#,
            Err("error parsing regexp: invalid repeat count: `{2,1}`"),
        ),
        (
            r#"{{ mustRegexFind "(a{100}){100}" "a" }}"#,
            Err("error parsing regexp: invalid repeat count: `{100}`"),
        ),
        (
            r#"{{ mustRegexFind "*a" "a" }}"#,
            Err("error parsing regexp: missing argument to repetition operator: `*`"),
        ),
        (
            r#"{{ mustRegexFind "a|*" "a" }}"#,
            Err("error parsing regexp: missing argument to repetition operator: `*`"),
        ),
        (
            r#"{{ mustRegexFind "(+)" "a" }}"#,
            Err("error parsing regexp: missing argument to repetition operator: `+`"),
        ),
        (
            r#"{{ mustRegexFind "a\\" "a" }}"#,
            Err("error parsing regexp: trailing backslash at end of expression: ``"),
        ),
        (
            r#"{{ mustRegexFind "\\x{110000}" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\x{110000`"),
        ),
        (
            r#"{{ mustRegexFind "\\xg1" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\xg1`"),
        ),
        (
            r#"{{ mustRegexFind "\\x{}" "a" }}"#,
            Err(r"error parsing regexp: invalid escape sequence: `\x{}`"),
        ),
        (
            r#"{{ mustRegexFind "(?i-" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?i-`"),
        ),
        (
            r#"{{ mustRegexFind "(?-)" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?-)`"),
        ),
        (
            r#"{{ mustRegexFind "(?i--s)" "a" }}"#,
            Err("error parsing regexp: invalid or unsupported Perl syntax: `(?i--`"),
        ),
        (
            r#"{{ regexFind "(" "`" }}"#,
            Err("regexp: Compile(`(`): error parsing regexp: missing closing ): `(`"),
        ),
        (
            r#"{{ regexFind "`(" "`" }}"#,
            Err(r#"regexp: Compile("`("): error parsing regexp: missing closing ): ``(`"#),
        ),
        (
            r#"{{ mustRegexReplaceAll "[" "a" "b" }}"#,
            Err("error parsing regexp: missing closing ]: `[`"),
        ),
        (
            r#"{{ regexReplaceAll "[" "a" "b" }}"#,
            Err("regexp: Compile(`[`): error parsing regexp: missing closing ]: `[`"),
        ),
        (
            r#"{{ mustRegexSplit "[" "a" 1 }}"#,
            Err("error parsing regexp: missing closing ]: `[`"),
        ),
        (
            r#"{{ regexReplaceAllLiteral "[" "a" "b" }}"#,
            Err("regexp: Compile(`[`): error parsing regexp: missing closing ]: `[`"),
        ),
        (
            r#"{{ regexFind "[\\Q]\\E]" "a" }}"#,
            Err(r"regexp: Compile(`[\Q]\E]`): error parsing regexp: invalid escape sequence: `\Q`"),
        ),
        (
            r#"{{ regexFind "\\é" "é" }}"#,
            Err(r"regexp: Compile(`\é`): error parsing regexp: invalid escape sequence: `\é`"),
        ),
        (
            r#"{{ regexFind "(a{0}){2000}" "ab" }}"#,
            Err("regexp: Compile(`(a{0}){2000}`): error parsing regexp: invalid repeat count: `{2000}`"),
        ),
    ]);
}
