//! From the text of a query to its tree.

use super::answer::SyntaxError;
use super::document::{
    Argument, Directive, Document, Field, Fragment, Inline, Literal, LiteralValue, Name, Operation,
    OperationKind, Selection, Spread, TypeReference, VariableDefinition,
};
use super::lexer::{Kind, Token, token_at};

/// How deep selections and values may be nested in a text: far above the depth that queries may have, and far below
/// what the stack holds.
const MAX_NESTING: usize = 64;

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadError {
    /// It is no query.
    Syntax(SyntaxError),
    /// It is nested deeper than any query may be.
    TooDeep,
}

impl From<SyntaxError> for ReadError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

impl Document {
    /// Reads a text.
    pub(super) fn read(source: &str) -> Result<Self, ReadError> {
        let mut parser = Parser {
            source,
            token: token_at(source, 0)?,
            nesting: 0,
        };
        let mut document = Self {
            operations: Vec::new(),
            fragments: Vec::new(),
        };
        while parser.token.kind != Kind::End {
            match (parser.token.kind, parser.token.text.as_str()) {
                (Kind::OpenBrace, _) | (Kind::Name, "query" | "mutation" | "subscription") => {
                    document.operations.push(parser.operation()?);
                }
                (Kind::Name, "fragment") => document.fragments.push(parser.fragment()?),
                _ => return Err(parser.unexpected().into()),
            }
        }
        Ok(document)
    }
}

/// Reads a type, such as `[__Type!]!`.
pub(super) fn type_reference(text: &str) -> Option<TypeReference> {
    let mut parser = Parser {
        source: text,
        token: token_at(text, 0).ok()?,
        nesting: 0,
    };
    parser.type_reference().ok()
}

