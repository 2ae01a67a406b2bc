//! The log of one run of a container, in a file: each line with its time, bounded and rotated.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::logs::written_time;

/// How large a file grows before the next one begins; one old file is kept.
const LARGEST_FILE: u64 = 10 << 20;

/// How long a line is before it is cut, as container runtimes do.
pub const LONGEST_LINE: usize = 16 << 10;

/// Writes the log of one run.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    largest: u64,
}

impl LogFile {
    /// Opens the log; what it has stays.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with_limit(path, LARGEST_FILE)
    }

    fn open_with_limit(path: &Path, largest: u64) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let file = append(path)?;
        let size = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            size,
            largest,
        })
    }

    /// Adds a line, which is given without its end.
    pub fn add(&mut self, at: Timestamp, line: &[u8]) -> io::Result<()> {
        if self.size >= self.largest {
            std::fs::rename(&self.path, older(&self.path))?;
            self.file = append(&self.path)?;
            self.size = 0;
        }
        let mut whole = written_time(at).into_bytes();
        whole.push(b' ');
        whole.extend_from_slice(line);
        whole.push(b'\n');
        self.file.write_all(&whole)?;
        self.size += u64::try_from(whole.len()).unwrap_or(0);
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Removes the log of a run.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(older(path));
    let _ = std::fs::remove_file(path);
}

/// Returns what a log has, and where its newest file ends.
pub fn read(path: &Path) -> io::Result<(String, u64)> {
    let mut bytes = match std::fs::read(older(path)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let newest = std::fs::read(path)?;
    let end = u64::try_from(newest.len()).unwrap_or(0);
    bytes.extend_from_slice(&newest);
    Ok((String::from_utf8_lossy(&bytes).into_owned(), end))
}

/// Returns the whole lines that came after a place in the newest file, and the place after them.
pub fn read_more(path: &Path, from: u64) -> io::Result<(String, u64)> {
    let newest = std::fs::read(path)?;
    let start = usize::try_from(from).unwrap_or(usize::MAX);
    // A file that is shorter than the place is the next one.
    let start = if start > newest.len() { 0 } else { start };
    let rest = newest.get(start..).unwrap_or_default();
    let whole = rest
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let text = String::from_utf8_lossy(rest.get(..whole).unwrap_or_default()).into_owned();
    Ok((text, u64::try_from(start + whole).unwrap_or(from)))
}

/// Returns the lines of a log with their times.
pub fn lines(text: &str) -> impl Iterator<Item = (Timestamp, &str)> {
    text.lines().filter_map(|line| {
        let (at, line) = line.split_once(' ').unwrap_or((line, ""));
        Some((at.parse().ok()?, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_with_their_times_and_old_ones_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("c/0.log");
        let mut log = LogFile::open_with_limit(&path, 100).expect("a log");
        for number in 0..20 {
            let at = Timestamp::from_second(number).expect("a time");
            log.add(at, format!("line {number}").as_bytes()).expect("written");
        }
        let (text, _) = read(&path).expect("read");
        let all: Vec<_> = lines(&text).collect();
        assert_eq!(
            all.last(),
            Some(&(Timestamp::from_second(19).expect("a time"), "line 19"))
        );
        assert!(all.len() < 20, "the oldest lines are gone: {}", all.len());
        assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn what_came_later_is_read_line_by_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("0.log");
        let mut log = LogFile::open(&path).expect("a log");
        log.add(Timestamp::UNIX_EPOCH, b"one").expect("written");
        let (_, end) = read(&path).expect("read");
        log.add(Timestamp::UNIX_EPOCH, b"two words").expect("written");
        let (more, end) = read_more(&path, end).expect("read");
        assert_eq!(
            lines(&more).map(|(_, line)| line).collect::<Vec<_>>(),
            ["two words"]
        );
        assert_eq!(read_more(&path, end).expect("read"), (String::new(), end));
    }
}
