//! What `baton template` prints or writes, in Helm's order and words.

use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use chart::installation::{Installation, InstallationError};
use chart::manifest::{Hook, trim_space, write_document};
use chart::selection;

use super::flags::Template;
use super::{DEBUG_ADVICE, PostRenderer};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::written_files;

/// A document with the template, or the file of `crds/`, that it comes from.
struct Document<'installation> {
    source: &'installation str,
    content: Vec<u8>,
}

/// Everything that was rendered and not left out by a flag.
pub(super) struct Rendered<'installation> {
    flags: &'installation Template,
    release_name: &'installation str,
    crds: Vec<Document<'installation>>,
    manifests: Vec<Document<'installation>>,
    hooks: Vec<Document<'installation>>,
}

impl<'installation> Rendered<'installation> {
    /// Takes what the flags want of an installation; `comments` are for its manifests and then its hooks, if any.
    pub(super) fn new(
        flags: &'installation Template,
        release_name: &'installation str,
        installation: &'installation Installation,
        comments: &[String],
    ) -> Self {
        let mut comments = comments.iter().map(String::as_str).chain(iter::repeat(""));
        let mut document = |source: &'installation str, content: &[u8]| Document {
            source,
            content: [comments.next().unwrap_or_default().as_bytes(), content].concat(),
        };
        let manifests = installation
            .manifests
            .iter()
            .map(|manifest| document(&manifest.name, &manifest.content))
            .collect();
        let is_shown = |hook: &Hook| !(flags.no_hooks || flags.skip_tests && hook.is_test());
        let hooks = installation
            .hooks
            .iter()
            .map(|hook| (hook, document(&hook.path, &hook.manifest)))
            .filter(|(hook, _)| is_shown(hook))
            .map(|(_, document)| document)
            .collect();
        let crds = installation
            .crds
            .iter()
            .filter(|_| flags.include_crds)
            .map(|crd| Document {
                source: &crd.file_name,
                content: crd.data.to_vec(),
            })
            .collect();
        Self {
            flags,
            release_name,
            crds,
            manifests,
            hooks,
        }
    }

    /// Prints the documents after the text `before`, or writes them to files, as the flags say.
    pub(super) fn deliver(
        self,
        before: String,
        post_renderer: Option<&PostRenderer>,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let directory = self
            .flags
            .output_dir
            .as_deref()
            .filter(|directory| !directory.is_empty());
        let files = directory.map(|directory| self.files(directory)).transpose()?;
        let mut stream = Vec::new();
        if files.is_none() {
            for document in self.crds.iter().chain(&self.manifests) {
                write_document(&mut stream, document.source, &document.content)?;
            }
        }
        if let Some(post_renderer) = post_renderer {
            let advice = if self.flags.is_debugging() {
                ""
            } else {
                DEBUG_ADVICE
            };
            stream = post_renderer
                .run(&stream)
                .map_err(|text| Failure::new(format!("{text}{advice}")))?;
        }
        let mut output = trim_space(&Bytes::from(stream)).to_vec();
        output.push(b'\n');
        if files.is_none() {
            for hook in &self.hooks {
                write_document(&mut output, hook.source, &hook.content)?;
            }
        }
        if !self.flags.show_only.is_empty() {
            output = selection::show_only(&Bytes::from(output), &self.flags.show_only)?;
        }
        let mut printed = before.into_bytes();
        if let Some(files) = files {
            files.write(&mut printed)?;
        }
        printed.extend_from_slice(&output);
        terminal.print(&printed)
    }

    /// Sorts the documents into files.
    fn files(&self, directory: &str) -> Result<Files, Failure> {
        let below = if self.flags.release_name {
            Path::new(directory)
                .join(self.release_name)
                .to_string_lossy()
                .into_owned()
        } else {
            directory.to_owned()
        };
        let mut files = Files::default();
        for crd in &self.crds {
            files.add(directory, crd)?;
        }
        for document in self.manifests.iter().chain(&self.hooks) {
            files.add(&below, document)?;
        }
        Ok(files)
    }
}

/// Files that are going to be written.
#[derive(Default)]
struct Files {
    contents: BTreeMap<PathBuf, Vec<u8>>,
    /// A path for each document, as it is reported.
    reported: Vec<String>,
}

impl Files {
    fn add(&mut self, directory: &str, document: &Document<'_>) -> Result<(), Failure> {
        if !written_files::stays_inside(document.source) {
            return Err(Failure::new(format!(
                "template {:?} would be written outside of the output directory",
                document.source
            )));
        }
        let path = format!("{directory}/{}", document.source);
        let content = self.contents.entry(PathBuf::from(&path)).or_default();
        write_document(content, document.source, &document.content)?;
        self.reported.push(path);
        Ok(())
    }

    fn write(self, lines: &mut Vec<u8>) -> Result<(), Failure> {
        let files: Vec<(PathBuf, Vec<u8>)> = self.contents.into_iter().collect();
        written_files::write_all(&files)
            .map_err(|error| Failure::new(format!("cannot write the output: {error}")))?;
        for path in self.reported {
            lines.extend_from_slice(format!("wrote {path}\n").as_bytes());
        }
        Ok(())
    }
}

/// What `--debug` prints when rendered files are no objects: the files as they are.
pub(super) fn unsorted(error: &InstallationError) -> Vec<u8> {
    let mut stream = Vec::new();
    if let InstallationError::Manifest { rendered, .. } = error {
        for file in rendered
            .iter()
            .filter(|file| !trim_space(&file.content).is_empty())
        {
            // Writing to memory cannot fail.
            write_document(&mut stream, &file.name, &file.content).ok();
        }
    }
    let mut output = trim_space(&Bytes::from(stream)).to_vec();
    output.push(b'\n');
    output
}
