//! The logs of containers, for `kubectl logs`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use jiff::{SignedDuration, Timestamp};
use schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::pod_status::{Container, State};
use super::requests::items;
use super::running::container::log_path;
use super::{Shared, log_file, simulation};
use crate::Body;
use crate::api::{Api, Place};
use crate::object::Object;
use crate::options::Query;
use crate::status::Status;
use crate::store::Key;
use crate::wire::{Asked, full_body, stream_body};

/// How often a followed log is looked at again.
const FOLLOWED_EVERY: Duration = Duration::from_millis(200);

/// What a request wants of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The container; empty for the only one.
    pub container: String,
    /// Whether more is wanted as it comes.
    pub follow: bool,
    /// Whether the run before the present one is meant.
    pub previous: bool,
    /// Whether each line begins with its time.
    pub timestamps: bool,
    /// Only what is not older.
    pub since: Option<Timestamp>,
    /// Only so many lines from the end.
    pub tail: Option<usize>,
    /// Only so many bytes.
    pub limit: Option<usize>,
}

impl Wanted {
    /// Reads the query of a request for the logs of a pod.
    pub fn read(query: &Query, pod: &str, now: Timestamp) -> Result<Self, Status> {
        let number = |name: &str| -> Result<Option<i64>, Status> {
            if !query.has(name) {
                return Ok(None);
            }
            let text = query.get(name);
            text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
                let why = match error.kind() {
                    std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                        "value out of range"
                    }
                    _ => "invalid syntax",
                };
                Status::bad_request(format!("strconv.ParseInt: parsing \"{text}\": {why}"))
            })
        };
        let (tail, limit, seconds) = (
            number("tailLines")?,
            number("limitBytes")?,
            number("sinceSeconds")?,
        );
        let since = match query.get("sinceTime") {
            "" => None,
            text => Some(text.parse::<Timestamp>().map_err(|_| {
                Status::bad_request(format!(
                    "parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{text}\" as \"2006\""
                ))
            })?),
        };
        let mut errors = Vec::new();
        let mut invalid = |field: &str, value: i64, detail: &str| {
            errors.push(FieldError::invalid(FieldPath::new(field), &json!(value), detail));
        };
        if let Some(tail) = tail.filter(|&tail| tail < 0) {
            invalid("tailLines", tail, "must be greater than or equal to 0");
        }
        if let Some(limit) = limit.filter(|&limit| limit < 1) {
            invalid("limitBytes", limit, "must be greater than 0");
        }
        match (seconds, since) {
            (Some(_), Some(_)) => errors.push(FieldError::forbidden(
                // The real server names the field of no name so.
                FieldPath::new("[]"),
                "at most one of `sinceTime` or `sinceSeconds` may be specified",
            )),
            (Some(seconds), None) if seconds < 1 => {
                invalid("sinceSeconds", seconds, "must be greater than 0");
            }
            _ => {}
        }
        if !query.get("stream").is_empty() {
            errors.push(FieldError::forbidden(
                FieldPath::new("stream"),
                "may not be specified",
            ));
        }
        if !errors.is_empty() {
            return Err(Status::invalid("", "PodLogOptions", pod, &errors));
        }
        let ago = |seconds: i64| {
            now.checked_sub(SignedDuration::from_secs(seconds))
                .unwrap_or(Timestamp::MIN)
        };
        let positive = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        let flag = |name: &str| query.flag(name).unwrap_or(false);
        Ok(Self {
            container: query.get("container").to_owned(),
            follow: flag("follow"),
            previous: flag("previous"),
            timestamps: flag("timestamps"),
            since: since.or_else(|| seconds.map(ago)),
            tail: tail.map(positive),
            limit: limit.map(positive),
        })
    }
}

