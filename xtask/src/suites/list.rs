//! The suites that there are, and what each wants of a machine.

use std::os::unix::fs::MetadataExt as _;

use contract::clients::Clients;
use contract::real::{Binaries, find, workspace};

/// What the name of a suite's test target ends with, so that all of them can be meant with one pattern.
pub(crate) const TARGET_SUFFIX: &str = "-suite";

/// A suite.
#[derive(Debug)]
pub(crate) struct Suite {
    /// Its name; its test target is called so, and [`TARGET_SUFFIX`].
    pub(crate) name: &'static str,
    /// What is played, for who reads the list.
    pub(crate) about: &'static str,
    pub(crate) wants: &'static [Want],
    /// When it is ended at the latest. It takes less than half of that on two cores that have nothing else to do.
    pub(crate) minutes: u64,
}

impl Suite {
    /// The name of its test target.
    pub(crate) fn target(&self) -> String {
        format!("{}{TARGET_SUFFIX}", self.name)
    }
}

/// Something that not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// etcd, kube-apiserver, kube-controller-manager and kubectl.
    Kubernetes,
    /// Helm 3, Helm 4, and programs made of Go's libraries.
    Clients,
    /// The recorded data.
    Corpus,
    /// A program of the machine, and the Debian package that it comes with.
    Program(&'static str, &'static str),
    /// A browser.
    Chromium,
    /// The rights of root, which make networks.
    Root,
}

impl Want {
    /// Says why it isn't there and how to get it; nothing where it is there.
    pub(crate) fn missing(self) -> Option<String> {
        match self {
            Self::Kubernetes => Binaries::locate().err().map(|error| error.to_string()),
            Self::Clients => Clients::locate().err().map(|error| error.to_string()),
            Self::Corpus => {
                let folder = workspace().join("../shared/corpus");
                let is_absent = !folder.is_dir();
                is_absent.then(|| format!("the recorded data isn't there: {}", folder.display()))
            }
            Self::Program(program, package) => find(program)
                .is_none()
                .then(|| format!("`{program}` isn't in PATH; on Debian: apt-get install {package}")),
            Self::Chromium => {
                let names = ["chromium", "chromium-browser", "google-chrome"];
                let is_there = names.into_iter().any(|name| find(name).is_some());
                (!is_there)
                    .then(|| "there is no Chromium in PATH; on Debian: apt-get install chromium".to_owned())
            }
            Self::Root => {
                // The files of a process belong to whose rights it has.
                let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
                (!is_root).then(|| "network namespaces need the rights of root; run this as root".to_owned())
            }
        }
    }
}

/// All suites, in the order in which they are played: what is quick and fails most comes first.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "contract",
        about: "the cases that stage and Kubernetes are held to, on the real kube-apiserver",
        wants: &[Want::Kubernetes],
        minutes: 15,
    },
    Suite {
        name: "clients",
        about: "kubectl's sessions on stage and on the real kube-apiserver; Helm 3, Helm 4 and Go programs on stage",
        wants: &[Want::Kubernetes, Want::Clients, Want::Corpus],
        minutes: 40,
    },
    Suite {
        name: "peers",
        about: "images between the embedded registry and skopeo, docker, and Debian's docker-registry",
        wants: &[
            Want::Program("skopeo", "skopeo"),
            Want::Program("docker-registry", "docker-registry"),
            Want::Program("docker", "docker-cli"),
        ],
        minutes: 10,
    },
    Suite {
        name: "author",
        about: "from a chart to a catalog at Debian's docker-registry, looked at with skopeo",
        wants: &[
            Want::Program("skopeo", "skopeo"),
            Want::Program("docker-registry", "docker-registry"),
        ],
        minutes: 10,
    },
    Suite {
        name: "console",
        about: "the console in a browser: every page, without scripts, by keyboard, following the cluster",
        wants: &[Want::Chromium],
        minutes: 15,
    },
    Suite {
        name: "book",
        about: "the pages of the book that use kubectl or Helm",
        wants: &[Want::Kubernetes, Want::Clients],
        minutes: 20,
    },
    Suite {
        name: "releases",
        about: "what Helm's releases take for granted of the real kube-apiserver, and Helm 3 and 4 on ours and we on theirs",
        wants: &[Want::Kubernetes, Want::Clients],
        minutes: 10,
    },
    Suite {
        name: "helm-operator",
        about: "the recorded flows of the real Helm operator, followed by ours on the real kube-apiserver",
        wants: &[Want::Kubernetes, Want::Corpus],
        minutes: 15,
    },
    Suite {
        name: "olmv0-flows",
        about: "the recorded flows of the real OLM v0, followed by ours on the real kube-apiserver",
        wants: &[Want::Kubernetes, Want::Corpus],
        minutes: 30,
    },
    Suite {
        name: "story",
        about: "the users' story from publishing to taking away, on the real kube-apiserver",
        wants: &[Want::Kubernetes],
        minutes: 20,
    },
    Suite {
        name: "olmv1",
        about: "OLM v1 as its users see it, on the real kube-apiserver",
        wants: &[Want::Kubernetes, Want::Corpus],
        minutes: 30,
    },
    Suite {
        name: "olmv0",
        about: "OLM v0 as its users see it by kubectl, on stage and on the real kube-apiserver",
        wants: &[Want::Kubernetes, Want::Corpus],
        minutes: 60,
    },
    Suite {
        name: "replicas",
        about: "replicas that are killed, paused and cut off, on the real kube-apiserver",
        wants: &[Want::Kubernetes, Want::Root, Want::Program("ip", "iproute2")],
        minutes: 20,
    },
];
