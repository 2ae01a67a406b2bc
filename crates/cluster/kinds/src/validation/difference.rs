//! How two texts differ, as Python's `difflib` tells it and Kubernetes prints it.

use std::collections::HashMap;
use std::fmt::Write;

/// How many lines around a difference are shown.
const CONTEXT: usize = 3;

/// How many pairs of lines are looked at before the texts are shown as they are, one after the other: more than any two
/// objects need that a person wrote, and done in a moment.
const MOST_PAIRS: usize = 1_000_000;

/// From how many lines on those that are everywhere are no longer used to find what is the same.
const MANY_LINES: usize = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Equal,
    Replace,
    Delete,
    Insert,
}

#[derive(Clone, Copy)]
struct Step {
    kind: Kind,
    old: (usize, usize),
    new: (usize, usize),
}

/// A run of lines that both texts have: where it starts in each, and how long it is.
#[derive(Clone, Copy)]
struct Run {
    old: usize,
    new: usize,
    length: usize,
}

struct Comparison<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    places: HashMap<&'t str, Vec<usize>>,
}

impl<'t> Comparison<'t> {
    fn new(old: &'t str, new: &'t str) -> Self {
        let split = |text: &'t str| text.split('\n').collect::<Vec<_>>();
        let (old, new) = (split(old), split(new));
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, line) in new.iter().enumerate() {
            places.entry(line).or_default().push(place);
        }
        if new.len() >= MANY_LINES {
            let most = new.len() / 100 + 1;
            places.retain(|_, places| places.len() <= most);
        }
        Self { old, new, places }
    }

    /// Returns the longest run within a part of both texts, and how many pairs of lines were looked at for it.
    fn longest(
        &self,
        (old_from, old_to): (usize, usize),
        (new_from, new_to): (usize, usize),
    ) -> (Run, usize) {
        let mut looks = 0;
        let mut best = Run {
            old: old_from,
            new: new_from,
            length: 0,
        };
        let mut lengths: HashMap<usize, usize> = HashMap::new();
        for (offset, line) in self.old[old_from..old_to].iter().enumerate() {
            let old = old_from + offset;
            let mut longer = HashMap::new();
            let places = self.places.get(line).map_or(&[][..], Vec::as_slice);
            looks += 1 + places.len();
            for &new in places {
                if new < new_from {
                    continue;
                }
                if new >= new_to {
                    break;
                }
                let length = new
                    .checked_sub(1)
                    .and_then(|before| lengths.get(&before))
                    .map_or(1, |it| it + 1);
                longer.insert(new, length);
                if length > best.length {
                    best = Run {
                        old: old + 1 - length,
                        new: new + 1 - length,
                        length,
                    };
                }
            }
            lengths = longer;
        }
        while best.old > old_from && best.new > new_from && self.old[best.old - 1] == self.new[best.new - 1] {
            best.old -= 1;
            best.new -= 1;
            best.length += 1;
        }
        while best.old + best.length < old_to
            && best.new + best.length < new_to
            && self.old[best.old + best.length] == self.new[best.new + best.length]
        {
            best.length += 1;
        }
        (best, looks + best.length)
    }

    /// Returns how many lines both texts begin with.
    fn common_front(&self) -> Run {
        let both = self.old.iter().zip(&self.new);
        Run {
            old: 0,
            new: 0,
            length: both.take_while(|(old, new)| old == new).count(),
        }
    }

    fn runs(&self) -> Vec<Run> {
        let mut found = Vec::new();
        let mut open = vec![((0, self.old.len()), (0, self.new.len()))];
        let mut looks = 0;
        while let Some((old, new)) = open.pop() {
            if looks > MOST_PAIRS {
                found = vec![self.common_front()];
                break;
            }
            let (run, looked_at) = self.longest(old, new);
            looks += looked_at;
            if run.length == 0 {
                continue;
            }
            if old.0 < run.old && new.0 < run.new {
                open.push(((old.0, run.old), (new.0, run.new)));
            }
            let (old_end, new_end) = (run.old + run.length, run.new + run.length);
            if old_end < old.1 && new_end < new.1 {
                open.push(((old_end, old.1), (new_end, new.1)));
            }
            found.push(run);
        }
        found.sort_by_key(|run| (run.old, run.new));
        found.push(Run {
            old: self.old.len(),
            new: self.new.len(),
            length: 0,
        });
        found
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let (mut old, mut new) = (0, 0);
        for run in self.runs() {
            let kind = match (old < run.old, new < run.new) {
                (true, true) => Some(Kind::Replace),
                (true, false) => Some(Kind::Delete),
                (false, true) => Some(Kind::Insert),
                (false, false) => None,
            };
            if let Some(kind) = kind {
                steps.push(Step {
                    kind,
                    old: (old, run.old),
                    new: (new, run.new),
                });
            }
            (old, new) = (run.old + run.length, run.new + run.length);
            if run.length > 0 {
                match steps.last_mut() {
                    Some(last) if last.kind == Kind::Equal => {
                        last.old.1 = old;
                        last.new.1 = new;
                    }
                    _ => steps.push(Step {
                        kind: Kind::Equal,
                        old: (run.old, old),
                        new: (run.new, new),
                    }),
                }
            }
        }
        steps
    }

    fn groups(&self) -> Vec<Vec<Step>> {
        let mut steps = self.steps();
        if let Some(first) = steps.first_mut().filter(|first| first.kind == Kind::Equal) {
            first.old.0 = first.old.0.max(first.old.1.saturating_sub(CONTEXT));
            first.new.0 = first.new.0.max(first.new.1.saturating_sub(CONTEXT));
        }
        if let Some(last) = steps.last_mut().filter(|last| last.kind == Kind::Equal) {
            last.old.1 = last.old.1.min(last.old.0 + CONTEXT);
            last.new.1 = last.new.1.min(last.new.0 + CONTEXT);
        }
        let mut groups = Vec::new();
        let mut group: Vec<Step> = Vec::new();
        for mut step in steps {
            if step.kind == Kind::Equal && step.old.1 - step.old.0 > 2 * CONTEXT {
                let (old, new) = (step.old, step.new);
                group.push(Step {
                    old: (old.0, old.1.min(old.0 + CONTEXT)),
                    new: (new.0, new.1.min(new.0 + CONTEXT)),
                    ..step
                });
                groups.push(std::mem::take(&mut group));
                step.old.0 = old.0.max(old.1.saturating_sub(CONTEXT));
                step.new.0 = new.0.max(new.1.saturating_sub(CONTEXT));
            }
            group.push(step);
        }
        if group.iter().any(|step| step.kind != Kind::Equal) || group.len() > 1 {
            groups.push(group);
        }
        groups
    }
}

