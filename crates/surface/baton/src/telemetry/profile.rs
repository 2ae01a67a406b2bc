//! Processor time by kind of work, in the form that `go tool pprof` reads.
//!
//! Where the time goes is told by spans of work, not by functions: a program without symbols, as images hold it, has no
//! names for those, and what an administrator can act on is which objects and which step of looking after them cost how
//! much. Nothing is measured unless somebody asks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::time::{ClockId, Timespec, clock_gettime};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// How many different stacks of work are told apart; there are a few dozen.
const STACK_LIMIT: usize = 10_000;

/// What work is counted under that no span tells of.
const OTHER: &str = "(no span)";

/// Adds up processor time while somebody wants to know.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    is_wanted: AtomicBool,
    /// By the labels of spans, the outermost first.
    stacks: Mutex<BTreeMap<Vec<String>, Duration>>,
}

impl Profiler {
    /// Measures for a while; none while another measurement goes on.
    pub(super) async fn profile(&self, length: Duration) -> Option<Vec<u8>> {
        if self.is_wanted.swap(true, Ordering::AcqRel) {
            return None;
        }
        // Whoever hangs up before the end must not keep others from asking.
        let _done = Done(&self.is_wanted);
        self.lock().clear();
        let before = processor_time(ClockId::ProcessCPUTime);
        tokio::time::sleep(length).await;
        let spent = processor_time(ClockId::ProcessCPUTime).saturating_sub(before);
        let mut stacks = std::mem::take(&mut *self.lock());
        let told: Duration = stacks.values().sum();
        stacks.insert(vec![OTHER.to_owned()], spent.saturating_sub(told));
        Some(encoded(&stacks, length))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Vec<String>, Duration>> {
        self.stacks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, stack: Vec<String>, spent: Duration) {
        let mut stacks = self.lock();
        if stacks.len() < STACK_LIMIT || stacks.contains_key(&stack) {
            *stacks.entry(stack).or_default() += spent;
        }
    }
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn processor_time(clock: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    Duration::new(
        u64::try_from(tv_sec).unwrap_or_default(),
        u32::try_from(tv_nsec).unwrap_or_default(),
    )
}

/// Takes the time that threads spend within spans.
pub(super) struct SpanTimes {
    profiler: Arc<Profiler>,
}

/// What a span is counted under: its name, and the kind of object that it is about.
struct Label(String);

thread_local! {
    /// When this thread entered the spans that it is in, by its own processor time; those within are taken off.
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

struct Entered {
    at: Duration,
    /// What was spent in spans within this one.
    within: Duration,
}

impl SpanTimes {
    pub(super) fn new(profiler: Arc<Profiler>) -> Self {
        Self { profiler }
    }
}

impl<S: tracing::Subscriber + for<'span> LookupSpan<'span>> Layer<S> for SpanTimes {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut kind = Kind(None);
        attributes.record(&mut kind);
        let name = attributes.metadata().name();
        let label = kind
            .0
            .map_or_else(|| name.to_owned(), |kind| format!("{name} {kind}"));
        span.extensions_mut().insert(Label(label));
    }

    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        // Those that are entered now may be left when somebody wants to know, so all of them are noted.
        ENTERED.with_borrow_mut(|entered| {
            entered.push(Entered {
                at: processor_time(ClockId::ThreadCPUTime),
                within: Duration::ZERO,
            });
        });
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let spent = ENTERED.with_borrow_mut(|entered| {
            let last = entered.pop()?;
            let spent = processor_time(ClockId::ThreadCPUTime).saturating_sub(last.at);
            if let Some(outer) = entered.last_mut() {
                outer.within += spent;
            }
            Some(spent.saturating_sub(last.within))
        });
        let Some(spent) = spent.filter(|_| self.profiler.is_wanted.load(Ordering::Acquire)) else {
            return;
        };
        let Some(scope) = context.span_scope(id) else {
            return;
        };
        let stack = scope.from_root().map(|span| {
            let extensions = span.extensions();
            extensions
                .get::<Label>()
                .map_or_else(|| span.name().to_owned(), |label| label.0.clone())
        });
        self.profiler.add(stack.collect(), spent);
    }
}

/// Looks for the kind of object among the fields of a span.
struct Kind(Option<String>);

impl Visit for Kind {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "kind" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "kind" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

/// The form of a profile, as pprof's `profile.proto` has it; fields that aren't used are left out.
mod form {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub(super) sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub(super) sample: Vec<Sample>,
        #[prost(message, repeated, tag = "4")]
        pub(super) location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub(super) function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub(super) string_table: Vec<String>,
        #[prost(int64, tag = "10")]
        pub(super) duration_nanos: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct ValueType {
        #[prost(int64, tag = "1")]
        pub(super) kind: i64,
        #[prost(int64, tag = "2")]
        pub(super) unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Sample {
        /// The innermost first.
        #[prost(uint64, repeated, tag = "1")]
        pub(super) location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub(super) value: Vec<i64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Location {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(message, repeated, tag = "4")]
        pub(super) line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Line {
        #[prost(uint64, tag = "1")]
        pub(super) function_id: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Function {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(int64, tag = "2")]
        pub(super) name: i64,
    }
}

/// Writes stacks as a profile.
fn encoded(stacks: &BTreeMap<Vec<String>, Duration>, length: Duration) -> Vec<u8> {
    let nanoseconds = |time: &Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    let mut profile = form::Profile {
        // The first text is empty, and others are called by their places.
        string_table: vec![String::new(), "cpu".to_owned(), "nanoseconds".to_owned()],
        sample_type: vec![form::ValueType { kind: 1, unit: 2 }],
        duration_nanos: nanoseconds(&length),
        ..form::Profile::default()
    };
    let mut places: BTreeMap<&str, u64> = BTreeMap::new();
    for (stack, spent) in stacks {
        let locations = stack.iter().rev().map(|label| {
            *places.entry(label).or_insert_with(|| {
                let id = profile.function.len() as u64 + 1;
                let name = i64::try_from(profile.string_table.len()).unwrap_or(0);
                profile.string_table.push(label.clone());
                profile.function.push(form::Function { id, name });
                profile.location.push(form::Location {
                    id,
                    line: vec![form::Line { function_id: id }],
                });
                id
            })
        });
        let location_id = locations.collect();
        profile.sample.push(form::Sample {
            location_id,
            value: vec![nanoseconds(spent)],
        });
    }
    let bytes = prost::Message::encode_to_vec(&profile);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory can't fail.
    let _ = packed.write_all(&bytes);
    packed.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use prost::Message as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn labels(profile: &form::Profile, sample: &form::Sample) -> Vec<String> {
        let name = |id: &u64| {
            let function = profile.function.iter().find(|function| function.id == *id);
            let place = function.map_or(0, |function| function.name);
            profile.string_table[usize::try_from(place).expect("a place")].clone()
        };
        sample.location_id.iter().map(name).collect()
    }

    #[tokio::test]
    async fn time_is_counted_where_it_is_spent() {
        let profiler = Arc::new(Profiler::default());
        let layer = SpanTimes::new(Arc::clone(&profiler));
        let _telling = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        let working = async {
            tokio::task::yield_now().await;
            tracing::info_span!("reconcile", kind = "ClusterCatalog").in_scope(|| {
                tracing::info_span!("pull").in_scope(|| {
                    // Something that takes processor time, however little.
                    std::hint::black_box((0..100_000_u64).fold(0, u64::wrapping_add));
                });
            });
        };
        let (profile, ()) = tokio::join!(profiler.profile(Duration::from_millis(20)), working);
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(profile.expect("a profile").as_slice())
            .read_to_end(&mut bytes)
            .expect("gzip");
        let profile = form::Profile::decode(bytes.as_slice()).expect("a profile");
        let stacks: Vec<Vec<String>> = profile
            .sample
            .iter()
            .map(|sample| labels(&profile, sample))
            .collect();
        assert_eq!(
            stacks,
            [
                vec!["(no span)"],
                vec!["reconcile ClusterCatalog"],
                vec!["pull", "reconcile ClusterCatalog"]
            ]
        );
        assert!(profile.sample[2].value[0] > 0);
        assert_eq!(profile.duration_nanos, 20_000_000);
    }

    #[tokio::test]
    async fn one_profile_is_made_at_a_time_and_one_given_up_leaves_room() {
        let profiler = Profiler::default();
        let first = profiler.profile(Duration::from_mins(1));
        let second = async {
            tokio::task::yield_now().await;
            profiler.profile(Duration::from_millis(1)).await
        };
        tokio::select! {
            _ = first => panic!("it takes a minute"),
            second = second => assert_eq!(second, None),
        }
        assert!(profiler.profile(Duration::from_millis(1)).await.is_some());
    }
}
