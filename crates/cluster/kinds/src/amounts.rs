//! Amounts of resources: what pods and claims want, added up and compared.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::quantity::Quantity;

/// An amount of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount(Quantity);

/// Amounts by the names of their resources.
pub type Amounts = BTreeMap<String, Amount>;

/// Resources that can be given to a pod as a whole.
fn is_of_whole_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

impl Amount {
    /// Reads an amount that was checked before; what isn't one is nothing.
    pub fn read(text: &str) -> Self {
        Self(Quantity::read(text))
    }

    /// Returns a number of things.
    pub fn count(number: usize) -> Self {
        Self::read(&number.to_string())
    }

    /// Returns the amount of a field, which is a text or a number.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::read(text),
            Value::Number(number) => Self::read(&number.to_string()),
            _ => Self::read("0"),
        }
    }

    /// Returns the sum.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.plus(other.0))
    }

    /// Returns the difference.
    pub fn minus(self, other: Self) -> Self {
        let written = other.0.written();
        let negated = match written.strip_prefix('-') {
            Some(positive) => positive.to_owned(),
            None => format!("-{written}"),
        };
        Self(self.0.plus(Quantity::read(&negated)))
    }

    /// Returns whether it is more than another.
    pub fn is_more_than(self, other: Self) -> bool {
        self.0.is_more_than(other.0)
    }

    /// Returns whether it is more than nothing.
    pub fn is_positive(self) -> bool {
        self.0.is_positive()
    }

    /// Returns whether it is anything but nothing.
    pub fn is_set(self) -> bool {
        self.0.is_set()
    }

    /// Returns whether both are the same number, however they are written.
    pub fn is_same_number(self, other: Self) -> bool {
        self.0.is_same_number(other.0)
    }

    /// Returns it as Kubernetes writes it.
    pub fn written(self) -> String {
        self.0.written()
    }

    /// Returns how many times as much it is as another.
    pub fn ratio_to(self, other: Self) -> f64 {
        self.number() / other.number()
    }

    fn number(self) -> f64 {
        let written = self.written();
        let unit = written.trim_start_matches(['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        let number: f64 = written
            .strip_suffix(unit)
            .unwrap_or(&written)
            .parse()
            .unwrap_or(0.0);
        let factor = match unit {
            "n" => 1e-9,
            "u" => 1e-6,
            "m" => 1e-3,
            "k" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            "P" => 1e15,
            "E" => 1e18,
            "Ki" => 1024.0,
            "Mi" => 1024.0 * 1024.0,
            "Gi" => 1024.0 * 1024.0 * 1024.0,
            "Ti" => 1024_f64.powi(4),
            "Pi" => 1024_f64.powi(5),
            "Ei" => 1024_f64.powi(6),
            _ => 1.0,
        };
        number * factor
    }
}

/// Reads the amounts of a field, such as `resources.requests`.
pub fn read_all(amounts: &Value) -> Amounts {
    let listed = amounts.as_object().into_iter().flatten();
    listed
        .map(|(name, amount)| (name.clone(), Amount::of(amount)))
        .collect()
}

/// Adds amounts to others.
pub fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.get(name).map_or(*amount, |known| known.plus(*amount));
        to.insert(name.clone(), sum);
    }
}

/// Raises amounts to others where those are more.
fn raise(to: &mut Amounts, others: &Amounts) {
    for (name, amount) in others {
        if to.get(name).is_none_or(|known| amount.is_more_than(*known)) {
            to.insert(name.clone(), *amount);
        }
    }
}

/// Returns what a pod wants, or may have at most: `which` is `requests` or `limits`.
///
/// Containers run together, but those that prepare the pod run one after the other, except for those that stay.
pub fn of_pod(spec: &Value, which: &str, with_overhead: bool) -> Amounts {
    let listed = |name: &str| spec[name].as_array().into_iter().flatten();
    let mut total = Amounts::new();
    for container in listed("containers") {
        add(&mut total, &read_all(&container["resources"][which]));
    }
    let mut staying = Amounts::new();
    let mut preparing = Amounts::new();
    for container in listed("initContainers") {
        let mut wanted = read_all(&container["resources"][which]);
        if container["restartPolicy"] == "Always" {
            add(&mut total, &wanted);
            add(&mut staying, &wanted);
            wanted = staying.clone();
        } else {
            add(&mut wanted, &staying);
        }
        raise(&mut preparing, &wanted);
    }
    raise(&mut total, &preparing);
    for (name, amount) in read_all(&spec["resources"][which]) {
        if is_of_whole_pods(&name) {
            total.insert(name, amount);
        }
    }
    if with_overhead {
        for (name, amount) in read_all(&spec["overhead"]) {
            let known = total.get(&name).copied();
            match (known, which) {
                (Some(known), _) => {
                    total.insert(name, known.plus(amount));
                }
                (None, "requests") => {
                    total.insert(name, amount);
                }
                (None, _) => {}
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_run_together_and_preparations_one_after_the_other() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut staying = container("1");
        staying["restartPolicy"] = "Always".into();
        let spec = json!({
            "containers": [container("100m"), container("200m")],
            "initContainers": [container("2"), staying, container("500m")],
        });
        let wanted = of_pod(&spec, "requests", false);
        assert_eq!(wanted["cpu"].written(), "2");
    }

    #[test]
    fn differences_and_ratios_are_those_of_numbers() {
        assert_eq!(
            Amount::read("1Gi").minus(Amount::read("512Mi")).written(),
            "512Mi"
        );
        assert_eq!(Amount::read("100m").minus(Amount::read("1")).written(), "-900m");
        assert!((Amount::read("1").ratio_to(Amount::read("250m")) - 4.0).abs() < 1e-9);
        assert!(Amount::count(3).is_more_than(Amount::read("2")));
    }
}