fn range((from, to): (usize, usize)) -> String {
    match to - from {
        1 => (from + 1).to_string(),
        0 => format!("{from},0"),
        length => format!("{},{length}", from + 1),
    }
}

/// Returns how a new text differs from an old one, as a unified diff without file names.
pub(super) fn between(old: &str, new: &str) -> String {
    let comparison = Comparison::new(old, new);
    let mut out = String::new();
    for group in comparison.groups() {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let (old, new) = ((first.old.0, last.old.1), (first.new.0, last.new.1));
        // Writing to a string can't fail.
        let _ = writeln!(out, "@@ -{} +{} @@", range(old), range(new));
        for step in group {
            let mut write = |sign: char, lines: &[&str]| {
                for line in lines {
                    out.push(sign);
                    out.push_str(line);
                    out.push('\n');
                }
            };
            let (old, new) = (
                &comparison.old[step.old.0..step.old.1],
                &comparison.new[step.new.0..step.new.1],
            );
            if step.kind == Kind::Equal {
                write(' ', old);
            } else {
                write('-', old);
                write('+', new);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_changed_line_is_shown_with_what_is_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh";
        let new = "a\nb\nc\nd\nE\nf\ng\nh";
        assert_eq!(
            between(old, new),
            "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n"
        );
        assert_eq!(between(old, old), "");
    }

    #[test]
    fn texts_that_differ_in_too_many_places_are_shown_one_after_the_other() {
        // Every second line is the same in both, and none of them twice: each step finds a run of one line.
        let text = |odd: &str| -> String {
            let lines = (0..20_000).map(|number| [format!("same {number}\n"), format!("{odd} {number}\n")]);
            lines.flatten().collect()
        };
        let shown = between(&text("old"), &text("new"));
        assert!(
            shown.starts_with("@@ -1,40001 +1,40001 @@\n same 0\n-old 0\n-same 1\n"),
            "{}",
            &shown[..60]
        );
        assert_eq!(shown.matches("@@ -").count(), 1);
    }

    #[test]
    fn changes_that_are_far_apart_are_shown_apart() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12";
        let new = "0\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n13\n14";
        assert_eq!(
            between(old, new),
            "@@ -1,4 +1,4 @@\n-1\n+0\n 2\n 3\n 4\n@@ -9,4 +9,5 @@\n 9\n 10\n 11\n-12\n+13\n+14\n"
        );
    }
}
