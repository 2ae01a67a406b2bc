//! The code that only the start of a program needs: given back when long work begins.
//!
//! Reading the command line, charts and certificates runs through a good part of the program once. Its pages stay in memory
//! until somebody else needs it, and count as this process's. A process that runs for months in a pod with a limit gives them
//! back as its work begins; what is needed again comes from the file, or from the page cache where another replica uses it.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long after the beginning of its work a process has read what it reads only once: what the server has, and what is there.
const BEGINNING: Duration = Duration::from_secs(5);

/// Gives back the pages of the program's code now, before work begins, and once more when its beginning is over.
pub(crate) fn give_back_as_work_begins() {
    give_back();
    tokio::spawn(async {
        tokio::time::sleep(BEGINNING).await;
        give_back();
    });
}

fn give_back() {
    let (Ok(program), Ok(maps)) = (
        fs::read_link("/proc/self/exe"),
        fs::read_to_string("/proc/self/maps"),
    ) else {
        return;
    };
    for (start, length) in maps.lines().filter_map(|line| code_of(line, &program)) {
        drop_pages(start, length);
    }
}

/// Returns where code of a program lies, as its first address and its length, if a line of `/proc/self/maps` is about that.
fn code_of(line: &str, program: &Path) -> Option<(usize, usize)> {
    let mut fields = line.splitn(6, ' ');
    let (range, rights) = (fields.next()?, fields.next()?);
    let path = fields.nth(3)?.trim_start();
    if rights != "r-xp" || Path::new(path) != program {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    Some((start, end.checked_sub(start)?))
}

#[expect(
    unsafe_code,
    reason = "the kernel is told about addresses, which no safe function does"
)]
fn drop_pages(start: usize, length: usize) {
    // SAFETY: the range is one that the kernel named, of a private mapping of a file that may be run but not written. So its pages
    // hold what the file holds, and are read from there when they are run again. A failure changes nothing.
    unsafe {
        libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_the_program_itself_is_found() {
        let program = Path::new("/usr/bin/a program");
        for (line, found) in [
            (
                "1000-3000 r-xp 00001000 fe:00 17                      /usr/bin/a program",
                Some((0x1000, 0x2000)),
            ),
            ("1000-3000 r--p 00001000 fe:00 17   /usr/bin/a program", None),
            ("1000-3000 rwxp 00001000 fe:00 17   /usr/bin/a program", None),
            ("1000-3000 r-xp 00001000 fe:00 17   /usr/lib/libc.so.6", None),
            ("1000-3000 r-xp 00000000 00:00 0    [vdso]", None),
            ("3000-1000 r-xp 00001000 fe:00 17   /usr/bin/a program", None),
            ("7f-", None),
            ("", None),
        ] {
            assert_eq!(code_of(line, program), found, "{line}");
        }
    }

    #[test]
    fn the_program_goes_on_without_its_pages() {
        give_back();
        let sum: u32 = (1..=100).sum();
        assert_eq!(sum, 5_050);
    }
}
