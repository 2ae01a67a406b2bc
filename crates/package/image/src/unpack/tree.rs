//! The tree of an image's files while its layers are applied, in which links are followed without leaving the root.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use super::EntryProblem;

/// How many links one path may lead through: what Linux allows.
const MAX_LINKS: usize = 40;

/// How long all paths of the tree may be together: ten times those of an operating system's image.
const MAX_NAMES_BYTES: usize = 256 << 20;

/// How long a path may be after its links were followed: what Linux allows.
const MAX_RESOLVED_BYTES: usize = 4096;

/// The mode of directories that no layer has an entry for.
const DIRECTORY_MODE: u32 = 0o755;

/// Everything at a path of the image.
#[derive(Debug)]
pub(super) struct Node<C> {
    pub(super) kind: Kind<C>,
    pub(super) mode: u32,
    layer: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Kind<C> {
    Directory,
    File(C),
    Symlink(String),
}

/// Nodes by their path, in which no component is a link; every node's parents are directories of the tree.
pub(super) struct Tree<C> {
    nodes: BTreeMap<String, Node<C>>,
    layer: usize,
    /// What this layer has removed already, so that saying it a thousand times costs no thousand searches.
    removed: HashSet<String>,
    names_bytes: usize,
}

impl<C: Clone> Tree<C> {
    pub(super) fn new() -> Self {
        Self {
            nodes: BTreeMap::new(),
            layer: 0,
            removed: HashSet::new(),
            names_bytes: 0,
        }
    }

