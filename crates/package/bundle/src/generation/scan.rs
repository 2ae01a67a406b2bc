//! What a chart's templates say they can create, read from their text without rendering them.
//!
//! A render shows only what its values lead to. The text also shows the Ingress behind a condition that no flag of ours
//! has met; where the text itself computes a kind, that is reported, so that a person can decide.

use std::collections::HashSet;
use std::sync::LazyLock;

use chart::Chart;
use regex::Regex;

use super::kinds::Kinds;

/// How deep charts are followed into charts. The loader has its own limit; this one keeps the recursion visible.
const MAXIMUM_CHART_DEPTH: usize = 32;

/// What was found in the text of templates.
#[derive(Debug, Default)]
pub struct Scan {
    /// Kinds that the text names.
    pub mentions: Vec<Mention>,
    /// Objects that `lookup` reads.
    pub lookups: Vec<Mention>,
    /// Kinds that the text computes in a way that can't be read off.
    pub undecided: Vec<Undecided>,
}

/// A kind, and where the text names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The API group, or the API version's group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The template and line.
    pub place: Place,
}

/// A line of a template.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The template, such as `templates/ingress.yaml`; a subchart's starts with `charts/<name>/`.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} line {}", self.template, self.line)
    }
}

/// Something whose permissions can't be told from the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undecided {
    /// Where it is.
    pub place: Place,
    /// What it is, as one line.
    pub what: String,
}

struct Source<'chart> {
    template: String,
    text: std::borrow::Cow<'chart, str>,
}

/// Reads the templates of a chart and of all its subcharts, enabled or not.
pub fn scan(chart: &Chart, kinds: &Kinds) -> Scan {
    let mut sources = Vec::new();
    collect(chart, "", 0, &mut sources);
    let used = used_names(&sources);
    let mut found = Scan::default();
    for source in &sources {
        scan_lookups(source, &mut found);
        for document in documents(source, &used) {
            scan_document(source, &document, kinds, &mut found);
        }
    }
    found
}

fn collect<'chart>(chart: &'chart Chart, prefix: &str, depth: usize, sources: &mut Vec<Source<'chart>>) {
    for file in chart.templates.iter() {
        if file.name.ends_with("NOTES.txt") {
            continue;
        }
        sources.push(Source {
            template: format!("{prefix}{}", file.name),
            text: String::from_utf8_lossy(&file.data),
        });
    }
    if depth < MAXIMUM_CHART_DEPTH {
        for subchart in &chart.dependencies {
            collect(
                subchart,
                &format!("{prefix}charts/{}/", subchart.name()),
                depth + 1,
                sources,
            );
        }
    }
}

/// A run of lines between two document separators or definitions, with the number of its first line.
struct Piece<'text> {
    first_line: usize,
    lines: Vec<&'text str>,
}

static DEFINE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\{\{-?\s*define\s+"([^"]+)""#).expect("a constant expression"));

/// The documents of a source. A named template that nothing uses is left out: libraries define many.
fn documents<'text>(source: &'text Source<'_>, used_names: &HashSet<String>) -> Vec<Piece<'text>> {
    let mut pieces = vec![Piece {
        first_line: 1,
        lines: Vec::new(),
    }];
    let mut used = true;
    for (index, line) in source.text.lines().enumerate() {
        let definition = DEFINE.captures(line).map(|captures| captures[1].to_owned());
        if let Some(name) = &definition {
            used = used_names.contains(name);
        }
        if definition.is_some() || line.starts_with("---") {
            pieces.push(Piece {
                first_line: index + 1,
                lines: Vec::new(),
            });
        }
        if let Some(piece) = pieces.last_mut() {
            // An unused definition keeps its line numbers, but none of its text.
            piece.lines.push(if used { line } else { "" });
        }
    }
    pieces
}

static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(define\s+)?"([^"\n]+)""#).expect("a constant expression"));

/// Everything in quotes that is not being defined: the names of used templates are among it.
fn used_names(all: &[Source<'_>]) -> HashSet<String> {
    all.iter()
        .flat_map(|source| QUOTED.captures_iter(&source.text))
        .filter(|captures| captures.get(1).is_none())
        .map(|captures| captures[2].to_owned())
        .collect()
}

static TEST_HOOK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"helm\.sh/hook"?:\s*"?(?:test|test-success|test-failure)"?\s*$"#)
        .expect("a constant expression")
});

