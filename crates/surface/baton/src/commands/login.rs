//! `baton login` and `baton logout`: what a registry is shown, kept where `docker login` keeps it.

use std::io::Read as _;

use clap::Args;
use image::credentials::{Kept, KeptLogins, Login as Shown, Secret};
use image::policy::PolicySource;
use image::surroundings::Surroundings;

use crate::data_folder::DataFolderFlag;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::instance::{self, Found, Record};
use crate::own_registry;
use crate::runtime;
use crate::terminal::Terminal;

/// The longest password that is read: tokens of cloud services have some kilobytes.
const LONGEST_PASSWORD: u64 = 64 << 10;

/// Logs in to a registry, by default that of the running `baton up`, and keeps name and password where docker login does.
#[derive(Args)]
pub(crate) struct Login {
    /// The registry, as in the names of images
    #[arg(value_name = "REGISTRY")]
    registry: Option<String>,
    /// The name to log in with
    #[arg(short, long, value_name = "NAME", requires = "registry")]
    username: Option<String>,
    /// The password; other users of this machine may see it in the list of processes
    #[arg(
        short,
        long,
        value_name = "PASSWORD",
        requires = "username",
        conflicts_with = "password_stdin"
    )]
    password: Option<String>,
    /// Read the password from standard input
    #[arg(long, requires = "username")]
    password_stdin: bool,
    #[command(flatten)]
    data: DataFolderFlag,
    #[command(flatten)]
    images: ImageFlags,
}

impl Login {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let (registry, shown) = self.chosen()?;
        let logins = logins(&self.images)?;
        let images = Images::open(&self.images, PolicySource::Optional, None)?;
        let kept = runtime::block_on(async {
            images.remote()?.log_in(&registry, shown.clone()).await?;
            Ok::<_, Failure>(logins.keep(&registry, &shown).await?)
        })?;
        match kept {
            Kept::InFile(path) => {
                terminal.remark(format!("the password is kept unencrypted in {}", path.display()));
            }
            Kept::ByHelper(program) => terminal.remark(format!("the password is kept by {program}")),
        }
        terminal.print(format!("Login Succeeded: {registry}\n").as_bytes())
    }

    /// The registry, and what it is shown.
    fn chosen(&self) -> Result<(String, Shown), Failure> {
        if let (Some(registry), Some(username)) = (&self.registry, &self.username) {
            let password = Secret::new(self.typed_password()?);
            let username = username.clone();
            return Ok((registry.clone(), Shown::Password { username, password }));
        }
        let folder = self.data.folder()?;
        let record = match instance::find(&folder)? {
            Found::Running(record) => Some(record),
            Found::Nothing | Found::Remains(_) | Found::Changing(_) => None,
        };
        let known = |record: &Record| own_registry::of(record);
        match (&self.registry, record.as_deref()) {
            (None, Some(record)) => known(record).ok_or_else(|| {
                Failure::new("the running `baton up` is of a version whose registry asks for no login")
            }),
            (None, None) => Err(Failure::new(format!(
                "no `baton up` runs in {}; start one, or name a registry: baton login REGISTRY --username NAME --password-stdin",
                folder.display()
            ))),
            (Some(registry), Some(record)) if own_registry::is_called(record, registry) => {
                let own = known(record).ok_or_else(|| Failure::new("it keeps no password"))?;
                Ok((registry.clone(), own.1))
            }
            (Some(registry), record) => {
                // That of `baton stage`, which tells nobody where it is.
                let kept = match record {
                    None => own_registry::kept_password(&folder)?,
                    Some(_) => None,
                };
                // It listens on this machine, so that no other name is told its password.
                let is_its = self.data.is_given() && image::remote::is_loopback(registry);
                let password = kept.filter(|_| is_its).ok_or_else(|| {
                    Failure::new(format!(
                        "{registry} is not the registry of a running `baton up`: give a name with --username, and the password with \
                         --password-stdin"
                    ))
                })?;
                Ok((registry.clone(), own_registry::login(password)))
            }
        }
    }

    fn typed_password(&self) -> Result<String, Failure> {
        if let Some(password) = &self.password {
            return Ok(password.clone());
        }
        if !self.password_stdin {
            return Err(Failure::new(
                "no password is given: pipe it in with --password-stdin, or give it with --password",
            ));
        }
        let mut text = String::new();
        std::io::stdin()
            .take(LONGEST_PASSWORD)
            .read_to_string(&mut text)
            .map_err(|error| {
                Failure::new(format!("cannot read the password from standard input: {error}"))
            })?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(Failure::new("the password from standard input is empty"));
        }
        Ok(text.to_owned())
    }
}

/// Forgets name and password of a registry, by default that of the running `baton up`.
#[derive(Args)]
pub(crate) struct Logout {
    /// The registry, as in the names of images
    #[arg(value_name = "REGISTRY")]
    registry: Option<String>,
    #[command(flatten)]
    data: DataFolderFlag,
    /// Forget them in this file
    #[arg(long, value_name = "FILE")]
    authfile: Option<std::path::PathBuf>,
}

impl Logout {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let registry = if let Some(registry) = self.registry {
            registry
        } else {
            let folder = self.data.folder()?;
            let found = match instance::find(&folder)? {
                Found::Running(record) => own_registry::of(&record),
                Found::Nothing | Found::Remains(_) | Found::Changing(_) => None,
            };
            let (host, _) = found.ok_or_else(|| {
                Failure::new(format!(
                    "no `baton up` runs in {}; name a registry: baton logout REGISTRY",
                    folder.display()
                ))
            })?;
            host
        };
        let logins = logins(&ImageFlags {
            authfile: self.authfile,
            ..ImageFlags::default()
        })?;
        let was_there = runtime::block_on(async { Ok::<_, Failure>(logins.forget(&registry).await?) })?;
        let told = if was_there {
            format!("Removed the login of {registry}\n")
        } else {
            format!("Not logged in to {registry}\n")
        };
        terminal.print(told.as_bytes())
    }
}

fn logins(flags: &ImageFlags) -> Result<KeptLogins, Failure> {
    let surroundings = Surroundings::of_process();
    Ok(match &flags.authfile {
        Some(file) => KeptLogins::in_file(file, &surroundings),
        None => KeptLogins::from_surroundings(&surroundings)?,
    })
}