    /// What comes from here on belongs to another layer.
    pub(super) fn start_layer(&mut self, layer: usize) {
        self.layer = layer;
        self.removed.clear();
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (&String, &Node<C>)> {
        self.nodes.iter()
    }

    /// Puts something at a path, in the place of what was there.
    pub(super) fn place(&mut self, path: &str, kind: Kind<C>, mode: u32) -> Result<(), EntryProblem> {
        let path = self.resolve_parent(path)?;
        for (end, _) in path.match_indices('/') {
            let parent = path.get(..end).unwrap_or_default();
            if !self.nodes.contains_key(parent) {
                self.put(parent.to_owned(), Kind::Directory, DIRECTORY_MODE)?;
            }
        }
        let both_directories = matches!(kind, Kind::Directory)
            && matches!(self.nodes.get(&path), Some(node) if node.is_directory());
        if !both_directories {
            self.remove(&path);
        }
        self.put(path, kind, mode)
    }

    /// Puts what is at `target` also at `path`.
    pub(super) fn link(&mut self, path: &str, target: &str) -> Result<(), EntryProblem> {
        let no_target = || EntryProblem::NoLinkTarget {
            target: target.to_owned(),
        };
        let inside = self.resolve_parent(&lexical("", target))?;
        let node = self.nodes.get(&inside).filter(|node| !node.is_directory());
        let (kind, mode) = node
            .map(|node| (node.kind.clone(), node.mode))
            .ok_or_else(no_target)?;
        if self.resolve_parent(path)? == inside {
            return Ok(());
        }
        self.place(path, kind, mode)
    }

    /// Removes what lower layers have at a path.
    pub(super) fn remove_lower(&mut self, path: &str) -> Result<(), EntryProblem> {
        let path = self.resolve_parent(path)?;
        self.count_name(path.len())?;
        if !self.removed.insert(path.clone()) {
            return Ok(());
        }
        self.empty(&path);
        let has_children = self.below(&path).next().is_some();
        if !has_children && self.nodes.get(&path).is_some_and(|node| node.layer < self.layer) {
            self.nodes.remove(&path);
        }
        Ok(())
    }

    /// Removes what lower layers have below a directory.
    pub(super) fn empty_lower(&mut self, path: &str) -> Result<(), EntryProblem> {
        let path = self.resolve_parent(path)?;
        self.count_name(path.len())?;
        // Marked apart from removals, which do more.
        if self.removed.insert(format!("{path}/")) {
            self.empty(&path);
        }
        Ok(())
    }

    /// What a path leads to when all links are followed within the image.
    pub(super) fn follow(&self, path: &str) -> Option<&Kind<C>> {
        let resolved = self.resolve(path).ok()?;
        self.nodes.get(&resolved).map(|node| &node.kind)
    }

    fn put(&mut self, path: String, kind: Kind<C>, mode: u32) -> Result<(), EntryProblem> {
        let target = match &kind {
            Kind::Symlink(target) => target.len(),
            _ => 0,
        };
        self.count_name(path.len() + target)?;
        let layer = self.layer;
        self.nodes.insert(path, Node { kind, mode, layer });
        Ok(())
    }

    fn count_name(&mut self, bytes: usize) -> Result<(), EntryProblem> {
        self.names_bytes = self.names_bytes.saturating_add(bytes);
        if self.names_bytes > MAX_NAMES_BYTES {
            return Err(EntryProblem::TooManyNames {
                limit: MAX_NAMES_BYTES,
            });
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) {
        if let Some(node) = self.nodes.remove(path)
            && node.is_directory()
        {
            let below: Vec<_> = self.below(path).cloned().collect();
            for path in below {
                self.nodes.remove(&path);
            }
        }
    }

    /// Removes lower layers' nodes below a directory, except the directories that this layer's nodes lie in.
    fn empty(&mut self, directory: &str) {
        // From the end, so that a directory is looked at after everything in it.
        let mut below: Vec<_> = self.below(directory).cloned().collect();
        let mut kept: Option<String> = None;
        while let Some(path) = below.pop() {
            let is_lower = self.nodes.get(&path).is_some_and(|node| node.layer < self.layer);
            let holds_kept = kept.as_deref().is_some_and(|kept| {
                kept.strip_prefix(&*path)
                    .is_some_and(|rest| rest.starts_with('/'))
            });
            if is_lower && !holds_kept {
                self.nodes.remove(&path);
            } else {
                kept = Some(path);
            }
        }
    }

    fn below(&self, directory: &str) -> impl Iterator<Item = &String> {
        let (start, end) = if directory.is_empty() {
            (Bound::Unbounded, Bound::Unbounded)
        } else {
            // '0' is the character after '/'.
            (
                Bound::Included(format!("{directory}/")),
                Bound::Excluded(format!("{directory}0")),
            )
        };
        self.nodes.range::<String, _>((start, end)).map(|(path, _)| path)
    }

    /// The path with all links followed but the last component, which may be one.
    fn resolve_parent(&self, path: &str) -> Result<String, EntryProblem> {
        match path.rsplit_once('/') {
            None => Ok(path.to_owned()),
            Some((parent, base)) => {
                let parent = self.resolve(parent)?;
                if let Some(node) = self.nodes.get(&parent)
                    && !node.is_directory()
                {
                    return Err(EntryProblem::ParentIsFile { path: parent });
                }
                join(&parent, base)
            }
        }
    }

    /// The path with all links followed; `..` at the root stays there, as for a process whose root it is.
    fn resolve(&self, path: &str) -> Result<String, EntryProblem> {
        let mut ahead: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let mut resolved = String::new();
        let mut links = 0;
        while let Some(component) = ahead.pop() {
            match &*component {
                "" | "." => continue,
                ".." => {
                    let end = resolved.rfind('/').unwrap_or(0);
                    resolved.truncate(end);
                    continue;
                }
                _ => {}
            }
            let next = join(&resolved, &component)?;
            match self.nodes.get(&next).map(|node| &node.kind) {
                Some(Kind::Symlink(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(EntryProblem::TooManyLinks);
                    }
                    if target.starts_with('/') {
                        resolved.clear();
                    }
                    ahead.extend(target.rsplit('/').map(str::to_owned));
                }
                Some(Kind::File(_)) if !ahead.is_empty() => {
                    return Err(EntryProblem::ParentIsFile { path: next });
                }
                _ => resolved = next,
            }
        }
        Ok(resolved)
    }
}

impl<C> Node<C> {
    fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory)
    }
}

fn join(parent: &str, base: &str) -> Result<String, EntryProblem> {
    let path = if parent.is_empty() {
        base.to_owned()
    } else {
        format!("{parent}/{base}")
    };
    if path.len() > MAX_RESOLVED_BYTES {
        return Err(EntryProblem::Malformed("its path is longer than 4096 bytes"));
    }
    Ok(path)
}

/// Where `target` leads from `directory` by its text alone, staying within the root.
pub(super) fn lexical(directory: &str, target: &str) -> String {
    let mut components: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        directory
            .split('/')
            .filter(|component| !component.is_empty())
            .collect()
    };
    for component in target.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop();
            }
            _ => components.push(component),
        }
    }
    components.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(tree: &Tree<u8>) -> Vec<&str> {
        tree.nodes().map(|(path, _)| path.as_str()).collect()
    }

    fn file(tree: &mut Tree<u8>, path: &str) {
        tree.place(path, Kind::File(0), 0o644).unwrap();
    }

    #[test]
    fn an_emptied_directory_keeps_what_its_own_layer_has() {
        let mut tree = Tree::new();
        file(&mut tree, "d/lower");
        file(&mut tree, "d/deep/lower");
        file(&mut tree, "d.txt");
        tree.start_layer(1);
        file(&mut tree, "d/deep/upper");
        tree.empty_lower("d").unwrap();
        assert_eq!(paths(&tree), ["d", "d.txt", "d/deep", "d/deep/upper"]);
        tree.start_layer(2);
        tree.empty_lower("").unwrap();
        assert_eq!(paths(&tree), [""; 0]);
    }

    #[test]
    fn what_is_removed_is_what_lower_layers_have_in_whatever_order_a_layer_says_it() {
        for removed_first in [true, false] {
            let mut tree = Tree::new();
            file(&mut tree, "d/lower");
            file(&mut tree, "f");
            tree.start_layer(1);
            if removed_first {
                tree.remove_lower("d").unwrap();
            }
            file(&mut tree, "d/upper");
            if !removed_first {
                tree.remove_lower("d").unwrap();
            }
            tree.remove_lower("f").unwrap();
            tree.remove_lower("nothing").unwrap();
            assert_eq!(paths(&tree), ["d", "d/upper"]);
        }
    }

    #[test]
    fn links_are_followed_within_the_root() {
        let mut tree = Tree::new();
        file(&mut tree, "real/file");
        for (path, target) in [
            ("absolute", "/real"),
            ("climbing", "../../../real"),
            ("real/up", ".."),
            ("chain", "absolute/up/climbing"),
        ] {
            tree.place(path, Kind::Symlink(target.to_owned()), 0o777).unwrap();
        }
        for path in [
            "absolute/file",
            "climbing/file",
            "chain/file",
            "real/up/real/file",
        ] {
            assert!(matches!(tree.follow(path), Some(Kind::File(0))), "{path}");
        }
        file(&mut tree, "chain/new");
        assert!(matches!(tree.follow("real/new"), Some(Kind::File(0))));
        assert!(matches!(
            tree.place("real/file/below", Kind::File(0), 0o644),
            Err(EntryProblem::ParentIsFile { .. })
        ));
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let mut tree = Tree::new();
        for (path, target) in [("a", "b"), ("b", "a"), ("c", "c/c")] {
            tree.place(path, Kind::Symlink(target.to_owned()), 0o777).unwrap();
        }
        for path in ["a/x", "c/x"] {
            assert!(
                matches!(
                    tree.place(path, Kind::File(0), 0o644),
                    Err(EntryProblem::TooManyLinks)
                ),
                "{path}"
            );
        }
        assert!(tree.follow("a").is_none());
    }

    #[test]
    fn a_hard_link_shares_what_is_there_and_refuses_what_is_not() {
        let mut tree = Tree::new();
        tree.place("d/file", Kind::File(7), 0o600).unwrap();
        tree.link("copy", "/d/../d/file").unwrap();
        tree.link("copy", "copy").unwrap();
        assert!(matches!(tree.follow("copy"), Some(Kind::File(7))));
        for target in ["missing", "d", "../../etc/passwd"] {
            assert!(
                matches!(tree.link("x", target), Err(EntryProblem::NoLinkTarget { .. })),
                "{target}"
            );
        }
    }

    #[test]
    fn what_comes_last_counts() {
        let mut tree = Tree::new();
        file(&mut tree, "x/below");
        file(&mut tree, "x");
        assert_eq!(paths(&tree), ["x"]);
        tree.place("x", Kind::Directory, 0o700).unwrap();
        file(&mut tree, "x/below");
        tree.place("x", Kind::Directory, 0o750).unwrap();
        assert_eq!(paths(&tree), ["x", "x/below"]);
        tree.place("x", Kind::Symlink("y".to_owned()), 0o777).unwrap();
        assert_eq!(paths(&tree), ["x"]);
    }
}
