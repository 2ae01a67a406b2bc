//! The range of what a call can cost, and of how large its result can be.

use std::sync::Arc;

use super::estimate::{Estimator, Node};
use super::range::Range;
use super::{AUTHORIZATION, REGULAR, TEXT};
use crate::check::Type;
use crate::syntax::{Kind, Literal, NodeId};

/// The largest regular expression of a named format, and its longest name.
const FORMAT_EXPRESSION: f64 = 128.0;
const FORMAT_NAME: u64 = 64;

type Estimate = (Range, Option<Range>);

/// Returns what one overload of a call can cost with its arguments, and how large its result can be.
pub(super) fn cost(
    estimator: &mut Estimator<'_>,
    id: NodeId,
    function: &str,
    overload: &str,
    target: Option<&Node<'_>>,
    arguments: &[Node<'_>],
    costs: &[Range],
) -> Estimate {
    let sum = costs.iter().fold(Range::ZERO, |sum, cost| sum.plus(*cost));
    if let Some((cost, size)) = of_lists(estimator, overload, target, arguments)
        .or_else(|| of_kubernetes(estimator, function, overload, target, arguments))
    {
        return (cost.plus(sum), size);
    }
    of_language(estimator, id, overload, target, arguments, costs, sum)
        .unwrap_or_else(|| (Range::exactly(1).plus(sum), None))
}

/// Returns the size of a node: what is known of it, or what its path allows.
fn size(estimator: &Estimator<'_>, node: &Node<'_>) -> Range {
    node.size
        .or_else(|| estimator.declared_size(&node.path))
        .unwrap_or(Range::UNKNOWN)
}

fn known(node: &Node<'_>) -> Range {
    node.size.unwrap_or(Range::UNKNOWN)
}

fn whole_number(node: &Node<'_>, otherwise: u64) -> u64 {
    match &node.expression.kind {
        Kind::Literal(Literal::Int(number)) => u64::try_from(*number).unwrap_or(0),
        _ => otherwise,
    }
}

/// Functions on lists whose cost grows faster than the list.
fn of_lists(
    estimator: &Estimator<'_>,
    overload: &str,
    target: Option<&Node<'_>>,
    arguments: &[Node<'_>],
) -> Option<Estimate> {
    let made = |factor: f64, size: Range| {
        Some((
            size.scaled(factor)
                .plus(Range::exactly(1))
                .plus(Range::exactly(super::LIST)),
            Some(size),
        ))
    };
    let sets = |factor: f64| match arguments {
        [one, other] => {
            let sizes = size(estimator, one).times(size(estimator, other));
            Some((sizes.scaled(factor).plus(Range::exactly(1)), None))
        }
        _ => None,
    };
    let sorted = |node: &Node<'_>, of: &str| {
        let size = size(estimator, node);
        made(
            if matches!(of, "string" | "bytes") {
                2.0 + TEXT
            } else {
                2.0
            },
            size.times(size),
        )
    };
    match (overload, target, arguments) {
        ("list_sets_contains_list" | "list_sets_intersects_list", ..) => sets(1.0),
        ("list_sets_equivalent_list", ..) => sets(2.0),
        ("list_slice", Some(target), [start, end]) => {
            let most = size(estimator, target).most;
            let length = whole_number(end, most).wrapping_sub(whole_number(start, 0));
            made(1.0, Range::exactly(length))
        }
        ("lists_range", None, [end]) => made(1.0, Range::exactly(whole_number(end, u64::MAX))),
        ("list_reverse" | "list_flatten", Some(target), []) => made(1.0, size(estimator, target)),
        ("list_flatten_int", Some(target), [depth]) => {
            made(whole_number(depth, u64::MAX) as f64, size(estimator, target))
        }
        ("list_distinct", Some(target), []) => {
            let size = size(estimator, target);
            made(2.0, size.times(size))
        }
        (other, Some(target), []) => {
            let of = other.strip_prefix("list_")?.strip_suffix("_sort")?;
            sorted(target, of)
        }
        (other, Some(_), [keys]) => {
            let of = other
                .strip_prefix("list_")?
                .strip_suffix("_sortByAssociatedKeys")?;
            sorted(keys, of)
        }
        _ => None,
    }
}

/// Returns the node of a list's items, if it is a list.
fn items<'a>(list: &Node<'a>) -> Option<Node<'a>> {
    let of = match &list.of {
        Type::List(item) | Type::Optional(item) | Type::Type(item) => (**item).clone(),
        Type::Map(both) => both.0.clone(),
        _ => return None,
    };
    let mut path = list.path.clone();
    if !path.is_empty() {
        path.push(Arc::from("@items"));
    }
    Some(Node {
        expression: list.expression,
        path,
        of,
        size: None,
    })
}

