//! The contract, asked of a real kube-apiserver: what the cases expect is what Kubernetes does.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use contract::Play;
use contract::real::{ADMIN_TOKEN, Options, RealCluster};
use contract::server::{Backend, Https};
use suite::{Case, Group, Suite};

/// How many cases are played at once: enough to keep a server busy, few enough for small machines.
const AT_ONCE: usize = 16;

/// No case takes this long, unless something hangs.
const LIMIT: Duration = Duration::from_mins(5);

/// A real cluster that cases are played on.
struct Kubernetes {
    play: Play,
    _cluster: RealCluster,
}

async fn start() -> Result<Kubernetes, String> {
    let cluster = RealCluster::start(Options::default()).await;
    let cluster = cluster.map_err(|error| error.to_string())?;
    let server = Https::new(Backend::Real, &cluster.url, &cluster.authority, ADMIN_TOKEN);
    let server = server.map_err(|error| error.to_string())?;
    Ok(Kubernetes {
        play: Play::on(Arc::new(server)),
        _cluster: cluster,
    })
}

fn played(case: contract::Case) -> Case<Kubernetes> {
    let name = format!("{}::{}", case.topic, case.name);
    Case::new(name, move |kubernetes: Arc<Kubernetes>| {
        let case = case.clone();
        async move {
            for reason in kubernetes.play.case(&case).await {
                suite::say(format_args!("servers differ here: {reason}"));
            }
        }
    })
}

fn main() -> ExitCode {
    let cases = Group::shared("kubernetes", start)
        .at_once(AT_ONCE)
        .within(LIMIT)
        .cases(contract::cases().into_iter().map(played));
    Suite::new("contract").with(cases).main()
}
