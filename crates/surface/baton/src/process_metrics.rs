//! What the system knows of this process, under the names that every Prometheus client has for it.

use std::fmt::Write as _;

use rustix::time::{ClockId, clock_gettime};

/// How many ticks a second of `/proc` has, on every Linux that Kubernetes runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What is read of the system.
#[derive(Debug, Clone, Default)]
struct Reading {
    /// `/proc/self/stat`.
    stat: String,
    /// `/proc/self/status`.
    status: String,
    /// `/proc/self/limits`.
    limits: String,
    /// `/proc/stat`.
    machine: String,
    open_files: usize,
    processor_seconds: f64,
}

impl Reading {
    fn now() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let spent = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            stat: read("/proc/self/stat"),
            status: read("/proc/self/status"),
            limits: read("/proc/self/limits"),
            machine: read("/proc/stat"),
            open_files: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            processor_seconds: spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9,
        }
    }
}

/// What the system knows of this process, in the text format of Prometheus.
pub(crate) fn text() -> String {
    told(&Reading::now())
}

fn told(reading: &Reading) -> String {
    // The program's name is in parentheses and may hold anything; what follows is numbers, the third field first.
    let fields: Vec<&str> = reading
        .stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<f64>().ok());
    let kilobytes = |name: &str| {
        let line = reading.status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        number.map(|number| number * 1024.0)
    };
    let booted = reading
        .machine
        .lines()
        .find_map(|line| line.strip_prefix("btime "))
        .and_then(|text| text.trim().parse::<f64>().ok());
    let most_files = reading
        .limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    let started = booted
        .zip(field(22))
        .map(|(booted, ticks)| booted + ticks / TICKS_PER_SECOND);
    let mut text = String::new();
    for (name, kind, meaning, value) in [
        (
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds.",
            Some(reading.processor_seconds),
        ),
        (
            "process_max_fds",
            "gauge",
            "Maximum number of open file descriptors.",
            most_files,
        ),
        (
            "process_open_fds",
            "gauge",
            "Number of open file descriptors.",
            Some(reading.open_files as f64),
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory size in bytes.",
            kilobytes("VmRSS:"),
        ),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time of the process since unix epoch in seconds.",
            started,
        ),
        (
            "process_virtual_memory_bytes",
            "gauge",
            "Virtual memory size in bytes.",
            kilobytes("VmSize:"),
        ),
    ] {
        if let Some(value) = value {
            // Writing to a text can't fail.
            let _ = writeln!(
                text,
                "# HELP {name} {meaning}\n# TYPE {name} {kind}\n{name} {value}"
            );
        }
    }
    let _ = writeln!(
        text,
        "# HELP baton_build_info The version of baton that runs.\n# TYPE baton_build_info gauge\nbaton_build_info{{version=\"{}\"}} 1",
        env!("CARGO_PKG_VERSION")
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_behind_any_name_of_the_program() {
        let mut fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        fields[0] = "S".to_owned();
        let reading = Reading {
            stat: format!("1 (a ) b) {}", fields.join(" ")),
            status: "Name:\ta\nVmSize:\t  46 kB\nVmRSS:\t  24 kB\n".to_owned(),
            limits: "Limit  Soft\nMax open files            1024   4096   files\n".to_owned(),
            machine: "cpu 1 2\nbtime 1000\n".to_owned(),
            open_files: 7,
            processor_seconds: 1.5,
        };
        let text = told(&reading);
        for line in [
            "process_cpu_seconds_total 1.5",
            "process_max_fds 1024",
            "process_open_fds 7",
            "process_start_time_seconds 1000.22",
            "process_resident_memory_bytes 24576",
            "process_virtual_memory_bytes 47104",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
    }

    #[test]
    fn what_the_system_does_not_tell_is_left_out() {
        let text = told(&Reading::default());
        assert!(!text.contains("process_max_fds") && text.contains("baton_build_info"));
    }

    #[test]
    fn this_process_has_all_of_them() {
        let text = text();
        for name in [
            "process_start_time_seconds ",
            "process_resident_memory_bytes ",
            "process_max_fds ",
        ] {
            assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
        }
    }
}