/// Functions that Kubernetes knows the cost of.
fn of_kubernetes(
    estimator: &Estimator<'_>,
    function: &str,
    overload: &str,
    target: Option<&Node<'_>>,
    arguments: &[Node<'_>],
) -> Option<Estimate> {
    let one = Some((Range::exactly(1), None));
    let size_of = |node: &Node<'_>| size(estimator, node);
    let scan = |node: &Node<'_>, factor: f64| Some((size_of(node).scaled(factor), None));
    match (function, target, arguments) {
        ("check", ..) => Some((Range::exactly(AUTHORIZATION), None)),
        (
            "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
            | "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery",
            ..,
        ) => one,
        ("fieldSelector" | "labelSelector", _, [selector]) => {
            let length = size_of(selector);
            let requirements = length.scaled(0.5).scaled((super::LIST + super::OBJECT) as f64);
            Some((
                Range::exactly(super::LIST)
                    .plus(length.scaled(TEXT))
                    .plus(requirements),
                None,
            ))
        }
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(target), _) => {
            match items(target) {
                Some(item) => {
                    let mut each = Range::exactly(1);
                    if matches!(item.of, Type::String | Type::Bytes) {
                        each = each.plus(size_of(&item).scaled(TEXT));
                    }
                    Some((size_of(target).times(each), None))
                }
                None => scan(target, TEXT),
            }
        }
        ("url" | "jsonpatch.escapeKey", _, [text]) => {
            let size = size_of(text);
            Some((size.scaled(TEXT), Some(size)))
        }
        ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target), _) => {
            let size = size_of(target);
            Some((size.scaled(TEXT), Some(size)))
        }
        ("replace", Some(target), [old, new, ..]) => {
            Some(replaced(size_of(target), size_of(old), size_of(new)))
        }
        ("split", Some(target), _) => {
            let size = size_of(target);
            let most = match arguments.get(1).map(|limit| &limit.expression.kind) {
                Some(Kind::Literal(Literal::Int(limit))) => *limit as u64,
                _ => size.most,
            };
            Some((size.scaled(2.0 * TEXT), Some(Range::between(0, most))))
        }
        ("join", Some(target), _) => {
            let list = size_of(target);
            let mut size = match items(target) {
                Some(item) => list.times(size_of(&item)),
                None => Range::ZERO,
            };
            if let Some(separator) = arguments.first() {
                let between = Range::between(list.least.saturating_sub(1), list.most.saturating_sub(1));
                size = size.plus(size_of(separator).times(between));
            }
            Some((size.scaled(TEXT), Some(size)))
        }
        ("find" | "findAll", Some(target), [expression, ..]) => {
            let size = size_of(target);
            let text = size.plus(Range::exactly(1)).scaled(TEXT);
            let cost = text.times(size_of(expression).scaled(REGULAR));
            Some((cost, Some(Range::between(0, size.most))))
        }
        ("ip", ..) if overload == "cidr_ip" => one,
        (
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
            _,
            [text, ..],
        ) => scan(text, TEXT),
        ("ip.isCanonical", _, [text, ..]) => scan(text, 2.0 * TEXT),
        ("containsIP", _, [other, ..]) => {
            let address = Range::between(4, 16);
            let mut cost = address.plus(address).scaled(TEXT);
            if overload == "cidr_contains_ip_string" {
                cost = cost.plus(size_of(other).scaled(TEXT));
            }
            Some((cost, None))
        }
        ("containsCIDR", _, [other, ..]) => {
            let address = Range::between(4, 16);
            let mut cost = address
                .plus(address)
                .scaled(TEXT)
                .plus(address.scaled(TEXT))
                .plus(Range::exactly(1));
            if overload == "cidr_contains_cidr_string" {
                cost = cost.plus(size_of(other).scaled(TEXT));
            }
            Some((cost, None))
        }
        ("validate", _, [text, ..]) => Some((
            size_of(text).scaled(TEXT).scaled(FORMAT_EXPRESSION * REGULAR),
            None,
        )),
        ("_==_", _, [one, other]) if one.of == other.of => of_equal(one, other),
        _ => None,
    }
}

