//! `--show-only`: the documents of a stream that certain templates made.

use bytes::Bytes;
use memchr::memmem;
use thiserror::Error;

use crate::manifest::split;
use crate::path_pattern;

/// The comment with which Helm marks where a document comes from.
const SOURCE: &[u8] = b"# Source: ";

/// A template that made nothing, or is not there.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("could not find template {0} in chart")]
pub struct TemplateNotFound(pub String);

/// Keeps the documents of the given templates, in the order in which the templates are given.
///
/// A template is named by its path inside the chart; patterns such as `templates/*.yaml` are allowed.
pub fn show_only(stream: &Bytes, templates: &[String]) -> Result<Vec<u8>, TemplateNotFound> {
    let documents: Vec<(Option<String>, Bytes)> = split(stream)
        .into_iter()
        .map(|document| (path_in_chart(&document), document))
        .collect();
    let mut output = Vec::new();
    for template in templates {
        let mut is_found = false;
        for (path, document) in &documents {
            let matches = path
                .as_ref()
                .is_some_and(|path| path_pattern::matches(template, path).unwrap_or(false));
            if matches {
                is_found = true;
                output.extend_from_slice(b"---\n");
                output.extend_from_slice(document);
                output.push(b'\n');
            }
        }
        if !is_found {
            return Err(TemplateNotFound(template.clone()));
        }
    }
    Ok(output)
}

/// The path that the document's comment names, without the chart in front.
fn path_in_chart(document: &[u8]) -> Option<String> {
    memmem::find_iter(document, SOURCE).find_map(|at| {
        let line = document[at + SOURCE.len()..]
            .split(|byte| *byte == b'\n')
            .next()?;
        let slash = line.iter().position(|byte| *byte == b'/').filter(|at| *at > 0)?;
        let path = line.get(slash + 1..).filter(|path| !path.is_empty())?;
        Some(String::from_utf8_lossy(path).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_chosen_by_path_and_pattern_in_the_order_of_the_flags() {
        let stream = Bytes::from_static(
            b"---\n# Source: c/templates/a.yaml\na: 1\n---\n# Source: c/charts/s/templates/b.yaml\nb: 2\n\
              ---\n# Source: c/templates/c.yaml\nc: 3\n",
        );
        let only = |templates: &[&str]| {
            let templates: Vec<String> = templates.iter().map(ToString::to_string).collect();
            show_only(&stream, &templates).map(|output| String::from_utf8_lossy(&output).into_owned())
        };
        let (a, b, c) = (
            "---\n# Source: c/templates/a.yaml\na: 1\n",
            "---\n# Source: c/charts/s/templates/b.yaml\nb: 2\n",
            "---\n# Source: c/templates/c.yaml\nc: 3\n",
        );
        assert_eq!(
            only(&["templates/c.yaml", "templates/a.yaml"]),
            Ok(format!("{c}{a}"))
        );
        assert_eq!(only(&["templates/*.yaml"]), Ok(format!("{a}{c}")));
        assert_eq!(only(&["charts/s/templates/b.yaml"]), Ok(b.to_owned()));
        assert_eq!(
            only(&["templates"]),
            Err(TemplateNotFound("templates".to_owned()))
        );
        assert_eq!(
            only(&["templates/a.yaml", "b"]),
            Err(TemplateNotFound("b".to_owned()))
        );
    }
}
