//! What is said of a name that nothing has: the names that there are.

use crate::failure::Failure;

/// Says that nothing of a kind has a name, and what there is; where there is nothing, `otherwise` says what to do.
pub(crate) fn unknown(kind: &str, name: &str, known: &[String], otherwise: &str) -> Failure {
    let there = match known {
        [] => format!("there is none: {otherwise}"),
        [one] => format!("there is {one}"),
        several => format!("there are {}", several.join(", ")),
    };
    Failure::new(format!("{kind} {name:?} isn't there; {there}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_names_what_is_not_there_learns_what_is() {
        let said = |known: &[&str]| {
            let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            unknown("ClusterCatalog", "c", &known, "add one").text()
        };
        assert_eq!(
            said(&[]),
            "ClusterCatalog \"c\" isn't there; there is none: add one"
        );
        assert_eq!(said(&["a"]), "ClusterCatalog \"c\" isn't there; there is a");
        assert_eq!(
            said(&["a", "b"]),
            "ClusterCatalog \"c\" isn't there; there are a, b"
        );
    }
}
