//! What is wrong with a value, with what is wrong below it.

use super::words;
use crate::schema::Complaint;
use crate::schema::path::{Path, Step, json_pointer};

/// A rule that a value breaks; empty where nobody asks which.
#[derive(Debug, Default)]
pub(super) struct Finding {
    path: Vec<Step>,
    field: String,
    description: String,
    role: Role,
    causes: Vec<Finding>,
}

/// What a finding stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Rule,
    /// Several rules of one schema.
    Group,
    /// The rules of a schema that another one refers to.
    Reference,
}

impl Finding {
    pub(super) fn new(path: &Path<'_>, role: Role, description: String, causes: Vec<Finding>) -> Self {
        let shown = json_pointer(&path.shown_steps());
        Self {
            path: path.steps(),
            field: format!("at {}", words::quote(&shown)),
            description,
            role,
            causes,
        }
    }

    /// How many bytes this holds, without its causes.
    pub(super) fn size(&self) -> usize {
        self.field.len() * 2 + self.description.len()
    }

    /// The findings that this one stands for, if it is a group.
    pub(super) fn ungrouped(self) -> Vec<Finding> {
        if self.role == Role::Group {
            self.causes
        } else {
            vec![self]
        }
    }

    pub(super) fn into_complaint(mut self) -> Complaint {
        // A reference is not worth a line where it leads to one finding.
        while self.role == Role::Reference && self.causes.len() == 1 {
            self = self.causes.remove(0);
        }
        Complaint {
            path: self.path,
            field: self.field,
            description: self.description,
            causes: self.causes.into_iter().map(Finding::into_complaint).collect(),
        }
    }
}
