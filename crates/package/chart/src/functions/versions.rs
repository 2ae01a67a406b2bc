//! Semantic versions, as the release 3.3 of Masterminds/semver reads and compares them.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use gotemplate::{Call, Failure, Function, Json, Kind, Object, Type, Value};
use version::{Constraint, Edition, Spelled};

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("semver", &[Type::String], |call| {
        let version = parse(&call.string(0))?;
        Ok(Value::Object(Rc::new(VersionObject {
            version,
            is_pointer: true,
        })))
    }),
    Function::new("semverCompare", &[Type::String, Type::String], |call| {
        let constraint =
            Constraint::parse(&call.string(0), Edition::V3_3).map_err(|error| error.to_string())?;
        let version = parse(&call.string(1))?;
        Ok(Value::Bool(constraint.check(version.version())))
    }),
];

fn parse(text: &str) -> Result<Spelled, String> {
    Spelled::parse(text, Edition::V3_3).map_err(|error| error.to_string())
}

/// `*semver.Version`, in signatures.
const VERSION: Type = Type::Named("*semver.Version", Kind::Pointer);

/// A version with its methods.
struct VersionObject {
    version: Spelled,
    /// Whether it is a `*semver.Version`: the methods that need a pointer are not there for the others.
    is_pointer: bool,
}

