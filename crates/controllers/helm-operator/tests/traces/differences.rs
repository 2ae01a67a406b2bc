//! What is meant to differ from the recordings, and why.

use crate::comparing::Difference;

/// A difference that is meant.
#[derive(Debug)]
pub(crate) struct Known {
    /// In which recording.
    pub(crate) trace: &'static str,
    /// After which actions: the number of the first one's record.
    pub(crate) after: u64,
    /// What differs; a star at the end stands for any ending.
    pub(crate) what: &'static str,
    /// Words that our side must have; none if it has nothing.
    pub(crate) ours: &'static str,
    /// Whether it differs every time; what is tried again may fall into one group or the next.
    pub(crate) is_certain: bool,
    /// Why it differs.
    #[expect(dead_code, reason = "the reason is for whoever reads the table")]
    pub(crate) why: &'static str,
}

impl Known {
    /// Returns whether a difference is this one.
    pub(crate) fn is(&self, difference: &Difference) -> bool {
        let title = difference.title();
        let is_named = match self.what.strip_suffix('*') {
            Some(start) => title.starts_with(start),
            None => title == self.what,
        };
        let words = difference.our_words();
        is_named
            && (if self.ours.is_empty() {
                words.is_empty()
            } else {
                words.contains(self.ours)
            })
    }
}

/// Returns what is meant to differ after some actions of a recording.
pub(crate) fn of(trace: &str, after: u64) -> Vec<&'static Known> {
    KNOWN
        .iter()
        .chain(UNCERTAIN)
        .filter(|known| known.trace == trace && known.after == after)
        .collect()
}

/// Reasons that several rows have.
mod why {
    pub(super) const DRIFT: &str = "asked for: a drift report that names the fields";
    pub(super) const INVERTED: &str =
        "defect: `watchDependentResources: false` makes upstream watch, and `true` not";
    pub(super) const MARKS: &str = "defect: what upstream's repair makes anew lacks Helm's marks, so that Helm takes it for somebody else's";
    pub(super) const SELECTOR: &str = "defect: the operator that a resource was taken from goes on with it, and both upgrade it again and again";
    pub(super) const NOBODY: &str = "asked for: a resource that nobody selects is told so";
    pub(super) const COLLISION: &str = "defect: two resources of one name fight for one release; the second is refused, as the older operator does";
    pub(super) const ONE_WRITE: &str = "asked for: one write for each object, so a collision is seen when the record is \
                                        there already; it is taken back, and later tries look first";
    pub(super) const CHANCE: &str = "defect: random values make upstream upgrade for ever";
    pub(super) const SHARED: &str = "defect: all resources share one chart, which is changed by each render";
    pub(super) const PENDING: &str =
        "defect: what was cut off stays pending for ever; it is brought to an end at the next start";
    pub(super) const GOOD: &str = "asked for: the way back leads to what once was made, and what fails alike takes the place of \
                                   its earlier tries; upstream goes back to the last way back, and forgets what worked";
    pub(super) const RETRIED: &str =
        "what fails is tried again, and when that falls is a matter of the moment";
    pub(super) const RECORDING: &str =
        "the recording saw the kind only later, because its definition was new";
}

macro_rules! known {
    ($is_certain:literal; $($trace:literal $after:literal $what:literal $ours:literal $why:ident)*) => {
        &[$(Known { trace: $trace, after: $after, what: $what, ours: $ours, is_certain: $is_certain, why: why::$why }),*]
    };
}