fn scan_document(source: &Source<'_>, document: &Piece<'_>, kinds: &Kinds, found: &mut Scan) {
    // An operator runs no tests.
    if document.lines.iter().any(|line| TEST_HOOK.is_match(line)) {
        return;
    }
    let field = |name: &'static str| {
        document
            .lines
            .iter()
            .enumerate()
            .filter_map(move |(index, line)| {
                let value = line.strip_prefix(name)?.strip_prefix(':')?;
                Some((document.first_line + index, without_comment(value)))
            })
    };
    let api_versions: Vec<(usize, &str)> = field("apiVersion").collect();
    for (line, text) in field("kind") {
        let place = Place {
            template: source.template.clone(),
            line,
        };
        let names = candidates(text, kinds);
        if names.is_empty() {
            found.undecided.push(Undecided {
                place,
                what: format!("creates objects of a kind that is computed: {}", text.trim()),
            });
            continue;
        }
        for kind in names {
            if kind == "List" {
                found.undecided.push(Undecided {
                    place: place.clone(),
                    what: "creates a List, whose items only a render shows".to_owned(),
                });
                continue;
            }
            let groups = groups(&kind, &api_versions, kinds);
            if groups.is_empty() {
                found.undecided.push(Undecided {
                    place: place.clone(),
                    what: format!("creates objects of kind {kind} in an API group that is computed"),
                });
            }
            for group in groups {
                found.mentions.push(Mention {
                    group,
                    kind: kind.clone(),
                    place: place.clone(),
                });
            }
        }
    }
}

fn without_comment(value: &str) -> &str {
    value
        .split(" #")
        .next()
        .unwrap_or(value)
        .trim()
        .trim_matches(['"', '\''])
}

static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z][A-Za-z0-9]*").expect("a constant expression"));

static ACTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\{.*?\}\}").expect("a constant expression"));

/// The kinds that a `kind:` can have: the literal itself, or the known kinds that a computed one mentions.
fn candidates(text: &str, kinds: &Kinds) -> Vec<String> {
    if !text.contains("{{") {
        let literal = !text.is_empty() && WORD.find(text).is_some_and(|word| word.len() == text.len());
        return if literal {
            vec![text.to_owned()]
        } else {
            Vec::new()
        };
    }
    // `Cluster{{ if .x }}Role{{ else }}RoleBinding{{ end }}` has its choices between the actions,
    // `{{ ternary "Role" "ClusterRole" .x }}Binding` has them inside, in quotes; what stands around belongs to each.
    let pieces: Vec<&str> = ACTION.split(text).map(str::trim).collect();
    let (prefix, suffix) = (
        pieces.first().copied().unwrap_or_default(),
        pieces.last().copied().unwrap_or_default(),
    );
    let between = pieces
        .iter()
        .copied()
        .skip(1)
        .take(pieces.len().saturating_sub(2));
    let mut names: Vec<String> = between
        .chain(text.split('"').skip(1).step_by(2))
        .map(|choice| format!("{prefix}{choice}{suffix}"))
        .filter(|name| kinds.knows(name))
        .collect();
    names.sort();
    names.dedup();
    names
}

static API_VERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:([a-z0-9][a-z0-9.-]*)/)?v[0-9]+(?:(?:alpha|beta)[0-9]+)?\b")
        .expect("a constant expression")
});

/// The groups that a document's API versions name; those of the table where they are computed.
fn groups(kind: &str, api_versions: &[(usize, &str)], kinds: &Kinds) -> Vec<String> {
    let mut groups: Vec<String> = api_versions
        .iter()
        .flat_map(|(_, text)| {
            API_VERSION.captures_iter(text).map(|captures| {
                let group = captures.get(1).map_or("", |group| group.as_str());
                super::kinds::present_group(group, kind).to_owned()
            })
        })
        .collect();
    groups.sort();
    groups.dedup();
    // A document whose API version is chosen by conditions names several; those that have the kind are meant.
    let known = kinds.groups_of(kind);
    let meant: Vec<String> = groups
        .iter()
        .filter(|group| known.contains(group))
        .cloned()
        .collect();
    if !meant.is_empty() {
        return meant;
    }
    if !groups.is_empty() {
        return groups;
    }
    known
}

static LOOKUP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\blookup\s+("[^"]*"|[^\s"]+)\s+("[^"]*"|[^\s"]+)"#).expect("a constant expression")
});

