//! Recovery: what an unfinished action asks for.

use std::time::Duration;

use chart::release::Status;

/// How long another program is left alone with an action that it began: Helm waits five minutes for hooks and objects
/// unless it is told otherwise.
pub const FOREIGN_PATIENCE: Duration = Duration::from_mins(10);

/// What was found of the last revision of a release.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// What state it is in.
    pub status: &'a Status,
    /// Whether the same manifest and hooks would be released now.
    pub same_content: bool,
    /// Whether it was written by us, so that nobody else works on it.
    pub ours: bool,
    /// How long ago it was written.
    pub age: Duration,
    /// Whether the release is to go.
    pub deleting: bool,
}

/// What is to be done before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing: no action was cut short.
    Nothing,
    /// Go on with the action where it stopped.
    Resume,
    /// Call it failed; the new content is released over it.
    GiveUp,
    /// Delete what is left of the release.
    FinishUninstall,
    /// Leave it to the other program that began it, and look again after this time.
    Wait(Duration),
}

/// Decides what an unfinished action asks for.
pub fn decide(found: &Found<'_>) -> Recovery {
    let is_unfinished = found.status.is_pending() || *found.status == Status::Uninstalling;
    if !is_unfinished {
        return Recovery::Nothing;
    }
    if !found.ours && found.age < FOREIGN_PATIENCE {
        return Recovery::Wait(FOREIGN_PATIENCE.saturating_sub(found.age));
    }
    match found.status {
        // Whoever lets a release go doesn't finish making it first.
        _ if found.deleting => Recovery::FinishUninstall,
        Status::Uninstalling => Recovery::FinishUninstall,
        // What it goes back to was good, whatever is wanted next.
        Status::PendingRollback => Recovery::Resume,
        _ if found.same_content => Recovery::Resume,
        _ => Recovery::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_action_is_resumed_given_up_or_left_alone() {
        let minute = Duration::from_mins(1);
        let hour = Duration::from_hours(1);
        #[rustfmt::skip]
        let table: &[(Status, bool, bool, Duration, bool, Recovery)] = &[
            // status, same content, ours, age, deleting
            (Status::Deployed, true, true, hour, false, Recovery::Nothing),
            (Status::Failed, false, true, hour, false, Recovery::Nothing),
            (Status::Superseded, false, false, minute, true, Recovery::Nothing),
            (Status::PendingInstall, true, true, minute, false, Recovery::Resume),
            (Status::PendingInstall, false, true, minute, false, Recovery::GiveUp),
            (Status::PendingUpgrade, true, true, minute, false, Recovery::Resume),
            (Status::PendingUpgrade, false, true, minute, false, Recovery::GiveUp),
            (Status::PendingRollback, false, true, minute, false, Recovery::Resume),
            (Status::PendingInstall, true, true, minute, true, Recovery::FinishUninstall),
            (Status::PendingRollback, true, true, minute, true, Recovery::FinishUninstall),
            (Status::Uninstalling, false, true, minute, false, Recovery::FinishUninstall),
            (Status::Uninstalling, false, true, minute, true, Recovery::FinishUninstall),
            (Status::PendingUpgrade, true, false, minute, false, Recovery::Wait(Duration::from_mins(9))),
            (Status::PendingUpgrade, true, false, hour, false, Recovery::Resume),
            (Status::PendingUpgrade, false, false, hour, false, Recovery::GiveUp),
            (Status::Uninstalling, false, false, minute, true, Recovery::Wait(Duration::from_mins(9))),
        ];
        for (status, same_content, ours, age, deleting, expected) in table {
            let found = Found {
                status,
                same_content: *same_content,
                ours: *ours,
                age: *age,
                deleting: *deleting,
            };
            assert_eq!(decide(&found), *expected, "{found:?}");
        }
    }
}