struct Parser<'a> {
    source: &'a str,
    token: Token,
    nesting: usize,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, ReadError> {
        let next = token_at(self.source, self.token.end)?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn skip(&mut self, kind: Kind) -> Result<bool, ReadError> {
        let is_there = self.token.kind == kind;
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn expect(&mut self, kind: Kind) -> Result<Token, ReadError> {
        if self.token.kind == kind {
            return self.advance();
        }
        let description = format!("Expected {}, found {}", kind.describe(), self.token.describe());
        Err(SyntaxError::at(self.token.start, description).into())
    }

    fn expect_word(&mut self, word: &str) -> Result<(), ReadError> {
        if self.token.kind == Kind::Name && self.token.text == word {
            self.advance()?;
            return Ok(());
        }
        let description = format!("Expected \"{word}\", found {}", self.token.describe());
        Err(SyntaxError::at(self.token.start, description).into())
    }

    fn unexpected(&self) -> SyntaxError {
        SyntaxError::at(self.token.start, format!("Unexpected {}", self.token.describe()))
    }

    /// Reads what stands between two brackets, at least one thing.
    fn several<T>(
        &mut self,
        open: Kind,
        close: Kind,
        mut read: impl FnMut(&mut Self) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let start = self.expect(open)?.start;
        let mut found = Vec::new();
        while !self.skip(close)? {
            found.push(read(self)?);
        }
        if found.is_empty() {
            let description = format!("Unexpected empty IN {}{}", open.describe(), close.describe());
            return Err(SyntaxError::at(start, description).into());
        }
        Ok(found)
    }

    /// Goes one level deeper while `read` runs.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ReadError>) -> Result<T, ReadError> {
        if self.nesting >= MAX_NESTING {
            return Err(ReadError::TooDeep);
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    fn name(&mut self) -> Result<Name, ReadError> {
        let token = self.expect(Kind::Name)?;
        Ok(Name {
            text: token.text,
            at: token.start,
        })
    }

    fn operation(&mut self) -> Result<Operation, ReadError> {
        let at = self.token.start;
        let mut operation = Operation {
            kind: OperationKind::Query,
            name: None,
            variables: Vec::new(),
            directives: Vec::new(),
            selections: Vec::new(),
            at,
        };
        if self.token.kind == Kind::Name {
            operation.kind = match self.advance()?.text.as_str() {
                "mutation" => OperationKind::Mutation,
                "subscription" => OperationKind::Subscription,
                _ => OperationKind::Query,
            };
            if self.token.kind == Kind::Name {
                operation.name = Some(self.name()?);
            }
            if self.token.kind == Kind::OpenParenthesis {
                operation.variables = self.several(
                    Kind::OpenParenthesis,
                    Kind::CloseParenthesis,
                    Self::variable_definition,
                )?;
            }
            operation.directives = self.directives()?;
        }
        operation.selections = self.selections()?;
        Ok(operation)
    }

    fn variable_definition(&mut self) -> Result<VariableDefinition, ReadError> {
        let at = self.token.start;
        self.expect(Kind::Dollar)?;
        let name = self.name()?;
        self.expect(Kind::Colon)?;
        let kind_at = self.token.start;
        let kind = self.type_reference()?;
        let default = if self.skip(Kind::Equals)? {
            Some(self.literal(true)?)
        } else {
            None
        };
        Ok(VariableDefinition {
            name,
            kind,
            kind_at,
            default,
            at,
        })
    }

    fn type_reference(&mut self) -> Result<TypeReference, ReadError> {
        let inner = if self.skip(Kind::OpenBracket)? {
            let inner = self.nested(Self::type_reference)?;
            self.expect(Kind::CloseBracket)?;
            TypeReference::List(Box::new(inner))
        } else {
            TypeReference::Named(self.name()?.text)
        };
        if self.skip(Kind::Bang)? {
            return Ok(TypeReference::NonNull(Box::new(inner)));
        }
        Ok(inner)
    }

    fn selections(&mut self) -> Result<Vec<Selection>, ReadError> {
        self.nested(|parser| parser.several(Kind::OpenBrace, Kind::CloseBrace, Self::selection))
    }

    fn selection(&mut self) -> Result<Selection, ReadError> {
        if self.token.kind != Kind::Spread {
            return Ok(Selection::Field(self.field()?));
        }
        let at = self.advance()?.start;
        if self.token.kind == Kind::Name && self.token.text != "on" {
            return Ok(Selection::Spread(Spread {
                name: self.name()?,
                directives: self.directives()?,
                at,
            }));
        }
        let condition = if self.token.kind == Kind::Name {
            self.advance()?;
            Some(self.name()?)
        } else {
            None
        };
        Ok(Selection::Inline(Inline {
            condition,
            directives: self.directives()?,
            selections: self.selections()?,
            at,
        }))
    }

    fn field(&mut self) -> Result<Field, ReadError> {
        let at = self.token.start;
        let mut name = self.name()?;
        let mut alias = None;
        if self.skip(Kind::Colon)? {
            alias = Some(std::mem::replace(&mut name, self.name()?));
        }
        let arguments = self.arguments()?;
        let directives = self.directives()?;
        let selections_at = self.token.start;
        let selections = if self.token.kind == Kind::OpenBrace {
            Some(self.selections()?)
        } else {
            None
        };
        Ok(Field {
            alias,
            name,
            arguments,
            directives,
            selections,
            selections_at,
            at,
        })
    }

    fn arguments(&mut self) -> Result<Vec<Argument>, ReadError> {
        if self.token.kind != Kind::OpenParenthesis {
            return Ok(Vec::new());
        }
        self.several(Kind::OpenParenthesis, Kind::CloseParenthesis, |parser| {
            let at = parser.token.start;
            let name = parser.name()?;
            parser.expect(Kind::Colon)?;
            let value = parser.literal(false)?;
            Ok(Argument { name, value, at })
        })
    }

    fn directives(&mut self) -> Result<Vec<Directive>, ReadError> {
        let mut found = Vec::new();
        while self.token.kind == Kind::At {
            let at = self.advance()?.start;
            found.push(Directive {
                name: self.name()?,
                arguments: self.arguments()?,
                at,
            });
        }
        Ok(found)
    }

    fn fragment(&mut self) -> Result<Fragment, ReadError> {
        let at = self.token.start;
        self.expect_word("fragment")?;
        if self.token.text == "on" {
            return Err(self.unexpected().into());
        }
        let name = self.name()?;
        self.expect_word("on")?;
        Ok(Fragment {
            name,
            condition: self.name()?,
            directives: self.directives()?,
            selections: self.selections()?,
            at,
        })
    }

    fn literal(&mut self, is_constant: bool) -> Result<Literal, ReadError> {
        let at = self.token.start;
        let value = match (self.token.kind, self.token.text.as_str()) {
            (Kind::OpenBracket, _) => LiteralValue::List(self.nested(|parser| parser.list(is_constant))?),
            (Kind::OpenBrace, _) => LiteralValue::Object(self.nested(|parser| parser.object(is_constant))?),
            (Kind::Int, _) => LiteralValue::Int(self.advance()?.text),
            (Kind::Float, _) => LiteralValue::Float(self.advance()?.text),
            (Kind::String | Kind::BlockString, _) => LiteralValue::Text(self.advance()?.text),
            (Kind::Name, "true" | "false") => LiteralValue::Boolean(self.advance()?.text == "true"),
            (Kind::Name, name) if name != "null" => LiteralValue::Enum(self.advance()?.text),
            (Kind::Dollar, _) if !is_constant => {
                self.advance()?;
                LiteralValue::Variable(self.name()?.text)
            }
            _ => return Err(self.unexpected().into()),
        };
        Ok(Literal { value, at })
    }

    fn list(&mut self, is_constant: bool) -> Result<Vec<Literal>, ReadError> {
        self.expect(Kind::OpenBracket)?;
        let mut items = Vec::new();
        while !self.skip(Kind::CloseBracket)? {
            items.push(self.literal(is_constant)?);
        }
        Ok(items)
    }

    fn object(&mut self, is_constant: bool) -> Result<Vec<(Name, Literal)>, ReadError> {
        self.expect(Kind::OpenBrace)?;
        let mut fields = Vec::new();
        while !self.skip(Kind::CloseBrace)? {
            let name = self.name()?;
            self.expect(Kind::Colon)?;
            fields.push((name, self.literal(is_constant)?));
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(source: &str) -> String {
        match Document::read(source).expect_err("it is no query") {
            ReadError::Syntax(error) => error.description,
            ReadError::TooDeep => "too deep".to_owned(),
        }
    }

    #[test]
    fn a_query_is_read_with_all_its_parts() {
        let source = "query Q($n: [Int!] = [5]) @include(if: true) { a: b(x: $n, y: {z: \"t\"}) { ...F ... on T { c } } } \
                      fragment F on T { d }";
        let document = Document::read(source).expect("a query");
        let operation = &document.operations[0];
        assert_eq!(operation.variables[0].kind.to_string(), "[Int!]");
        let Selection::Field(field) = &operation.selections[0] else {
            panic!("a field");
        };
        assert_eq!((field.key(), field.name.text.as_str()), ("a", "b"));
        assert_eq!(field.arguments[1].value.printed(), "{z: \"t\"}");
        assert_eq!(field.selections.as_ref().map(Vec::len), Some(2));
        assert_eq!(
            document.fragment("F").map(|found| found.at),
            source.find("fragment")
        );
    }

    #[test]
    fn what_is_no_query_is_refused_in_upstreams_words() {
        for (source, expected) in [
            ("{ invalid query {{{{", "Expected Name, found {"),
            ("{}", "Unexpected empty IN {}"),
            ("{ a", "Expected Name, found EOF"),
            ("{ a(b: null) }", "Unexpected Name \"null\""),
            ("fragment on on T { a }", "Unexpected Name \"on\""),
            ("fragment F of T { a }", "Expected \"on\", found Name \"of\""),
            ("query ($x: Int = $y) { a }", "Unexpected $"),
            ("type T { a: Int }", "Unexpected Name \"type\""),
            ("(", "Unexpected ("),
        ] {
            assert_eq!(refusal(source), expected, "{source}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        assert_eq!(refusal(&"{a".repeat(50_000)), "too deep");
        assert_eq!(refusal(&format!("{{a(b:{}", "[".repeat(50_000))), "too deep");
        assert_eq!(refusal(&format!("query ($a: {}", "[".repeat(50_000))), "too deep");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_fail_otherwise(source in "[{}()a$:\\[\\]!@. \"1-]{0,60}") {
            let _ = Document::read(&source);
        }
    }
}
