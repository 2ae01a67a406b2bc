//! The author's tree: `watches.yaml`, its charts, and what `config/` says about the operator.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chart::Chart;
use serde_json::Value;

use super::error::GenerationError;
use super::permissions::{PERMISSIONS_FILE, PolicyRule};
use super::watches::{self, WATCHES_FILE, Watch};

/// The most bytes that a file of `config/` may have; the largest definitions have 2 MB.
const MAXIMUM_FILE_BYTES: u64 = 8 << 20;

/// The most files that a directory of `config/` may have.
const MAXIMUM_FILES: usize = 1_000;

/// What an author has, read and understood.
#[derive(Debug, Clone)]
pub struct Project {
    /// The package's name: of the base `ClusterServiceVersion`, of `PROJECT`, or of the directory.
    pub package: String,
    /// `watches.yaml` as it is.
    pub watches_text: String,
    /// What is watched, each with its chart.
    pub watched: Vec<Watched>,
    /// `config/manifests/bases/<package>.clusterserviceversion.yaml`.
    pub base: Option<Value>,
    /// `config/manifests/icon.svg` or another picture, with its media type.
    pub icon: Option<(String, Vec<u8>)>,
    /// `config/crd/bases/*.yaml`: definitions that the author has written, which win over generated ones.
    pub definitions: Vec<(String, Value)>,
    /// `config/samples/*.yaml`: example custom resources.
    pub samples: Vec<(String, Value)>,
    /// The Deployment in `config/manager/`.
    pub deployment: Option<(String, Value)>,
    /// The rules of the `ClusterRole` in `config/rbac/role.yaml`, in addition to the derived ones.
    pub rules: Vec<PolicyRule>,
    /// `config/rbac/derived.yaml`: the pinned permissions.
    pub pinned_permissions: Option<Vec<u8>>,
    /// `config/extra/*.yaml`: objects that the bundle has as they are.
    pub extra: BTreeMap<String, Vec<u8>>,
    /// `config/metadata/{dependencies,properties}.yaml`.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// `config/scorecard/config.yaml`.
    pub scorecard: Option<Vec<u8>>,
}

/// A watch and its chart.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The entry of `watches.yaml`.
    pub watch: Watch,
    /// Where the chart was found: a directory or an archive.
    pub path: PathBuf,
    /// The chart, loaded.
    pub chart: Arc<Chart>,
    /// The chart's archive, where the watch names one instead of a directory.
    pub archive: Option<Vec<u8>>,
}

/// Where charts are, if not where `watches.yaml` says.
#[derive(Debug, Clone, Default)]
pub struct ChartSources {
    /// The chart of the only watch.
    pub only: Option<PathBuf>,
    /// Charts by the name that a watch has for them.
    pub by_name: BTreeMap<String, PathBuf>,
}