/// Returns the container that is meant, or the failure that none or a wrong one is named.
pub fn container_of<'a>(pod: &'a Value, named: &'a str) -> Result<&'a str, Status> {
    let spec = &pod["spec"];
    let all = || {
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(|list| items(&spec[list]))
            .filter_map(|container| container["name"].as_str())
    };
    if named.is_empty() {
        let mut containers = items(&spec["containers"]).filter_map(|container| container["name"].as_str());
        return match (containers.next(), containers.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Status::bad_request(format!(
                "a container name must be specified for pod {}",
                pod.name()
            ))),
            _ => Err(Status::bad_request(format!(
                "a container name must be specified for pod {}, choose one of: [{}]",
                pod.name(),
                all().collect::<Vec<_>>().join(" ")
            ))),
        };
    }
    if all().any(|name| name == named) {
        return Ok(named);
    }
    Err(Status::bad_request(format!(
        "container {named} is not valid for pod {}",
        pod.name()
    )))
}

/// Returns which run of a container has the log that is wanted, or why there is none: in the kubelet's words.
pub fn run_of(pod: &Value, name: &str, previous: bool) -> Result<String, Status> {
    let spec = json!({"name": name});
    let status = &pod["status"];
    let found = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ]
    .into_iter()
    .find_map(|list| Container::read(&spec, &status[list]));
    let in_pod = format!("container \"{name}\" in pod \"{}\"", pod.name());
    let refuse = |why: String| Err(Status::bad_request(why));
    let Some(container) = found else {
        return refuse(format!("{in_pod} is not available"));
    };
    let last = container
        .last
        .as_ref()
        .map(|last| last.container_id.as_str())
        .filter(|id| !id.is_empty());
    if previous {
        return match last {
            Some(last) => Ok(last.to_owned()),
            None => refuse(format!("previous terminated {in_pod} not found")),
        };
    }
    match (&container.state, last) {
        (State::Running { .. }, _) => Ok(container.container_id),
        (State::Terminated(ended), _) if !ended.container_id.is_empty() => Ok(ended.container_id.clone()),
        (State::Terminated(_) | State::Waiting { .. }, Some(last)) => Ok(last.to_owned()),
        (State::Terminated(_), None) => refuse(format!("{in_pod} is terminated")),
        (State::Waiting { reason, .. }, None) => refuse(match reason.as_str() {
            "ErrImagePull" => format!("{in_pod} is waiting to start: image can't be pulled"),
            "ImagePullBackOff" => format!("{in_pod} is waiting to start: trying and failing to pull image"),
            "" => format!("{in_pod} is waiting to start - no logs yet"),
            reason => format!("{in_pod} is waiting to start: {reason}"),
        }),
    }
}

/// Returns the part of a log that is wanted.
pub fn select<'a>(lines: impl Iterator<Item = (Timestamp, &'a str)>, wanted: &Wanted) -> Vec<u8> {
    let lines: Vec<(Timestamp, &str)> = lines
        .filter(|(at, _)| wanted.since.is_none_or(|since| *at >= since))
        .collect();
    let first = wanted.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
    let mut text = Vec::new();
    for (at, line) in lines.iter().skip(first) {
        if wanted.timestamps {
            text.extend_from_slice(written_time(*at).as_bytes());
            text.push(b' ');
        }
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
        if let Some(limit) = wanted.limit
            && text.len() >= limit
        {
            text.truncate(limit);
            break;
        }
    }
    text
}

/// Returns a time as logs have it, with all its digits.
pub fn written_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%9fZ").to_string()
}

