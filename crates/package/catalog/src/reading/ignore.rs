//! `.indexignore`: which files of a catalog's directory are not part of the catalog, in the syntax of `.gitignore`.

use chart::path_pattern;

/// The name of the files with patterns; each counts for its own directory and what lies below.
pub(super) const FILE_NAME: &str = ".indexignore";

/// The patterns of all files, in the order in which the files are found.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    /// The directory that the pattern counts for.
    domain: Vec<String>,
    parts: Vec<String>,
    includes: bool,
    directories_only: bool,
}

impl Ignored {
    /// Adds the patterns of the file at `path`.
    pub(super) fn add(&mut self, path: &str, content: &[u8]) {
        let mut domain: Vec<String> = path.split('/').map(str::to_owned).collect();
        domain.pop();
        let content = String::from_utf8_lossy(content);
        for line in content.lines() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                self.patterns.push(Pattern::parse(line, &domain));
            }
        }
    }

    /// Returns whether the file at `path` is ignored: the last pattern that matches decides.
    pub(super) fn covers(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        self.patterns
            .iter()
            .rev()
            .find(|pattern| pattern.matches(&parts))
            .is_some_and(|pattern| !pattern.includes)
    }
}

impl Pattern {
    fn parse(line: &str, domain: &[String]) -> Self {
        let (includes, mut line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        if !line.ends_with("\\ ") {
            line = line.trim_end_matches(' ');
        }
        let directories_only = line.ends_with('/');
        if directories_only {
            line = line.strip_suffix('/').unwrap_or(line);
        }
        Self {
            domain: domain.to_vec(),
            parts: line.split('/').map(str::to_owned).collect(),
            includes,
            directories_only,
        }
    }

    fn matches(&self, path: &[&str]) -> bool {
        let Some((domain, path)) = path.split_at_checked(self.domain.len()) else {
            return false;
        };
        if path.is_empty() || domain.iter().ne(self.domain.iter()) {
            return false;
        }
        match self.parts.as_slice() {
            [name] => self.matches_a_name(name, path),
            parts => self.matches_the_path(parts, path),
        }
    }

    /// A pattern without a slash matches the file or any directory above it.
    fn matches_a_name(&self, pattern: &str, path: &[&str]) -> bool {
        for (index, name) in path.iter().enumerate() {
            match path_pattern::matches(pattern, name) {
                Err(_) => return false,
                Ok(false) => {}
                Ok(true) => return !(self.directories_only && index + 1 == path.len()),
            }
        }
        false
    }

    /// A pattern with a slash matches from the directory of its file on; `**` stands for any directories.
    fn matches_the_path(&self, parts: &[String], mut path: &[&str]) -> bool {
        let mut matched = false;
        let mut any_directories = false;
        for (index, part) in parts.iter().enumerate() {
            if part.is_empty() {
                any_directories = false;
                continue;
            }
            if part == "**" {
                if index + 1 == parts.len() {
                    break;
                }
                any_directories = true;
                continue;
            }
            if part.contains("**") || path.is_empty() {
                return false;
            }
            if any_directories {
                any_directories = false;
                while let Some((name, rest)) = path.split_first() {
                    path = rest;
                    match path_pattern::matches(part, name) {
                        Err(_) => return false,
                        Ok(true) => {
                            matched = true;
                            break;
                        }
                        Ok(false) if path.is_empty() => matched = false,
                        Ok(false) => {}
                    }
                }
            } else {
                let Some((name, rest)) = path.split_first() else {
                    return false;
                };
                if !path_pattern::matches(part, name).unwrap_or(false) {
                    return false;
                }
                matched = true;
                path = rest;
            }
        }
        matched && !(self.directories_only && path.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pattern_that_matches_decides() {
        let mut ignored = Ignored::default();
        ignored.add(
            ".indexignore",
            b"*.md\n# comment\n\n!/keep.md\nbuild/\n  spaced.txt  \n",
        );
        ignored.add("sub/.indexignore", b"/top.json\na/**/z.json\n");
        for (path, expected) in [
            ("README.md", true),
            ("deep/er/README.md", true),
            ("keep.md", false),
            ("sub/keep.md", true),
            ("build/x.json", true),
            ("build", false),
            ("spaced.txt", true),
            ("sub/top.json", true),
            ("top.json", false),
            ("sub/x/top.json", false),
            ("sub/a/z.json", true),
            ("sub/a/b/c/z.json", true),
            ("sub/b/z.json", false),
        ] {
            assert_eq!(ignored.covers(path), expected, "{path}");
        }
    }

    #[test]
    fn a_pattern_that_is_none_matches_nothing() {
        let mut ignored = Ignored::default();
        ignored.add(".indexignore", b"[\n/[/x\n");
        assert!(!ignored.covers("["));
        assert!(!ignored.covers("[/x"));
    }
}
