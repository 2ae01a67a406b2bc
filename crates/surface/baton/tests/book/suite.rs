//! The pages of the book that use kubectl or Helm, each run as a reader would; `main.rs` has the others.

mod output;
mod page;
mod playing;
mod shell;

use std::process::ExitCode;
use std::time::Duration;

use playing::{HANDS, pages_in_order, play, uses_other_programs};
use suite::{Case, Group, Suite};

/// The longest page has some dozen commands, most of which take seconds.
const LIMIT: Duration = Duration::from_mins(15);

/// Plays a page.
fn read(path: &str, text: &str, network: Option<[&'static str; 4]>) -> Result<(), String> {
    let report = play(path, text, network);
    suite::say(format_args!("{} commands were run", report.ran));
    for (reason, count) in report.not_run {
        suite::say(format_args!("not run: {count}, because: {reason}"));
    }
    if report.problems.is_empty() {
        Ok(())
    } else {
        Err(report.problems)
    }
}

fn main() -> ExitCode {
    let network = shell::own_network();
    if network.is_none() {
        eprintln!("this system gives nobody a network of their own: pages are played one after the other");
    }
    let pages = pages_in_order().into_iter();
    let cases = pages
        .filter(|(_, text)| uses_other_programs(text))
        .map(|(path, text)| Case::blocking(path.clone(), move |()| read(&path, &text, network)));
    let group = Group::free("pages")
        .at_once(network.map_or(1, |_| HANDS))
        .within(LIMIT)
        .cases(cases);
    Suite::new("book").with(group).main()
}
