//! The way to a value, while values are judged and afterwards.

use std::fmt::Write;

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a table, to the value of a key.
    Key(String),
    /// Into a list, to an element; the first is 0.
    Index(usize),
}

/// Names a value by the way to it, as Kubernetes names fields: `spec.ports[0].name`, `spec.labels[app.kubernetes.io/name]`.
pub fn field_name(root: &str, path: &[Step]) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    path.iter().fold(root.to_owned(), |mut name, step| {
        match step {
            Step::Key(key) if !key.is_empty() && key.chars().all(is_plain) => {
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(key);
            }
            // Writing to a text cannot fail.
            Step::Key(key) => drop(write!(name, "[{key}]")),
            Step::Index(index) => drop(write!(name, "[{index}]")),
        }
        name
    })
}

/// The JSON pointer (RFC 6901) to a value.
pub fn json_pointer(path: &[Step]) -> String {
    path.iter().fold(String::new(), |pointer, step| match step {
        Step::Key(key) => pointer + "/" + &key.replace('~', "~0").replace('/', "~1"),
        Step::Index(index) => format!("{pointer}/{index}"),
    })
}

/// The way from the root of the values to where judging has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    place: Place<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Place<'p> {
    Root,
    Key(&'p str),
    /// The library may show an element by another number than it has.
    Element {
        index: usize,
        shown: usize,
    },
    /// The same value, but the library shows nothing of the way to it.
    Hidden,
}

impl<'p> Path<'p> {
    /// Where judging starts.
    pub(super) const ROOT: Path<'static> = Path {
        parent: None,
        place: Place::Root,
    };

    pub(super) fn key(&'p self, key: &'p str) -> Path<'p> {
        self.at(Place::Key(key))
    }

    pub(super) fn element(&'p self, index: usize) -> Path<'p> {
        self.element_shown_as(index, index)
    }

    pub(super) fn element_shown_as(&'p self, index: usize, shown: usize) -> Path<'p> {
        self.at(Place::Element { index, shown })
    }

    pub(super) fn hidden(&'p self) -> Path<'p> {
        self.at(Place::Hidden)
    }

    fn at(&'p self, place: Place<'p>) -> Path<'p> {
        Path {
            parent: Some(self),
            place,
        }
    }

    fn places(&self) -> impl Iterator<Item = Place<'p>> {
        let mut next = Some(*self);
        std::iter::from_fn(move || {
            let here = next?;
            next = here.parent.copied();
            Some(here.place)
        })
    }

    /// The steps from the root to here.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = self
            .places()
            .filter_map(|place| match place {
                Place::Key(key) => Some(Step::Key(key.to_owned())),
                Place::Element { index, .. } => Some(Step::Index(index)),
                Place::Root | Place::Hidden => None,
            })
            .collect();
        steps.reverse();
        steps
    }

    /// The steps from the root to here, as far as the library shows them.
    pub(super) fn shown_steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = self
            .places()
            .map_while(|place| match place {
                Place::Key(key) => Some(Step::Key(key.to_owned())),
                Place::Element { shown, .. } => Some(Step::Index(shown)),
                Place::Root | Place::Hidden => None,
            })
            .collect();
        steps.reverse();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_as_kubernetes_names_them() {
        let key = |key: &str| Step::Key(key.to_owned());
        for (root, path, expected) in [
            ("spec", vec![], "spec"),
            ("spec", vec![key("replicas")], "spec.replicas"),
            (
                "spec",
                vec![key("ports"), Step::Index(0), key("name")],
                "spec.ports[0].name",
            ),
            (
                "spec",
                vec![key("labels"), key("app.kubernetes.io/name")],
                "spec.labels[app.kubernetes.io/name]",
            ),
            ("", vec![key("a"), key("0")], "a.0"),
            ("spec", vec![key("")], "spec[]"),
        ] {
            assert_eq!(field_name(root, &path), expected);
        }
    }

    #[test]
    fn pointers_escape_tildes_and_slashes() {
        let path = [Step::Key("a/b~c".to_owned()), Step::Index(3)];
        assert_eq!(json_pointer(&path), "/a~1b~0c/3");
        assert_eq!(json_pointer(&[]), "");
    }
}
