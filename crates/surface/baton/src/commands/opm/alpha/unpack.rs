//! `opm alpha bundle unpack`: the files of a bundle's image.

use std::fs;
use std::path::{Path, PathBuf};

use bundle::files::BundleFiles;
use bundle::validation::{OpmChecks, OptionalValues, opm_content, opm_error, opm_format};
use image::unpack::{self, Limits};

use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::{Ending, log_line};
use crate::commands::opm::flags::Flag;
use crate::commands::opm::references::cannot;
use crate::commands::opm::registries::{self, Registries};
use crate::failure::Failure;
use crate::images::Images;
use crate::named_source::NamedSource;
use crate::runtime;
use crate::terminal::Terminal;
use crate::written_files;

pub(super) fn command() -> Command {
    let mut flags = vec![
        Flag::switch("debug", "enable debug log output").letter('d'),
        Flag::switch("skip-validation", "disable bundle validation").letter('v'),
        Flag::text(
            "root-ca",
            "",
            "file path of a root CA to use when communicating with image registries",
        )
        .letter('c'),
        Flag::text(
            "out",
            "./",
            "directory in which to unpack operator bundle content",
        )
        .letter('o'),
    ];
    flags.extend(registries::own_flags());
    Command {
        line: "unpack BUNDLE_NAME[:TAG|@DIGEST]",
        short: "Unpacks the content of an operator bundle",
        long: "Unpacks the content of an operator bundle into a directory".to_owned(),
        arguments: Arguments::Exactly(1),
        flags,
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    unpack(invocation, terminal).map_err(Ending::usage)
}

fn unpack(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
    let out = Path::new(invocation.text("out"));
    match fs::metadata(out) {
        Ok(found) if !found.is_dir() => {
            return Err(Failure::new(format!("out {} is not a directory", out.display())));
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::new(cannot("stat", out, &error)));
        }
        _ => {}
    }
    let mut registries = Registries::of(invocation)?;
    let authority = invocation.text("root-ca");
    if !authority.is_empty() {
        fs::metadata(authority)
            .map_err(|error| Failure::new(cannot("open", Path::new(authority), &error)))?;
        registries.trust(authority);
    }
    let images = registries.open(true, terminal)?;
    let name = invocation.argument(0);
    let files = fetch(&images, name)?;
    if invocation.is_on("skip-validation") {
        terminal.remark(log_line(
            "info",
            "skipping bundle validation",
            &[("cmd", "unpack")],
        ));
    } else {
        check(&files, name, OpmChecks::parse("")).map_err(|fault| {
            Failure::new(match fault {
                Fault::Form(text) => format!("bundle format validation failed: {text}"),
                Fault::Content(text) => format!("bundle content validation failed: {text}"),
            })
        })?;
    }
    let written: Vec<(PathBuf, Vec<u8>)> = files
        .iter()
        .map(|(path, bytes)| (out.join(path), bytes.to_vec()))
        .collect();
    written_files::write_all(&written).map_err(|error| {
        Failure::new(format!(
            "failed to copy unpacked content to output directory: {}",
            cannot("open", out, &error)
        ))
    })
}

/// Every file of an image.
pub(super) fn fetch(images: &Images, name: &str) -> Result<BundleFiles, Failure> {
    runtime::block_on(async {
        let fetched = images.fetch(&NamedSource::Image(name.to_owned())).await?;
        let found = unpack::files(images.store()?, &fetched.manifest, &[], &Limits::IN_MEMORY)?;
        Ok(BundleFiles::from_image(found.files, found.labels))
    })
}

/// What is wrong with a bundle.
pub(super) enum Fault {
    Form(String),
    Content(String),
}

impl Fault {
    pub(super) fn text(self) -> String {
        match self {
            Self::Form(text) | Self::Content(text) => text,
        }
    }
}

/// Checks a bundle as opm does: its content only when its form is in order.
pub(super) fn check(files: &BundleFiles, location: &str, checks: OpmChecks) -> Result<(), Fault> {
    let faults = opm_format(files, location);
    if !faults.is_empty() {
        return Err(Fault::Form(opm_error(&faults)));
    }
    let values = OptionalValues::default()
        .with_categories_file(std::env::var_os("OPERATOR_BUNDLE_CATEGORIES").map(PathBuf::from));
    let faults = opm_content(files, location, checks, &values);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Fault::Content(opm_error(&faults)))
    }
}