/// Answers a request for the logs of a pod.
pub(super) fn answer(
    shared: &Shared,
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
) -> Result<Response<Body>, Status> {
    let wanted = Wanted::read(&asked.query, &place.name, Timestamp::now())?;
    let stored = api.get(place)?;
    let pod = stored.value();
    let container = container_of(&pod, &wanted.container)?.to_owned();
    if pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() {
        let mut response = Response::new(full_body(Bytes::new()));
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    }
    let run = run_of(&pod, &container, wanted.previous)?;
    let follows = Followed {
        api: Arc::downgrade(api),
        key: place.key(),
        container: container.clone(),
        run: run.clone(),
    };
    if let Some(path) = log_path(&shared.pod_directory(pod.uid()), &container, &run) {
        let (text, end) = log_file::read(&path).map_err(|error| {
            Status::internal(format!(
                "the log of container \"{container}\" cannot be read: {error}"
            ))
        })?;
        let first: Bytes = select(log_file::lines(&text), &wanted).into();
        if !wanted.follow {
            return Ok(plain(full_body(first)));
        }
        let file = FollowedFile {
            path,
            end,
            left: wanted.limit.map(|limit| limit.saturating_sub(first.len())),
            timestamps: wanted.timestamps,
        };
        return Ok(plain(stream_body(follow(first, follows, Some(file)))));
    }
    let text = simulated(&pod, &container, &wanted);
    let body = if wanted.follow {
        stream_body(follow(text, follows, None))
    } else {
        full_body(text)
    };
    Ok(plain(body))
}

/// A run of a container whose log is followed.
struct Followed {
    api: Weak<Api>,
    key: Key,
    container: String,
    run: String,
}

impl Followed {
    /// Returns whether the run goes on.
    fn goes_on(&self) -> bool {
        let Some(stored) = self.api.upgrade().and_then(|api| api.store.get(&self.key)) else {
            return false;
        };
        let pod = stored.value();
        let spec = json!({"name": self.container});
        let statuses = [
            "containerStatuses",
            "initContainerStatuses",
            "ephemeralContainerStatuses",
        ];
        let found = statuses
            .into_iter()
            .find_map(|list| Container::read(&spec, &pod["status"][list]));
        found.is_some_and(|found| {
            found.container_id == self.run && matches!(found.state, State::Running { .. })
        })
    }
}

/// A log that grows while it is followed.
struct FollowedFile {
    path: PathBuf,
    end: u64,
    left: Option<usize>,
    timestamps: bool,
}

impl FollowedFile {
    /// Returns what came since the last look.
    fn more(&mut self) -> Bytes {
        let Ok((text, end)) = log_file::read_more(&self.path, self.end) else {
            return Bytes::new();
        };
        self.end = end;
        let wanted = Wanted {
            timestamps: self.timestamps,
            limit: self.left,
            ..Wanted::default()
        };
        let more = select(log_file::lines(&text), &wanted);
        self.left = self.left.map(|left| left.saturating_sub(more.len()));
        more.into()
    }
}

/// Sends a log as it grows, for as long as the container runs. The log of a simulated one doesn't grow.
fn follow(
    first: Bytes,
    followed: Followed,
    file: Option<FollowedFile>,
) -> impl futures_util::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
    stream::unfold(
        (Some(first), followed, file),
        |(first, followed, mut file)| async move {
            if let Some(first) = first {
                return Some((Ok(Frame::data(first)), (None, followed, file)));
            }
            loop {
                if file.as_ref().is_some_and(|file| file.left == Some(0)) {
                    return None;
                }
                tokio::time::sleep(FOLLOWED_EVERY).await;
                // Asked before the file is read, so that nothing is missed of a run that ends now.
                let goes_on = followed.goes_on();
                let more = file.as_mut().map(FollowedFile::more).unwrap_or_default();
                if !more.is_empty() {
                    return Some((Ok(Frame::data(more)), (None, followed, file)));
                }
                if !goes_on {
                    return None;
                }
            }
        },
    )
}

fn plain(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

fn simulated(pod: &Value, container: &str, wanted: &Wanted) -> Bytes {
    let text = simulation::logs(pod, container);
    let at = pod["status"]["startTime"].as_str().and_then(|at| at.parse().ok());
    let at = at.unwrap_or(Timestamp::UNIX_EPOCH);
    select(text.lines().map(|line| (at, line)), wanted).into()
}

#[cfg(test)]
mod tests;