impl Object for VersionObject {
    fn type_name(&self) -> &'static str {
        if self.is_pointer {
            "*semver.Version"
        } else {
            "semver.Version"
        }
    }

    fn kind(&self) -> Kind {
        if self.is_pointer {
            Kind::Pointer
        } else {
            Kind::Struct
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn method(&self, name: &str) -> Option<&'static Function> {
        let by_pointer = POINTER_METHODS.iter().filter(|_| self.is_pointer);
        METHODS
            .iter()
            .chain(by_pointer)
            .find(|method| method.name == name)
    }

    fn text(&self) -> Option<String> {
        Some(self.version.version().to_string())
    }

    fn json(&self) -> Json {
        Json::Value(Value::string(self.version.version().to_string()))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<VersionObject>()
            .is_some_and(|other| self.is_pointer == other.is_pointer && self.version == other.version)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

static METHODS: &[Function] = &[
    Function::new("Major", &[], |call| {
        with(call, |version, _| Value::uint64(version.version().major()))
    }),
    Function::new("Minor", &[], |call| {
        with(call, |version, _| Value::uint64(version.version().minor()))
    }),
    Function::new("Patch", &[], |call| {
        with(call, |version, _| Value::uint64(version.version().patch()))
    }),
    Function::new("Prerelease", &[], |call| {
        with(call, |version, _| Value::string(version.version().prerelease()))
    }),
    Function::new("Metadata", &[], |call| {
        with(call, |version, _| Value::string(version.version().build()))
    }),
    Function::new("String", &[], |call| with(call, |version, _| as_text(version))),
    Function::new("Value", &[], |call| with(call, |version, _| as_text(version))),
    Function::new("MarshalText", &[], |call| {
        with(call, |version, _| {
            Value::Bytes(version.version().to_string().into())
        })
    }),
    Function::new("MarshalJSON", &[], |call| {
        with(call, |version, _| {
            Value::Bytes(format!("\"{}\"", version.version()).into())
        })
    }),
    Function::new("IncMajor", &[], |call| {
        changed(call, |version, _| text_error(version.next_major()))
    }),
    Function::new("IncMinor", &[], |call| {
        changed(call, |version, _| text_error(version.next_minor()))
    }),
    Function::new("IncPatch", &[], |call| {
        changed(call, |version, _| text_error(version.next_patch()))
    }),
    Function::new("SetPrerelease", &[Type::String], |call| {
        changed(call, |version, text| text_error(version.with_prerelease(text)))
    }),
    Function::new("SetMetadata", &[Type::String], |call| {
        changed(call, |version, text| text_error(version.with_build(text)))
    }),
];

static POINTER_METHODS: &[Function] = &[
    Function::new("Original", &[], |call| {
        with(call, |version, _| Value::string(version.original()))
    }),
    Function::new("Compare", &[VERSION], |call| {
        compared(call, |order| Value::int(order as i64))
    }),
    Function::new("Equal", &[VERSION], |call| {
        // A nil version is a proper argument to this one alone.
        match call.arguments.first() {
            Some(Value::Object(_)) => compared(call, |order| Value::Bool(order.is_eq())),
            _ => Ok(Value::Bool(false)),
        }
    }),
    Function::new("LessThan", &[VERSION], |call| {
        compared(call, |order| Value::Bool(order.is_lt()))
    }),
    Function::new("LessThanEqual", &[VERSION], |call| {
        compared(call, |order| Value::Bool(order.is_le()))
    }),
    Function::new("GreaterThan", &[VERSION], |call| {
        compared(call, |order| Value::Bool(order.is_gt()))
    }),
    Function::new("GreaterThanEqual", &[VERSION], |call| {
        compared(call, |order| Value::Bool(order.is_ge()))
    }),
];

fn as_text(version: &Spelled) -> Value {
    Value::string(version.version().to_string())
}

fn text_error<E: ToString>(result: Result<Spelled, E>) -> Result<Spelled, String> {
    result.map_err(|error| error.to_string())
}

fn receiver(call: &Call<'_, '_>) -> Result<Spelled, Failure> {
    let object = call.receiver.as_object::<VersionObject>();
    Ok(object
        .map(|object| object.version.clone())
        .ok_or("receiver is not a semver.Version")?)
}

fn with(
    call: &Call<'_, '_>,
    answer: impl FnOnce(&Spelled, &Call<'_, '_>) -> Value,
) -> Result<Value, Failure> {
    Ok(answer(&receiver(call)?, call))
}

fn changed(
    call: &Call<'_, '_>,
    change: impl FnOnce(&Spelled, &str) -> Result<Spelled, String>,
) -> Result<Value, Failure> {
    let version = change(&receiver(call)?, &call.string(0))?;
    Ok(Value::Object(Rc::new(VersionObject {
        version,
        is_pointer: false,
    })))
}

fn compared(call: &Call<'_, '_>, answer: fn(Ordering) -> Value) -> Result<Value, Failure> {
    let version = receiver(call)?;
    let other = call.arguments.first().and_then(Value::as_object::<VersionObject>);
    let other = other.ok_or("runtime error: invalid memory address or nil pointer dereference")?;
    Ok(answer(version.version().precedence(other.version.version())))
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn versions_are_read_and_compared_as_in_helm() {
        check(&[
            (
                r#"{{ semver "1.2" }}{{ (semver "v1.2.3-beta.1+b").Major }}{{ (semver "v1.2.3-beta.1+b").Prerelease }}{{ (semver "v1.2.3-beta.1+b").Metadata }}{{ (semver "v1.2.3-beta.1+b").Original }}{{ semver "v1.2.3-beta.1+b" }}{{ semver "1" | toJson }}{{ semver "1" | typeOf }}{{ semver "1" | kindOf }}{{ (semver "1").Major | typeOf }}"#,
                Ok(r#"1.2.01beta.1bv1.2.3-beta.1+b1.2.3-beta.1+b"1.0.0"*semver.Versionptruint64"#),
            ),
            (
                r#"{{ $v := semver "1.2.3" }}{{ $v.IncMajor }} {{ $v.IncMinor }} {{ $v.IncPatch }} {{ $v.Compare (semver "1.3") }} {{ $v.LessThan (semver "1.3") }} {{ $v.GreaterThan (semver "1.3") }} {{ $v.Equal (semver "1.2.3") }} {{ typeOf $v.IncMajor }} {{ $v.SetPrerelease "rc1" }} {{ $v.SetMetadata "x" }} {{ $v.String }}"#,
                Ok("2.0.0 1.3.0 1.2.4 -1 true false true semver.Version 1.2.3-rc1 1.2.3+x 1.2.3"),
            ),
            (r#"{{ $v := semver "1.2.3" }}{{ ($v.IncMajor).Major }}"#, Ok("2")),
            (
                r#"{{ $v := semver "1.2.3" }}{{ $v.Compare nil }}"#,
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            (r#"{{ $v := semver "1.2.3" }}{{ $v.Equal nil }}"#, Ok("false")),
            (r#"{{ semver "x" }}"#, Err("Invalid Semantic Version")),
            (r#"{{ semver "" }}"#, Err("Invalid Semantic Version")),
            (r#"{{ semver "1.2.3.4" }}"#, Err("Invalid Semantic Version")),
            (
                r#"{{ semverCompare "^1.2" "1.3.0" }}{{ semverCompare ">=1.2-0" "1.3.0-beta" }}{{ semverCompare ">1.2" "1.2.5" }}{{ semverCompare "*" "1.2.5" }}{{ semverCompare "1.2.x" "1.2.5" }}"#,
                Ok("truetruefalsetruetrue"),
            ),
            (
                r#"{{ semverCompare "bogus" "1.3.0" }}"#,
                Err("improper constraint: bogus"),
            ),
            (
                r#"{{ semverCompare ">1" "bogus" }}"#,
                Err("Invalid Semantic Version"),
            ),
        ]);
    }
}
