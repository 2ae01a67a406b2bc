//! Images between the embedded registry, layouts, and the tools that people have: skopeo, docker, and Debian's docker-registry.

mod attached;
mod layouts;
mod registries;

use std::process::ExitCode;

use suite::{Group, Suite, blocking_cases, cases};

fn main() -> ExitCode {
    let layouts = Group::free("layouts").cases(blocking_cases![
        layouts::skopeo_reads_what_is_written_and_its_copies_are_read_again,
    ]);
    let registries = Group::free("registries").at_once(2).cases(cases![
        registries::skopeo_copies_in_and_out_inspects_lists_and_deletes,
        registries::skopeo_logs_in_over_tls_and_is_told_what_is_published,
        registries::images_go_to_debian_s_registry_and_back_unchanged,
        registries::a_registry_without_a_list_gets_one_under_a_tag,
        registries::skopeo_reads_without_a_password_and_writes_with_it_alone,
        registries::docker_logs_in_with_the_right_password_alone,
    ]);
    Suite::new("peers").with(layouts).with(registries).main()
}
