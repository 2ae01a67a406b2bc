//! `baton down`: stops the `baton up` of a folder.

use std::time::Duration;

use clap::Args;

use crate::data_folder::DataFolderFlag;
use crate::failure::Failure;
use crate::instance::{self, Found};
use crate::terminal::Terminal;

/// Stops what `baton up` started, and waits until it has ended; that nothing runs is as good.
#[derive(Args)]
pub(crate) struct Down {
    #[command(flatten)]
    data: DataFolderFlag,
    /// How long to wait, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

impl Down {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let folder = self.data.folder()?;
        let found = instance::find(&folder)?;
        if let Some(process) = found.process() {
            instance::stop(&folder, process, Duration::from_secs(self.timeout))?;
        }
        if matches!(found, Found::Remains(_)) {
            instance::forget(&folder);
        }
        let folder = folder.display();
        terminal.print(
            match &found {
                Found::Nothing => format!("nothing is up in {folder}\n"),
                Found::Remains(record) => format!(
                    "nothing is up in {folder}: process {} ended without a word, and what it left is cleared away\n",
                    record.process
                ),
                Found::Changing(process) => format!("stopped process {process} while it was starting or ending\n"),
                Found::Running(record) => format!(
                    "stopped process {}: the API at {}, the registry at {}, the controllers and the console\n{}\n",
                    record.process,
                    record.api,
                    record.registry,
                    if record.in_memory {
                        "nothing is left of it".to_owned()
                    } else {
                        format!("{folder} keeps everything until the next `baton up`")
                    }
                ),
            }
            .as_bytes(),
        )
    }
}
