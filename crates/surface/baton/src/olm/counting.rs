//! What several controllers count, in one text for Prometheus.

use std::collections::BTreeMap;

/// Joins texts so that what stands above a metric is there once, with the samples of all below it: Prometheus refuses a text
/// in which it stands twice.
pub(super) fn joined(texts: &[String]) -> String {
    let mut order: Vec<&str> = Vec::new();
    let mut families: BTreeMap<&str, Family<'_>> = BTreeMap::new();
    for text in texts {
        let mut current = "";
        let mut repeats = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("# HELP ").and_then(first_word) {
                current = name;
                repeats = families.contains_key(name);
            }
            if !families.contains_key(current) {
                order.push(current);
            }
            let family = families.entry(current).or_default();
            if !line.starts_with('#') {
                family.samples.push(line);
            } else if !repeats {
                family.head.push(line);
            }
        }
    }
    let families = order.iter().filter_map(|name| families.get(name));
    let lines = families.flat_map(|family| family.head.iter().chain(&family.samples));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// What stands above a metric, and what is counted.
#[derive(Default)]
struct Family<'a> {
    head: Vec<&'a str>,
    samples: Vec<&'a str>,
}

fn first_word(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_above_a_metric_is_there_once() {
        let one =
            "# HELP a how many\n# TYPE a counter\na{x=\"1\"} 1\n# HELP b how much\n# TYPE b gauge\nb 2\n";
        let other = "# HELP a how many\n# TYPE a counter\na{x=\"2\"} 3\n";
        assert_eq!(
            joined(&[one.to_owned(), other.to_owned(), String::new()]),
            "# HELP a how many\n# TYPE a counter\na{x=\"1\"} 1\na{x=\"2\"} 3\n# HELP b how much\n# TYPE b gauge\nb 2\n"
        );
    }
}