/// All of it.
#[rustfmt::skip]
pub(crate) const KNOWN: &[Known] = known! {
    true;
    "02" 16 "InferenceStack/stack events" "Deployment stack-inference-stack-embed: spec.replicas" DRIFT
    "02" 22 "InferenceStack/stack events" "set back: Service stack-inference-stack-gateway was deleted" DRIFT
    "02" 22 "Service/stack-inference-stack-gateway object" "meta.helm.sh/release-name" MARKS
    "03" 16 "Deployment/stack-inference-stack-embed object" "\"replicas\":9" INVERTED
    "03" 19 "Service/stack-inference-stack-gateway object" "absent" INVERTED
    "05" 31 "ConfigMap/a-*" "inference-stack-2.0.0" SELECTOR
    "05" 31 "Deployment/a-*" "inference-stack-2.0.0" SELECTOR
    "05" 31 "Service/a-*" "inference-stack-2.0.0" SELECTOR
    "05" 31 "ServiceAccount/a-*" "inference-stack-2.0.0" SELECTOR
    "05" 31 "InferenceStack/a conditions" "UpgradeSuccessful" SELECTOR
    "05" 31 "InferenceStack/a release*" "inference-stack-2.0.0" SELECTOR
    "05" 31 "Release/a history" "Upgrade complete" SELECTOR
    "05" 31 "InferenceStack/c events" "NotSelected" NOBODY
    "05" 88 "ConfigMap/a-*" "" SELECTOR
    "05" 88 "Deployment/a-inference-stack-embed object" "" SELECTOR
    "05" 88 "Deployment/a-inference-stack-llama object" "" SELECTOR
    "05" 88 "Deployment/a-inference-stack-gateway object*" "inference-stack-2.0.0" SELECTOR
    "05" 88 "InferenceStack/a release*" "inference-stack-2.0.0" SELECTOR
    "05" 88 "Service/a-*" "" SELECTOR
    "05" 88 "ServiceAccount/a-*" "" SELECTOR
    "05" 145 "ConfigMap/a-*" "" SELECTOR
    "05" 145 "Deployment/a-*" "" SELECTOR
    "05" 145 "InferenceStack/a release*" "" SELECTOR
    "05" 145 "Record/a.*" "" SELECTOR
    "05" 145 "Release/a history" "" SELECTOR
    "05" 145 "Service/a-*" "" SELECTOR
    "05" 145 "ServiceAccount/a-*" "" SELECTOR
    "05" 145 "InferenceStack/c events" "NotSelected" NOBODY
    "06" 1 "Widget/soup-widget object" "\"size\":3" RECORDING
    "07" 25 "Release/soup history" "Rollback to 1" GOOD
    "07" 73 "Release/soup history" "Upgrade complete" GOOD
    "11" 9 "ConfigMap/same-*" "" COLLISION
    "11" 9 "Plain/same conditions" "" COLLISION
    "11" 9 "Plain/same release" "" COLLISION
    "11" 9 "Release/same history" "" COLLISION
    "11" 9 "Umbrella/same conditions" "duplicate release name" COLLISION
    "11" 9 "Umbrella/same events" "ReleaseNameTaken" COLLISION
    "11" 9 "Umbrella/same release" "null" COLLISION
    "11" 85 "Plain/same release" "" COLLISION
    "11" 85 "Release/taken history" "pending-install" ONE_WRITE
    "11" 103 "ConfigMap/same-*" "" COLLISION
    "11" 103 "Plain/same conditions" "" COLLISION
    "11" 103 "Plain/same release" "" COLLISION
    "11" 103 "Release/same history" "" COLLISION
    "11" 103 "Umbrella/same conditions" "duplicate release name" COLLISION
    "12" 1 "Dice/d conditions" "InstallSuccessful" CHANCE
    "12" 1 "Release/d history" "Install complete" CHANCE
    "13" 41 "Kitchen/good conditions" "" PENDING
    "13" 41 "Kitchen/good conditions at the end" "InstallSuccessful" PENDING
    "13" 41 "Kitchen/good events" "ReleaseResumed" PENDING
    "13" 41 "Kitchen/good release" "" PENDING
    "13" 41 "Kitchen/good release at the end" "good-pw" PENDING
    "13" 41 "Kitchen/hang conditions" "" PENDING
    "13" 41 "Kitchen/hang conditions at the end" "[]" PENDING
    "13" 41 "Kitchen/hang events" "ReleaseResumed" PENDING
    "13" 49 "Kitchen/hang conditions" "Initialized" PENDING
    "13" 65 "Kitchen/good conditions" "Initialized" PENDING
    "13" 65 "Kitchen/good release" "null" PENDING
    "14" 10 "Record/off.*" "\"enabled\":false" SHARED
    "14" 17 "ConfigMap/first-on-sub object" "" SHARED
    "14" 17 "ConfigMap/first-on-sub object at the end" "parent" SHARED
    "14" 17 "Record/first-on.v1 content at the end" "deployed" SHARED
    "14" 17 "Record/first-on.v<new 1> content at the end" "" SHARED
    "14" 17 "Umbrella/first-on conditions at the end" "InstallSuccessful" SHARED
    "14" 17 "Umbrella/first-on release at the end" "first-on-sub" SHARED
    "14" 17 "ConfigMap/on-sub object" "parent" SHARED
    "14" 17 "Record/on.*" "on-sub" SHARED
    "14" 17 "Release/first-on history" "" SHARED
    "14" 17 "Umbrella/first-on conditions" "" SHARED
    "14" 17 "Umbrella/first-on release" "" SHARED
    "14" 17 "Umbrella/on release" "on-sub" SHARED
    "15" 48 "Release/soup history" "Rollback to 1" GOOD
    "20" 12 "InferenceStack/x events" "NotSelected" NOBODY
    "20" 24 "InferenceStack/y events" "NotSelected" NOBODY
};

/// What may be seen besides.
#[rustfmt::skip]
pub(crate) const UNCERTAIN: &[Known] = known! {
    false;
    "15" 48 "Kitchen/soup conditions" "pre-upgrade hooks failed" RETRIED
};
