//! What is to be done for a resource: a function from what is seen to what comes next.

use release::recovery::Recovery;

/// What is seen of a resource and its release, before anything is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that is so or not"
)]
pub struct Seen {
    /// The resource is on its way out.
    pub is_deleted: bool,
    /// It waits for its release to be uninstalled.
    pub has_finalizer: bool,
    /// Its annotations ask for nothing to be changed.
    pub is_paused: bool,
    /// What is known of its release.
    pub release: SeenRelease,
    /// Everything is as it was left, as far as the resource and its record go.
    pub is_settled: bool,
    /// Objects of it were changed by somebody else.
    pub has_drifted: bool,
    /// It is time to look although nothing changed.
    pub is_due: bool,
}

/// What is known of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenRelease {
    /// There is none.
    None,
    /// There is one, of this resource or of nobody.
    Ours,
    /// Another resource or another chart has the name.
    Foreign {
        /// The chart of the release.
        chart: String,
    },
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing; the status may be brought up to date.
    Rest,
    /// The finalizer is added first; then it is looked again.
    Guard,
    /// The status says that nothing is changed.
    Pause,
    /// The release name is taken.
    Collide {
        /// By the release of this chart.
        chart: String,
    },
    /// A first release is made.
    Install,
    /// The release is compared with what the resource asks for, and changed where it differs.
    Compare,
    /// What somebody changed is set back.
    Repair,
    /// The release is uninstalled, then the resource let go.
    Uninstall,
    /// The resource is let go; there is nothing to uninstall.
    LetGo,
}

/// Decides.
pub fn decide(seen: &Seen) -> Step {
    if seen.is_deleted {
        return match (seen.has_finalizer, &seen.release) {
            (false, _) => Step::Rest,
            // Somebody else's release is none of this resource's business.
            (true, SeenRelease::None | SeenRelease::Foreign { .. }) => Step::LetGo,
            (true, SeenRelease::Ours) => Step::Uninstall,
        };
    }
    if !seen.has_finalizer {
        return Step::Guard;
    }
    if seen.is_paused {
        return Step::Pause;
    }
    match &seen.release {
        SeenRelease::Foreign { chart } => Step::Collide { chart: chart.clone() },
        SeenRelease::None => Step::Install,
        SeenRelease::Ours if !seen.is_settled || seen.is_due => Step::Compare,
        SeenRelease::Ours if seen.has_drifted => Step::Repair,
        SeenRelease::Ours => Step::Rest,
    }
}

/// What a comparison of the release with what is wanted comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// An action was cut off, and this is what becomes of it.
    Recover(Recovery),
    /// The release is changed.
    Upgrade,
    /// It is as it should be; its objects are looked at.
    Verify,
}

/// Compares: what became of the last revision, and whether its manifest is the wanted one.
pub fn compare(recovery: Recovery, last_failed: bool, is_same: bool) -> Comparison {
    match recovery {
        Recovery::Nothing if is_same && !last_failed => Comparison::Verify,
        Recovery::Nothing => Comparison::Upgrade,
        recovery => Comparison::Recover(recovery),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Seen {
        Seen {
            is_deleted: false,
            has_finalizer: true,
            is_paused: false,
            release: SeenRelease::Ours,
            is_settled: true,
            has_drifted: false,
            is_due: false,
        }
    }

    #[test]
    fn each_situation_has_its_step() {
        let foreign = SeenRelease::Foreign {
            chart: "other".to_owned(),
        };
        let rows = [
            (quiet(), Step::Rest),
            (
                Seen {
                    has_finalizer: false,
                    ..quiet()
                },
                Step::Guard,
            ),
            (
                Seen {
                    is_paused: true,
                    has_drifted: true,
                    ..quiet()
                },
                Step::Pause,
            ),
            (
                Seen {
                    release: SeenRelease::None,
                    ..quiet()
                },
                Step::Install,
            ),
            (
                Seen {
                    release: foreign.clone(),
                    ..quiet()
                },
                Step::Collide {
                    chart: "other".to_owned(),
                },
            ),
            (
                Seen {
                    is_settled: false,
                    ..quiet()
                },
                Step::Compare,
            ),
            (
                Seen {
                    is_settled: false,
                    has_drifted: true,
                    ..quiet()
                },
                Step::Compare,
            ),
            (
                Seen {
                    is_due: true,
                    ..quiet()
                },
                Step::Compare,
            ),
            (
                Seen {
                    has_drifted: true,
                    ..quiet()
                },
                Step::Repair,
            ),
            (
                Seen {
                    is_deleted: true,
                    ..quiet()
                },
                Step::Uninstall,
            ),
            (
                Seen {
                    is_deleted: true,
                    is_paused: true,
                    ..quiet()
                },
                Step::Uninstall,
            ),
            (
                Seen {
                    is_deleted: true,
                    release: SeenRelease::None,
                    ..quiet()
                },
                Step::LetGo,
            ),
            (
                Seen {
                    is_deleted: true,
                    release: foreign,
                    ..quiet()
                },
                Step::LetGo,
            ),
            (
                Seen {
                    is_deleted: true,
                    has_finalizer: false,
                    ..quiet()
                },
                Step::Rest,
            ),
        ];
        for (seen, expected) in rows {
            assert_eq!(decide(&seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn a_release_is_upgraded_when_it_differs_or_failed() {
        let rows = [
            (Recovery::Nothing, false, true, Comparison::Verify),
            (Recovery::Nothing, false, false, Comparison::Upgrade),
            (Recovery::Nothing, true, true, Comparison::Upgrade),
            (
                Recovery::Resume,
                false,
                true,
                Comparison::Recover(Recovery::Resume),
            ),
        ];
        for (recovery, failed, same, expected) in rows {
            assert_eq!(compare(recovery, failed, same), expected);
        }
    }
}
