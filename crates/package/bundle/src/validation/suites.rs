//! The validators: what they are called, how they are selected, and what they run.

use super::context::Context;
use super::finding::Outcome;
use super::loaded::Loaded;
use super::selector::Selector;
use super::{community, good_practices, multiarch, operator_hub, removed_apis};

/// A validator that runs when it is selected.
pub struct Validator {
    /// Its name, which is its label `name` too.
    pub name: &'static str,
    /// What it is selected by.
    pub labels: &'static [(&'static str, &'static str)],
    /// What it is for, in upstream's words.
    pub description: &'static str,
    check: fn(&Loaded, &Context<'_>) -> Vec<Outcome>,
}

impl Validator {
    /// Whether a selector means this validator.
    #[must_use]
    pub fn is_selected_by(&self, selector: &Selector) -> bool {
        selector.matches(self.labels)
    }

    pub(super) fn run(&self, bundle: &Loaded, context: &Context<'_>) -> Vec<Outcome> {
        (self.check)(bundle, context)
    }
}

macro_rules! suite {
    ($name:literal) => {
        &[("name", $name), ("suite", "operatorframework")]
    };
}

static OPTIONAL: [Validator; 8] = [
    Validator {
        name: "operatorhubv2",
        labels: suite!("operatorhubv2"),
        description: "OperatorHub.io metadata validation. ",
        check: operator_hub::check,
    },
    Validator {
        name: "capabilities",
        labels: suite!("capabilities"),
        description: "OperatorHub.io capabilities metadata validation. ",
        check: operator_hub::check_capabilities,
    },
    Validator {
        name: "categories",
        labels: suite!("categories"),
        description: "OperatorHub.io categories metadata validation. ",
        check: operator_hub::check_categories,
    },
    Validator {
        name: "operatorhub",
        labels: &[("name", "operatorhub")],
        description: "Deprecated OperatorHub.io metadata validation. ",
        check: operator_hub::check_deprecated,
    },
    Validator {
        name: "community",
        labels: &[("name", "community")],
        description: "(stage: alpha) Community Operator bundle validation. See https://github.com/operator-framework/community-operators/blob/master/docs/packaging-required-fields.md",
        check: community::check,
    },
    Validator {
        name: "alpha-deprecated-apis",
        labels: suite!("alpha-deprecated-apis"),
        description: "(stage: alpha) Deprecated APIs bundle validation. This validator can help you out verify if your bundle contains manifests which uses deprecated APIs. More info: https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
        check: removed_apis::check,
    },
    Validator {
        name: "good-practices",
        labels: suite!("good-practices"),
        description: "Good Practices bundle validation. This validator validates the bundle against criteria and suggestions defined as good practices for bundles under the operator-framework solutions. More info: https://sdk.operatorframework.io/docs/best-practices/.",
        check: good_practices::check,
    },
    Validator {
        name: "multiarch",
        labels: &[("name", "multiarch")],
        description: "(Alpha) Multiple Architectures bundle validation. This validator validates the bundle against criteria defined to configure the support for multiple architectures. More info: https://olm.operatorframework.io/docs/advanced-tasks/ship-operator-supporting-multiarch/.",
        check: multiarch::check,
    },
];

/// The validators that run only when they are selected, in the order they run.
#[must_use]
pub fn optional_validators() -> &'static [Validator] {
    &OPTIONAL
}

/// How wide a column of the table is at least.
const MINIMUM_WIDTH: usize = 8;
/// How much wider a column is than its widest entry.
const PADDING: usize = 4;

/// The table of optional validators that `--list-optional` prints.
#[must_use]
pub fn list_optional() -> String {
    let mut rows: Vec<[String; 3]> = vec![["NAME", "LABELS", "DESCRIPTION"].map(str::to_owned)];
    for validator in optional_validators() {
        for (index, (key, value)) in validator.labels.iter().enumerate() {
            let is_first = index == 0;
            rows.push([
                if is_first {
                    validator.name.to_owned()
                } else {
                    String::new()
                },
                format!("{key}={value}"),
                if is_first {
                    validator.description.to_owned()
                } else {
                    String::new()
                },
            ]);
        }
    }
    let width = |column: usize| {
        let widest = rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
        (widest + PADDING).max(MINIMUM_WIDTH)
    };
    let (first, second) = (width(0), width(1));
    let lines: Vec<String> = rows
        .iter()
        .map(|[name, labels, description]| format!("{name:first$}{labels:second$}{description}\n"))
        .collect();
    lines.concat()
}
