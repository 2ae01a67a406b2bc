//! Places with a time zone: UTC, the machine's own, those of the tz database, and fixed offsets.

use std::rc::Rc;

use gotemplate::Call;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Where a time is seen: Go's `*time.Location`.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// UTC.
    Utc,
    /// The machine's own zone.
    Local(TimeZone),
    /// A zone of the tz database, by its name.
    Named(Rc<str>, TimeZone),
    /// A zone that a parsed text made up: its abbreviation, maybe empty, and its offset in seconds.
    Fixed(Rc<str>, i64),
}

/// How many clock changes of a zone are looked through for an abbreviation: every zone has fewer until 2100.
const CLOCK_CHANGE_LIMIT: usize = 600;

impl Location {
    /// Returns the machine's own zone, as the render that `call` belongs to has it.
    pub(crate) fn local(call: &Call<'_, '_>) -> Location {
        Location::Local(crate::source::of(call).local_zone())
    }

    /// Finds a location as Go's `LoadLocation` does: by the exact name in the tz database.
    pub(crate) fn load(name: &str, local: &Location) -> Option<Location> {
        match name {
            "" | "UTC" => return Some(Location::Utc),
            "Local" => return Some(local.clone()),
            _ => {}
        }
        if name.contains("..") || name.starts_with(['/', '\\']) {
            return None;
        }
        let zone = TimeZone::get(name).ok()?;
        // The database ignores case; Go reads a file of that name.
        (zone.iana_name() == Some(name)).then(|| Location::Named(name.into(), zone))
    }

    /// Returns the name that Go's `Location.String` gives.
    pub(crate) fn name(&self) -> &str {
        match self {
            Location::Utc => "UTC",
            // Go takes the name from where it found the zone; UTC is what a machine without one has.
            Location::Local(zone) if *zone == TimeZone::UTC => "UTC",
            Location::Local(_) => "Local",
            Location::Named(name, _) | Location::Fixed(name, _) => name,
        }
    }

    fn zone(&self) -> Option<&TimeZone> {
        match self {
            Location::Local(zone) | Location::Named(_, zone) => Some(zone),
            Location::Utc | Location::Fixed(..) => None,
        }
    }

    /// Returns the offset from UTC in seconds at an instant.
    pub(crate) fn offset_at(&self, seconds: i64) -> i64 {
        match self {
            Location::Utc => 0,
            Location::Fixed(_, offset) => *offset,
            Location::Local(zone) | Location::Named(_, zone) => {
                i64::from(zone.to_offset(timestamp(seconds)).seconds())
            }
        }
    }

    /// Returns the zone's abbreviation at an instant, such as `CEST`; empty where it has none.
    pub(crate) fn abbreviation_at(&self, seconds: i64) -> String {
        match self {
            Location::Utc => "UTC".into(),
            Location::Fixed(name, _) => name.to_string(),
            Location::Local(zone) | Location::Named(_, zone) => {
                zone.to_offset_info(timestamp(seconds)).abbreviation().to_owned()
            }
        }
    }

    /// Returns whether summer time is in force at an instant.
    pub(crate) fn is_summer_time_at(&self, seconds: i64) -> bool {
        self.zone()
            .is_some_and(|zone| zone.to_offset_info(timestamp(seconds)).dst().is_dst())
    }

    /// Finds the offset of an abbreviation, preferably one in force at the local time `seconds`.
    pub(crate) fn offset_of(&self, abbreviation: &str, seconds: i64) -> Option<i64> {
        let Some(zone) = self.zone() else {
            return (self.abbreviation_at(seconds) == abbreviation).then(|| self.offset_at(seconds));
        };
        let earliest = Timestamp::MIN;
        let first = zone.to_offset_info(earliest);
        let mut known = vec![(
            first.abbreviation().to_owned(),
            i64::from(first.offset().seconds()),
        )];
        for change in zone.following(earliest).take(CLOCK_CHANGE_LIMIT) {
            let entry = (
                change.abbreviation().to_owned(),
                i64::from(change.offset().seconds()),
            );
            if !known.contains(&entry) {
                known.push(entry);
            }
        }
        let mut candidates = known
            .iter()
            .filter(|(name, _)| name == abbreviation)
            .map(|(_, offset)| *offset);
        candidates
            .clone()
            .find(|offset| self.abbreviation_at(seconds.wrapping_sub(*offset)) == abbreviation)
            .or_else(|| candidates.next())
    }
}

/// Returns the nearest instant that the tz database covers.
fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_files_are() {
        let local = Location::Utc;
        assert!(Location::load("Europe/Berlin", &local).is_some());
        assert!(Location::load("europe/berlin", &local).is_none());
        assert!(Location::load("../UTC", &local).is_none());
        assert!(Location::load("/etc/localtime", &local).is_none());
        assert!(Location::load("No/Where", &local).is_none());
        assert_eq!(
            Location::load("", &local).map(|location| location.name().to_owned()),
            Some("UTC".into())
        );
    }

    #[test]
    fn offsets_and_abbreviations_follow_the_clock_changes() {
        let berlin = Location::load("Europe/Berlin", &Location::Utc).expect("a known zone");
        assert_eq!(berlin.abbreviation_at(1_706_913_000), "CET");
        assert_eq!(berlin.abbreviation_at(1_720_000_000), "CEST");
        assert_eq!(berlin.offset_at(1_720_000_000), 7200);
        assert_eq!(berlin.offset_of("CEST", 1_706_913_000), Some(7200));
        assert_eq!(berlin.offset_of("EST", 1_706_913_000), None);
        assert!(berlin.is_summer_time_at(1_720_000_000));
    }
}
