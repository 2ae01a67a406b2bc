//! What Go says about expressions that it cannot use.

use std::fmt;

/// What is wrong with an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    CharacterRange,
    Escape,
    NamedCapture,
    PerlSyntax,
    NestedRepetition,
    RepeatCount,
    Utf8,
    MissingBracket,
    MissingParenthesis,
    MissingArgument,
    TrailingBackslash,
    UnexpectedParenthesis,
    TooDeep,
    TooLarge,
}

/// An expression that cannot be used; prints as Go's error does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    defect: Defect,
    /// The part of the expression that is wrong.
    part: String,
}

impl SyntaxError {
    pub(super) fn new(defect: Defect, part: &[u8]) -> SyntaxError {
        SyntaxError {
            defect,
            part: String::from_utf8_lossy(part).into_owned(),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let defect = match self.defect {
            Defect::CharacterRange => "invalid character class range",
            Defect::Escape => "invalid escape sequence",
            Defect::NamedCapture => "invalid named capture",
            Defect::PerlSyntax => "invalid or unsupported Perl syntax",
            Defect::NestedRepetition => "invalid nested repetition operator",
            Defect::RepeatCount => "invalid repeat count",
            Defect::Utf8 => "invalid UTF-8",
            Defect::MissingBracket => "missing closing ]",
            Defect::MissingParenthesis => "missing closing )",
            Defect::MissingArgument => "missing argument to repetition operator",
            Defect::TrailingBackslash => "trailing backslash at end of expression",
            Defect::UnexpectedParenthesis => "unexpected )",
            Defect::TooDeep => "expression nests too deeply",
            Defect::TooLarge => "expression too large",
        };
        write!(formatter, "error parsing regexp: {defect}: `{}`", self.part)
    }
}