impl Project {
    /// Reads an author's tree.
    pub fn read(directory: &Path, charts: &ChartSources) -> Result<Self, GenerationError> {
        let tree = Tree { root: directory };
        let Some(bytes) = tree.file(WATCHES_FILE)? else {
            return Err(GenerationError::NoProject {
                path: directory.to_owned(),
            });
        };
        let entries = watches::read(&bytes)?;
        if charts.only.is_some() && entries.len() > 1 {
            return Err(GenerationError::Watches {
                cause: format!(
                    "there are {} charts, so say which one is meant: --chart {}=DIRECTORY",
                    entries.len(),
                    entries.first().map_or("chart", |watch| watch.chart.as_str())
                ),
            });
        }
        let watched = entries
            .into_iter()
            .map(|watch| load(directory, watch, charts))
            .collect::<Result<Vec<_>, _>>()?;
        let (package, base) = tree.base()?;
        let mut rules = Vec::new();
        for (_, role) in tree.objects_in_file("config/rbac/role.yaml")? {
            if role.get("kind").and_then(Value::as_str) == Some("ClusterRole") {
                let written = role.get("rules").cloned().unwrap_or_default();
                let written: Vec<PolicyRule> = serde_json::from_value(written)
                    .map_err(|error| tree.faulty("config/rbac/role.yaml", &error.to_string()))?;
                rules.extend(written);
            }
        }
        let mut deployment = None;
        for directory in ["config/manager", "config/manager/bases"] {
            for (file, object) in tree.objects(directory)? {
                if object.get("kind").and_then(Value::as_str) == Some("Deployment") && deployment.is_none() {
                    deployment = Some((file, object));
                }
            }
        }
        let mut metadata = BTreeMap::new();
        for name in ["dependencies.yaml", "properties.yaml"] {
            if let Some(bytes) = tree.file(&format!("config/metadata/{name}"))? {
                metadata.insert(name.to_owned(), bytes);
            }
        }
        Ok(Self {
            package,
            watches_text: String::from_utf8(bytes).map_err(|_| GenerationError::Watches {
                cause: "it is not UTF-8".to_owned(),
            })?,
            watched,
            base,
            icon: tree.icon()?,
            definitions: tree.objects("config/crd/bases")?,
            samples: tree.objects("config/samples")?,
            deployment,
            rules,
            pinned_permissions: tree.file(PERMISSIONS_FILE)?,
            extra: tree.files("config/extra")?,
            metadata,
            scorecard: tree.file("config/scorecard/config.yaml")?,
        })
    }
}

fn load(directory: &Path, watch: Watch, charts: &ChartSources) -> Result<Watched, GenerationError> {
    let path = charts
        .by_name
        .get(&watch.chart)
        .or(charts.only.as_ref())
        .cloned()
        .unwrap_or_else(|| directory.join(&watch.chart));
    let faulty = |cause: String| GenerationError::Chart {
        chart: watch.chart.clone(),
        kind: watch.kind.clone(),
        path: path.clone(),
        cause,
        advice: if path.exists() {
            "correct it, or name another one with --chart"
        } else {
            "put the chart there, or name its directory with --chart"
        },
    };
    let leads_out = Path::new(&watch.chart).components().any(|part| {
        !matches!(
            part,
            std::path::Component::Normal(_) | std::path::Component::CurDir
        )
    });
    if leads_out {
        return Err(faulty(
            "the path must lie below the tree, because it is the path in the image too".to_owned(),
        ));
    }
    let chart = chart::loader::load(&path, &mut |_| ()).map_err(|error| faulty(error.to_string()))?;
    chart::dependencies::check(&chart).map_err(|error| faulty(error.to_string()))?;
    let is_archive = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
    let archive = if is_archive {
        Some(fs::read(&path).map_err(|cause| GenerationError::Io {
            path: path.clone(),
            cause,
        })?)
    } else {
        None
    };
    Ok(Watched {
        watch,
        path,
        chart,
        archive,
    })
}

struct Tree<'a> {
    root: &'a Path,
}

