//! Semantic versions, as the release 3.3 of Masterminds/semver reads and compares them.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use gotemplate::{Call, Failure, Function, Json, Kind, Object, Type, Value};
use version::{Constraint, Edition, Spelled};

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("semver", &[Type::String], |call| {
        let version = parse(&call.string(0))?;
        Ok(Value::Object(Rc::new(VersionObject { version, is_pointer: true })))
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
        if self.is_pointer { "*semver.Version" } else { "semver.Version" }
    }

    fn kind(&self) -> Kind {
        if self.is_pointer { Kind::Pointer } else { Kind::Struct }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn method(&self, name: &str) -> Option<&'static Function> {
        let by_pointer = POINTER_METHODS.iter().filter(|_| self.is_pointer);
        METHODS.iter().chain(by_pointer).find(|method| method.name == name)
    }

    fn text(&self) -> Option<String> {
        Some(self.version.version().to_string())
    }

    fn json(&self) -> Json {
        Json::Value(Value::string(self.version.version().to_string()))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<VersionObject>().is_some_and(|other| {
            self.is_pointer == other.is_pointer && self.version == other.version
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

static METHODS: &[Function] = &[
    Function::new("Major", &[], |call| with(call, |version, _| Value::uint64(version.version().major()))),
    Function::new("Minor", &[], |call| with(call, |version, _| Value::uint64(version.version().minor()))),
    Function::new("Patch", &[], |call| with(call, |version, _| Value::uint64(version.version().patch()))),
    Function::new("Prerelease", &[], |call| {
        with(call, |version, _| Value::string(version.version().prerelease()))
    }),
    Function::new("Metadata", &[], |call| with(call, |version, _| Value::string(version.version().build()))),
    Function::new("String", &[], |call| with(call, |version, _| as_text(version))),
    Function::new("Value", &[], |call| with(call, |version, _| as_text(version))),
    Function::new("MarshalText", &[], |call| {
        with(call, |version, _| Value::Bytes(version.version().to_string().into()))
    }),
    Function::new("MarshalJSON", &[], |call| {
        with(call, |version, _| Value::Bytes(format!("\"{}\"", version.version()).into()))
    }),
    Function::new("IncMajor", &[], |call| changed(call, |version, _| text_error(version.next_major()))),
    Function::new("IncMinor", &[], |call| changed(call, |version, _| text_error(version.next_minor()))),
    Function::new("IncPatch", &[], |call| changed(call, |version, _| text_error(version.next_patch()))),
    Function::new("SetPrerelease", &[Type::String], |call| {
        changed(call, |version, text| text_error(version.with_prerelease(text)))
    }),
    Function::new("SetMetadata", &[Type::String], |call| {
        changed(call, |version, text| text_error(version.with_build(text)))
    }),
];

static POINTER_METHODS: &[Function] = &[
    Function::new("Original", &[], |call| with(call, |version, _| Value::string(version.original()))),
    Function::new("Compare", &[VERSION], |call| compared(call, |order| Value::int(order as i64))),
    Function::new("Equal", &[VERSION], |call| {
        // A nil version is a proper argument to this one alone.
        match call.arguments.first() {
            Some(Value::Object(_)) => compared(call, |order| Value::Bool(order.is_eq())),
            _ => Ok(Value::Bool(false)),
        }
    }),
    Function::new("LessThan", &[VERSION], |call| compared(call, |order| Value::Bool(order.is_lt()))),
    Function::new("LessThanEqual", &[VERSION], |call| compared(call, |order| Value::Bool(order.is_le()))),
    Function::new("GreaterThan", &[VERSION], |call| compared(call, |order| Value::Bool(order.is_gt()))),
    Function::new("GreaterThanEqual", &[VERSION], |call| compared(call, |order| Value::Bool(order.is_ge()))),
];

fn as_text(version: &Spelled) -> Value {
    Value::string(version.version().to_string())
}

fn text_error<E: ToString>(result: Result<Spelled, E>) -> Result<Spelled, String> {
    result.map_err(|error| error.to_string())
}

fn receiver(call: &Call<'_, '_>) -> Result<Spelled, Failure> {
    let object = call.receiver.as_object::<VersionObject>();
    Ok(object.map(|object| object.version.clone()).ok_or("receiver is not a semver.Version")?)
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
    Ok(Value::Object(Rc::new(VersionObject { version, is_pointer: false })))
}

fn compared(call: &Call<'_, '_>, answer: fn(Ordering) -> Value) -> Result<Value, Failure> {
    let version = receiver(call)?;
    let other = call.arguments.first().and_then(Value::as_object::<VersionObject>);
    let other = other.ok_or("runtime error: invalid memory address or nil pointer dereference")?;
    Ok(answer(version.version().precedence(other.version.version())))
}