/// How equality of Kubernetes' own types is estimated.
fn of_equal(one: &Node<'_>, other: &Node<'_>) -> Option<Estimate> {
    match &one.of {
        Type::Opaque("net.IP" | "net.CIDR") => Some((Range::exactly(1), None)),
        Type::Struct(object) => match &*object.name {
            "kubernetes.Quantity"
            | "kubernetes.Semver"
            | "kubernetes.authorization.Authorizer"
            | "kubernetes.authorization.PathCheck"
            | "kubernetes.authorization.GroupCheck"
            | "kubernetes.authorization.ResourceCheck"
            | "kubernetes.authorization.Decision" => Some((Range::exactly(1), None)),
            "kubernetes.NamedFormat" => Some((Range::between(1, FORMAT_NAME).scaled(TEXT), None)),
            "kubernetes.URL" => {
                // Upstream takes the right side for both.
                let size = other.size.unwrap_or(Range::exactly(1));
                Some((Range::between(1, size.most).scaled(TEXT), None))
            }
            _ => None,
        },
        _ => None,
    }
}

fn replaced(text: Range, old: Range, new: Range) -> Estimate {
    let mut count = Range::ZERO;
    let mut kept = Range::ZERO;
    if old.least == 0 {
        // An empty text is found around every character.
        count.most = text.most.saturating_add(1);
        kept.most = text.most;
    } else if new.most <= old.least {
        kept.most = text.most;
    } else {
        count.most = (text.most as f64 / old.least as f64).ceil() as u64;
    }
    if old.most == 0 {
        count.least = text.least.saturating_add(1);
        kept.least = text.least;
    } else if old.most <= new.least {
        kept.least = text.least;
    } else {
        count.least = (text.least as f64 / old.most as f64).ceil() as u64;
    }
    (text.scaled(2.0 * TEXT), Some(count.times(new).plus(kept)))
}

/// What the language itself knows the cost of.
fn of_language(
    estimator: &mut Estimator<'_>,
    id: NodeId,
    overload: &str,
    target: Option<&Node<'_>>,
    arguments: &[Node<'_>],
    costs: &[Range],
    sum: Range,
) -> Option<Estimate> {
    match (overload, target, arguments) {
        ("string_format", Some(target), _) => Some((known(target).scaled(TEXT).plus(sum), None)),
        ("string_to_bytes", _, [text]) => {
            let size = known(text);
            let bytes = Range::between(size.least, size.most.wrapping_mul(4));
            Some((size.scaled(TEXT).plus(sum), Some(bytes)))
        }
        ("bytes_to_string", _, [bytes]) => {
            let size = known(bytes);
            Some((
                size.scaled(TEXT).plus(sum),
                Some(Range::between(size.least / 4, size.most)),
            ))
        }
        ("strings_quote", _, [text]) => {
            let size = known(text);
            let quoted = Range::between(
                size.least.wrapping_add(2),
                size.most.wrapping_mul(2).wrapping_add(2),
            );
            Some((size.scaled(TEXT).plus(sum), Some(quoted)))
        }
        ("starts_with_string" | "ends_with_string", _, [part]) => {
            Some((known(part).scaled(TEXT).plus(sum), None))
        }
        ("in_list", _, [_, list]) => Some((known(list).plus(sum), None)),
        ("matches_string", Some(target), [expression]) => {
            let text = known(target).plus(Range::exactly(1)).scaled(TEXT);
            Some((text.times(known(expression).scaled(REGULAR)).plus(sum), None))
        }
        ("contains_string", Some(target), [part]) => Some((
            known(target)
                .scaled(TEXT)
                .times(known(part).scaled(TEXT))
                .plus(sum),
            None,
        )),
        ("logical_or" | "logical_and", ..) => {
            let (one, other) = (costs.first()?, costs.get(1)?);
            Some((Range::between(one.least, one.plus(*other).most), None))
        }
        ("conditional", _, [_, truthy, falsy]) => {
            let size = known(truthy).union(known(falsy));
            let entries = estimator
                .entry_size(truthy.expression)
                .zip(estimator.entry_size(falsy.expression));
            estimator.set_entry_size(id, entries.map(|(one, other)| one.union(other)));
            let cost = costs.first()?.plus(costs.get(1)?.union(*costs.get(2)?));
            Some((cost, Some(size)))
        }
        ("add_string" | "add_bytes" | "add_list", _, [one, other]) => {
            let size = known(one).plus(known(other));
            let entries = estimator
                .entry_size(one.expression)
                .zip(estimator.entry_size(other.expression));
            estimator.set_entry_size(id, entries.map(|(one, other)| one.union(other)));
            let cost = if overload == "add_list" {
                Range::exactly(1)
            } else {
                size.scaled(TEXT)
            };
            Some((cost.plus(sum), Some(size)))
        }
        (
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals",
            _,
            [one, other],
        ) => {
            let most = known(one).most.min(known(other).most);
            Some((
                Range::between(u64::from(most > 0), most).scaled(TEXT).plus(sum),
                None,
            ))
        }
        _ => None,
    }
}