impl Tree<'_> {
    fn faulty(&self, file: &str, cause: &str) -> GenerationError {
        GenerationError::Faulty {
            path: self.root.join(file),
            cause: cause.to_owned(),
        }
    }

    /// The bytes of a file; none when there is no such file.
    fn file(&self, name: &str) -> Result<Option<Vec<u8>>, GenerationError> {
        let path = self.root.join(name);
        let io = |cause| GenerationError::Io {
            path: path.clone(),
            cause,
        };
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(io(cause)),
        };
        let mut bytes = Vec::new();
        file.take(MAXIMUM_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(io)?;
        if bytes.len() as u64 > MAXIMUM_FILE_BYTES {
            return Err(GenerationError::TooLarge {
                path,
                maximum: MAXIMUM_FILE_BYTES,
            });
        }
        Ok(Some(bytes))
    }

    /// The names of a directory's YAML files, sorted; kustomize's own are left out.
    fn yaml_files(&self, directory: &str) -> Result<Vec<String>, GenerationError> {
        let path = self.root.join(directory);
        let io = |cause| GenerationError::Io {
            path: path.clone(),
            cause,
        };
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(io(cause)),
        };
        let mut names = Vec::new();
        for entry in entries.take(MAXIMUM_FILES) {
            let entry = entry.map_err(io)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let extension = Path::new(&name)
                .extension()
                .and_then(|extension| extension.to_str());
            let is_yaml = matches!(extension, Some("yaml" | "yml" | "json"));
            if is_yaml
                && !name.starts_with('.')
                && !name.starts_with("kustomization.")
                && entry.path().is_file()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn files(&self, directory: &str) -> Result<BTreeMap<String, Vec<u8>>, GenerationError> {
        let mut files = BTreeMap::new();
        for name in self.yaml_files(directory)? {
            if let Some(bytes) = self.file(&format!("{directory}/{name}"))? {
                files.insert(name, bytes);
            }
        }
        Ok(files)
    }

    /// The objects in the YAML files of a directory, each with its file.
    fn objects(&self, directory: &str) -> Result<Vec<(String, Value)>, GenerationError> {
        let mut objects = Vec::new();
        for name in self.yaml_files(directory)? {
            objects.extend(self.objects_in_file(&format!("{directory}/{name}"))?);
        }
        Ok(objects)
    }

    fn objects_in_file(&self, name: &str) -> Result<Vec<(String, Value)>, GenerationError> {
        let Some(bytes) = self.file(name)? else {
            return Ok(Vec::new());
        };
        let mut objects = Vec::new();
        for document in chart::manifest::split(&bytes.into()) {
            let value = goyaml::to_value(&document).map_err(|error| self.faulty(name, &error.to_string()))?;
            if value.is_object() {
                objects.push((name.to_owned(), value));
            }
        }
        Ok(objects)
    }

    /// The package, and the base `ClusterServiceVersion` that tells it.
    fn base(&self) -> Result<(String, Option<Value>), GenerationError> {
        const DIRECTORY: &str = "config/manifests/bases";
        const ENDING: &str = ".clusterserviceversion.yaml";
        let names = self.yaml_files(DIRECTORY)?;
        let bases: Vec<&String> = names.iter().filter(|name| name.ends_with(ENDING)).collect();
        match bases.as_slice() {
            [] => {}
            [name] => {
                let file = format!("{DIRECTORY}/{name}");
                let base = self
                    .objects_in_file(&file)?
                    .into_iter()
                    .next()
                    .map(|(_, base)| base);
                let base = base.ok_or_else(|| {
                    self.faulty(
                        &file,
                        "holds no ClusterServiceVersion; remove it to have one made",
                    )
                })?;
                return Ok((name[..name.len() - ENDING.len()].to_owned(), Some(base)));
            }
            [first, second, ..] => {
                let cause = format!("there is also {second}; a tree has one operator, so keep one of them");
                return Err(self.faulty(&format!("{DIRECTORY}/{first}"), &cause));
            }
        }
        if let Some(bytes) = self.file("PROJECT")? {
            let project =
                goyaml::to_value(&bytes).map_err(|error| self.faulty("PROJECT", &error.to_string()))?;
            if let Some(name) = project.get("projectName").and_then(Value::as_str) {
                return Ok((name.to_owned(), None));
            }
        }
        let absolute = fs::canonicalize(self.root).unwrap_or_else(|_| self.root.to_owned());
        let name = absolute
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok((name.unwrap_or_default(), None))
    }

    fn icon(&self) -> Result<Option<(String, Vec<u8>)>, GenerationError> {
        for (ending, media_type) in [
            ("svg", "image/svg+xml"),
            ("png", "image/png"),
            ("jpeg", "image/jpeg"),
            ("jpg", "image/jpeg"),
            ("gif", "image/gif"),
        ] {
            if let Some(bytes) = self.file(&format!("config/manifests/icon.{ending}"))? {
                return Ok(Some((media_type.to_owned(), bytes)));
            }
        }
        Ok(None)
    }
}
