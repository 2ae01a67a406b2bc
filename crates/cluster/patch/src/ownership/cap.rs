//! A limit to how many managers an object remembers.

use super::managers::{Entry, Manager, Managers, Operation};

/// How many managers that don't apply an object may have. Upstream's limit: the oldest beyond it are put together, so
/// that an object doesn't grow with everyone who ever wrote it.
const MAX_UPDATERS: usize = 10;

/// Who the oldest managers become.
const ANCIENT: &str = "ancient-changes";

/// Puts the oldest managers of each version together until there are few enough.
pub(super) fn cap_updaters(managers: &mut Managers<'_>) {
    let updaters = managers.entries.iter().filter(|entry| !entry.is_applied());
    let mut updaters: Vec<_> = updaters
        .map(|entry| {
            (
                entry.time.clone(),
                entry.manager.identifier(),
                entry.manager.clone(),
            )
        })
        .collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATERS {
        return;
    }
    updaters.sort_by(|left, right| (&left.0, &left.1).cmp(&(&right.0, &right.1)));
    let mut firsts: Vec<(String, Manager)> = Vec::new();
    for (_, _, manager) in updaters {
        if count <= MAX_UPDATERS {
            return;
        }
        let Some(entry) = managers.get(&manager) else {
            continue;
        };
        let (version, fields, time) = (
            entry.api_version.clone(),
            entry.fields.clone(),
            entry.time.clone(),
        );
        let Some((_, first)) = firsts.iter().find(|(known, _)| *known == version) else {
            firsts.push((version, manager));
            continue;
        };
        let bucket = Manager::new(ANCIENT, Operation::Update, &version, "");
        let before = match managers.remove(&bucket) {
            Some(entry) => entry.fields,
            None => managers
                .remove(first)
                .map(|entry| entry.fields)
                .unwrap_or_default(),
        };
        let mut merged = Entry::new(bucket, &version, fields.union(before));
        merged.time = time;
        managers.put(merged);
        managers.remove(&manager);
        count -= 1;
    }
}
