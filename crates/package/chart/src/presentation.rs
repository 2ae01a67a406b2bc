//! `show`: parts of a chart as text, in Helm's layout.

use crate::chart::{Chart, File};
use crate::crds;

/// What is shown of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything, one after the other.
    All,
    /// The definition, `Chart.yaml`.
    Definition,
    /// The default values, with their comments.
    Values,
    /// The README.
    Readme,
    /// The files of `crds/`, those of dependencies included.
    Crds,
}

/// The names that a README may have, in any case.
const README_NAMES: &[&str] = &["readme.md", "readme.txt", "readme"];

/// Returns the text of a part; the error says why the definition cannot be written.
pub fn show(chart: &Chart, part: Part) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    let is_shown = |candidate: Part| part == candidate || part == Part::All;
    let separator = |output: &mut Vec<u8>| {
        if part == Part::All {
            output.extend_from_slice(b"---\n");
        }
    };
    let line = |output: &mut Vec<u8>, data: &[u8]| {
        output.extend_from_slice(data);
        output.push(b'\n');
    };
    if is_shown(Part::Definition) {
        line(&mut output, crate::document::write(&*chart.metadata)?.as_bytes());
    }
    // An empty file is shown, a missing one is not.
    if is_shown(Part::Values) && chart.raw_values().is_some() {
        separator(&mut output);
        for file in chart.raw.iter().filter(|file| file.name == "values.yaml") {
            line(&mut output, &file.data);
        }
    }
    if is_shown(Part::Readme)
        && let Some(readme) = readme(chart)
    {
        separator(&mut output);
        line(&mut output, &readme.data);
    }
    if is_shown(Part::Crds) {
        let mut definitions = Vec::new();
        collect_crds(chart, &mut definitions);
        if definitions
            .first()
            .is_some_and(|first| !first.data.starts_with(b"---"))
        {
            separator(&mut output);
        }
        for definition in definitions {
            line(&mut output, &definition.data);
        }
    }
    Ok(output)
}

fn readme(chart: &Chart) -> Option<&File> {
    let is_readme = |file: &&File| {
        README_NAMES
            .iter()
            .any(|name| file.name.eq_ignore_ascii_case(name))
    };
    chart.files.iter().find(is_readme)
}

fn collect_crds<'chart>(chart: &'chart Chart, definitions: &mut Vec<&'chart File>) {
    definitions.extend(crds::files(chart));
    for dependency in &chart.dependencies {
        collect_crds(dependency, definitions);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn parts_are_separated_only_when_all_are_shown() {
        let file = |name: &str, data: &'static str| File {
            name: name.to_owned(),
            data: Bytes::from_static(data.as_bytes()),
        };
        let chart = crate::loader::load_files(
            vec![
                file("Chart.yaml", "version: 1.0.0\nname: a\napiVersion: v2\n"),
                file("values.yaml", "# why\na: 1\n"),
                file("ReadMe.md", "Read me."),
                file("crds/a.yaml", "kind: A\n"),
                file("crds/notes.txt", "no"),
                file("charts/b/Chart.yaml", "version: 1.0.0\nname: b\napiVersion: v2\n"),
                file("charts/b/crds/b.yml", "kind: B\n"),
            ],
            &mut |_| {},
        )
        .expect("a chart");
        let text = |part| String::from_utf8(show(&chart, part).expect("text")).expect("UTF-8");
        let definition = "apiVersion: v2\nname: a\nversion: 1.0.0\n\n";
        let (values, readme, crds) = ("# why\na: 1\n\n", "Read me.\n", "kind: A\n\nkind: B\n\n");
        assert_eq!(text(Part::Definition), definition);
        assert_eq!(text(Part::Values), values);
        assert_eq!(text(Part::Readme), readme);
        assert_eq!(text(Part::Crds), crds);
        assert_eq!(
            text(Part::All),
            format!("{definition}---\n{values}---\n{readme}---\n{crds}")
        );
    }
}