fn scan_lookups(source: &Source<'_>, found: &mut Scan) {
    for (index, line) in source.text.lines().enumerate() {
        if !line.contains("{{") && !line.contains("lookup \"") {
            continue;
        }
        for captures in LOOKUP.captures_iter(line) {
            let place = Place {
                template: source.template.clone(),
                line: index + 1,
            };
            let literal = |text: &str| {
                text.strip_prefix('"')
                    .and_then(|text| text.strip_suffix('"'))
                    .map(str::to_owned)
            };
            match (literal(&captures[1]), literal(&captures[2])) {
                (Some(api_version), Some(kind)) => found.lookups.push(Mention {
                    group: super::kinds::group_of(&api_version).to_owned(),
                    kind,
                    place,
                }),
                _ => found.undecided.push(Undecided {
                    place,
                    what: format!("looks up objects of a kind that is computed: {}", &captures[0]),
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(templates: &[(&str, &str)]) -> Scan {
        let mut files = vec![chart::File {
            name: "Chart.yaml".to_owned(),
            data: "apiVersion: v2\nname: demo\nversion: 1.0.0\n".into(),
        }];
        files.extend(templates.iter().map(|(name, text)| chart::File {
            name: (*name).to_owned(),
            data: (*text).to_owned().into(),
        }));
        let chart = chart::loader::load_files(files, &mut |_| ()).expect("a chart");
        scan(&chart, &Kinds::default())
    }

    fn kinds_of(scan: &Scan) -> Vec<String> {
        scan.mentions
            .iter()
            .map(|mention| format!("{}/{}", mention.group, mention.kind))
            .collect()
    }

    #[test]
    fn kinds_behind_conditions_are_found() {
        let scan = scanned(&[(
            "templates/a.yaml",
            "{{- if .Values.never }}\napiVersion: networking.k8s.io/v1\nkind: Ingress # of course\nspec:\n  kind: Pod\n{{- end }}\n",
        )]);
        assert_eq!(kinds_of(&scan), ["networking.k8s.io/Ingress"]);
        assert_eq!(scan.mentions[0].place.line, 3);
    }

    #[test]
    fn an_api_version_chosen_by_the_clusters_abilities_is_the_present_one() {
        let scan = scanned(&[(
            "templates/a.yaml",
            "{{ if .Capabilities.APIVersions.Has \"networking.k8s.io/v1\" }}\napiVersion: networking.k8s.io/v1\n{{ else }}\napiVersion: extensions/v1beta1\n{{ end }}\nkind: Ingress\n---\napiVersion: {{ include \"x\" . }}\nkind: CronJob\n",
        )]);
        assert_eq!(kinds_of(&scan), ["networking.k8s.io/Ingress", "batch/CronJob"]);
    }

    #[test]
    fn computed_kinds_are_read_off_or_reported() {
        let scan = scanned(&[(
            "templates/a.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {{ ternary \"Role\" \"ClusterRole\" .Values.x }}\n---\napiVersion: apps/v1\nkind: {{ .Values.kind }}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {{ if .Values.a }}Role{{ else }}ClusterRole{{ end }}Binding\n",
        )]);
        assert_eq!(
            kinds_of(&scan),
            ["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"]
                .map(|kind| format!("rbac.authorization.k8s.io/{kind}"))
        );
        assert_eq!(scan.undecided[0].place.line, 5);
    }

    #[test]
    fn a_named_template_counts_only_when_it_is_used() {
        let library = "{{ define \"lib.job\" }}\napiVersion: batch/v1\nkind: Job\n{{ end }}\n{{ define \"lib.pod\" }}\napiVersion: v1\nkind: Pod\n{{ end }}\n";
        let scan = scanned(&[
            ("templates/_lib.tpl", library),
            ("templates/a.yaml", "{{ include \"lib.job\" . }}\n"),
        ]);
        assert_eq!(kinds_of(&scan), ["batch/Job"]);
    }

    #[test]
    fn what_lookup_reads_is_found() {
        let scan = scanned(&[(
            "templates/a.yaml",
            "{{ $a := (lookup \"v1\" \"Secret\" .Release.Namespace \"x\").data }}\n{{ lookup .Values.api \"Pod\" \"\" \"\" }}\n",
        )]);
        assert_eq!(scan.lookups[0].kind, "Secret");
        assert_eq!(scan.undecided.len(), 1);
    }
}
