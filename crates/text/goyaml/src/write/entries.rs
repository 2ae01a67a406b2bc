//! The entries of a mapping that is being written: text is final, only its order may not be.

use std::ops::Range;

/// The entries written so far, as ranges of the output.
#[derive(Debug, Default)]
pub(crate) struct WrittenEntries {
    keys: Vec<String>,
    ranges: Vec<Range<usize>>,
}

impl WrittenEntries {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Notes that an entry begins here.
    pub(crate) fn begin(&mut self, key: &str, start: usize) {
        self.keys.push(key.to_owned());
        self.ranges.push(start..start);
    }

    /// Notes that the last entry ends here.
    pub(crate) fn end(&mut self, end: usize) {
        if let Some(range) = self.ranges.last_mut() {
            range.end = end;
        }
    }

    /// Puts the entries into the order of their keys; of equal keys the last entry stays.
    ///
    /// `between` is what stands before each entry but the first.
    pub(crate) fn sort(&self, output: &mut String, between: &str, less: fn(&str, &str) -> bool) {
        if self.keys.is_sorted_by(|a, b| less(a, b)) {
            return;
        }
        let key = |index: usize| self.keys.get(index).map_or("", String::as_str);
        let mut order = merge_sort((0..self.keys.len()).collect(), &|a, b| less(key(a), key(b)));
        order.reverse();
        order.dedup_by(|&mut a, &mut b| key(a) == key(b));
        order.reverse();

        let Some(start) = self.ranges.first().map(|range| range.start) else {
            return;
        };
        let mut sorted = String::with_capacity(output.len() - start.min(output.len()));
        for (place, range) in order
            .into_iter()
            .filter_map(|index| self.ranges.get(index))
            .enumerate()
        {
            if place > 0 {
                sorted.push_str(between);
            }
            sorted.push_str(output.get(range.clone()).unwrap_or_default());
        }
        output.truncate(start);
        output.push_str(&sorted);
    }
}

/// A stable sort that does not mind an inconsistent order; go-yaml's order of keys is one, and the standard
/// library's sort may panic on it.
fn merge_sort(mut items: Vec<usize>, less: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    if items.len() < 2 {
        return items;
    }
    let right = merge_sort(items.split_off(items.len() / 2), less);
    let left = merge_sort(items, less);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(&a), Some(&b)) = (left.peek(), right.peek()) {
        if less(b, a) {
            merged.extend(right.next());
        } else {
            merged.extend(left.next());
        }
    }
    merged.extend(left);
    merged.extend(right);
    merged
}
