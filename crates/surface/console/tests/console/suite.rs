//! The console in a real browser.

mod browser;
mod chromium;
mod recorded;
#[expect(dead_code, reason = "the tests that need no browser use the rest of it")]
mod world;

use std::process::ExitCode;

use suite::{Group, Suite, cases};

fn main() -> ExitCode {
    // One after the other: a browser alone keeps two cores busy.
    let group = Group::free("chromium").cases(cases![
        browser::a_browser_shows_every_page_without_complaint,
        browser::everything_works_without_scripts_and_by_keyboard,
        browser::a_server_on_another_port_is_not_shown_the_cookie,
        browser::a_page_follows_the_cluster_by_itself,
    ]);
    Suite::new("console").with(group).main()
}
