//! What the model was shown of files, and so what it may change in them. Edits by a model that never saw the place, or
//! saw another version of it, are guesses; they are refused before anybody is asked about them.
//!
//! The turn machine keeps one for its session and fills it with each result that is stored; nothing here reads a file.

use crate::tool::call::FileChange;
use crate::tool::outcome::EditedFile;
use crate::tool::projection::Shown;
use crate::tool::projection::call::{call, short_version};
use crate::workspace::FileVersion;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Stretches that a refusal names; the reader of more would do better to read the whole file.
const MAX_TOLD: usize = 4;

/// What was shown, by canonical path: of each file its newest shown version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    files: BTreeMap<String, File>,
    /// How often something was shown.
    count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct File {
    version: String,
    /// When it was shown last: how often anything had been before.
    at: u64,
    lines: Ranges,
    /// Lines of which only a part was shown.
    cut: BTreeSet<u64>,
}

/// Stretches of lines, first and how many: ascending, none empty, none touching another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Ranges(Vec<(u64, u64)>);

impl Seen {
    /// What these showed, one after the other.
    pub fn of(shown: &[Shown]) -> Self {
        let mut seen = Self::default();
        for shown in shown {
            seen.add(shown);
        }
        seen
    }

    /// A result showed this. Another version than the one before takes its place.
    pub fn add(&mut self, shown: &Shown) {
        self.count += 1;
        let file = self.files.entry(shown.path.clone()).or_default();
        file.at = self.count;
        if file.version != shown.version {
            *file = File { version: shown.version.clone(), at: file.at, ..File::default() };
        }
        let whole: Vec<u64> = file.cut.iter().copied().filter(|line| shown.has_whole(*line)).collect();
        file.cut.retain(|line| !whole.contains(line));
        let known = |file: &File, line: u64| file.lines.has(line) && !file.cut.contains(&line);
        let cut: Vec<u64> = shown.cut.iter().copied().filter(|line| !known(file, *line)).collect();
        file.cut.extend(cut);
        file.lines.add(&shown.lines);
    }

    /// Whether anything of the file at this canonical path was shown.
    pub fn knows(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The files that were shown last, at most so many, newest first, each in the version that was shown.
    pub fn known(&self, most: usize) -> Vec<(String, FileVersion)> {
        let mut files: Vec<(&String, &File)> = self.files.iter().collect();
        files.sort_unstable_by_key(|(_, file)| std::cmp::Reverse(file.at));
        let known = |(path, file): (&String, &File)| Some((path.clone(), file.version.clone().try_into().ok()?));
        files.into_iter().take(most).filter_map(known).collect()
    }

    /// The version of a file that was shown last.
    pub fn version(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| file.version.as_str())
    }

    /// What is known of a file that was edited: of what was shown before everything that the edit left, and what the
    /// call wrote. None of a file that is gone.
    pub fn after(&self, edited: &EditedFile) -> Option<Shown> {
        let change = &edited.change;
        let version = change.after.clone()?;
        let path = change.path.clone();
        let total = edited.lines_after;
        if change.whole || change.before.is_none() {
            return Some(Shown { path, version, lines: all(total), cut: Vec::new(), total });
        }
        let before = self.files.get(&change.path).filter(|file| Some(&file.version) == change.before.as_ref());
        let mut lines = Ranges::default();
        let mut cut = Vec::new();
        if let Some(file) = before
            && change.touches.len() == edited.wrote.len()
        {
            let places: Vec<((u64, u64), u64)> =
                change.touches.iter().copied().zip(edited.wrote.iter().map(|(_, count)| *count)).collect();
            lines.add(&file.lines.moved(&places));
            let single = |line: u64| Ranges(vec![(line, 1)]).moved(&places);
            cut = file.cut.iter().flat_map(|line| single(*line)).map(|(line, _)| line).collect();
        }
        lines.add(&edited.wrote);
        Some(Shown { path, version, lines: lines.0, cut, total })
    }

    /// Whether the model may make this change by what it was shown; else why not, and what to do.
    pub fn admits(&self, change: &FileChange) -> Result<(), String> {
        let Some(before) = &change.before else { return Ok(()) };
        // Nothing is lost with a file that goes, whose bytes are kept, nor with an empty one.
        if change.after.is_none() || (change.whole && change.lines_before == 0) {
            return Ok(());
        }
        let path = &change.shown;
        let read = |first: u64, count: u64| {
            call("read_file", &[("target_file", json!(path)), ("offset", json!(first)), ("limit", json!(count))])
        };
        let read_all = call("read_file", &[("target_file", json!(path))]);
        let Some(file) = self.files.get(&change.path) else {
            let part =
                if change.whole { "It would be replaced as a whole: read it" } else { "Read the part to change" };
            let how = match change.touches.first() {
                Some((first, count)) if !change.whole => read(first.saturating_sub(10).max(1), count + 20),
                _ => read_all,
            };
            return Err(format!("{path} was not shown in this session. {part} first: {how}"));
        };
        if file.version != *before {
            if change.anchored && !change.whole {
                return Ok(());
            }
            return Err(format!(
                "{path} has changed since it was shown: version {} was shown, it is {} now. Read it again: {read_all}",
                short_version(&file.version),
                short_version(before)
            ));
        }
        let unseen = if change.whole {
            let mut unseen = file.lines.missing(1, change.lines_before);
            unseen.extend(file.cut.iter().map(|line| (*line, 1)));
            unseen
        } else {
            change.touches.iter().flat_map(|place| file.unseen(*place, change.lines_before)).collect()
        };
        let Some((first, count)) = unseen.first().copied() else { return Ok(()) };
        let told: Vec<String> = unseen.iter().take(MAX_TOLD).map(|range| stretch(*range)).collect();
        let more = if unseen.len() > MAX_TOLD { ", …" } else { "" };
        let what = if change.whole {
            format!(
                "all {} lines of {path} would be replaced, and {}{more} of them were not shown. Change parts with \
                 string_replace, or read the rest first",
                change.lines_before,
                told.join(", ")
            )
        } else {
            format!("of {path} {}{more} must be shown before the edit", told.join(", "))
        };
        Err(format!("{what}: {}", read(first, count)))
    }
}

impl File {
    /// Which of the lines of a place were not shown. Of an insertion one of its neighbours must have been.
    fn unseen(&self, (first, count): (u64, u64), total: u64) -> Vec<(u64, u64)> {
        if count > 0 {
            return self.lines.missing(first, count);
        }
        let beside = [first.saturating_sub(1), first].into_iter().filter(|line| (1..=total).contains(line));
        let mut beside = beside.peekable();
        let Some(near) = beside.peek().copied() else { return Vec::new() };
        if beside.any(|line| self.lines.has(line)) { Vec::new() } else { vec![(near, 1)] }
    }
}

impl Shown {
    fn has_whole(&self, line: u64) -> bool {
        let within = self.lines.iter().any(|(first, count)| (*first..first + count).contains(&line));
        within && !self.cut.contains(&line)
    }
}

impl Ranges {
    fn add(&mut self, ranges: &[(u64, u64)]) {
        let mut all: Vec<(u64, u64)> = self.0.iter().chain(ranges).copied().filter(|(_, count)| *count > 0).collect();
        all.sort_unstable();
        self.0.clear();
        for (first, count) in all {
            match self.0.last_mut() {
                Some((start, length)) if *start + *length >= first => {
                    *length = (*length).max((first + count).saturating_sub(*start));
                }
                _ => self.0.push((first, count)),
            }
        }
    }

    fn has(&self, line: u64) -> bool {
        self.missing(line, 1).is_empty()
    }

    /// The stretches of these lines that are not within.
    fn missing(&self, first: u64, count: u64) -> Vec<(u64, u64)> {
        let end = first + count;
        let mut missing = Vec::new();
        let mut at = first;
        for (start, length) in &self.0 {
            if *start >= end {
                break;
            }
            if *start > at {
                missing.push((at, start - at));
            }
            at = at.max(start + length);
        }
        if at < end {
            missing.push((at, end - at));
        }
        missing
    }

    /// What is left of them, with the numbers that they have then, when each place (lines, ascending) becomes so many.
    fn moved(&self, places: &[((u64, u64), u64)]) -> Vec<(u64, u64)> {
        let mut moved = Vec::new();
        let (mut from, mut to) = (1, 1);
        let end = ((u64::MAX, 0), 0);
        for ((first, count), written) in places.iter().copied().chain([end]) {
            // The lines from `from` up to the place stand at `to` then.
            for (start, length) in &self.0 {
                let (low, high) = ((*start).max(from), (start + length).min(first));
                if low < high {
                    moved.push((low - from + to, high - low));
                }
            }
            to = to.saturating_add(first.saturating_sub(from)).saturating_add(written);
            from = first.saturating_add(count);
        }
        moved
    }
}

fn all(total: u64) -> Vec<(u64, u64)> {
    if total == 0 { Vec::new() } else { vec![(1, total)] }
}

fn stretch((first, count): (u64, u64)) -> String {
    match count {
        1 => format!("line {first}"),
        _ => format!("lines {first}-{}", first + count - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_were_shown_last_come_first() {
        let shown = |path: &str, version: u8| Shown {
            path: path.into(),
            version: FileVersion([version; 16]).to_string(),
            ..shown("", &[(1, 1)], 1)
        };
        let odd = Shown { version: "v".into(), ..shown("/w/odd", 0) };
        let seen = Seen::of(&[shown("/w/a", 1), odd, shown("/w/b", 2), shown("/w/a", 3)]);
        let known = |path: &str, version: u8| (path.to_owned(), FileVersion([version; 16]));
        assert_eq!(seen.known(3), [known("/w/a", 3), known("/w/b", 2)]);
        assert_eq!(seen.known(1), [known("/w/a", 3)]);
    }

    fn shown(version: &str, lines: &[(u64, u64)], total: u64) -> Shown {
        Shown { path: "/w/a".into(), version: version.into(), lines: lines.to_vec(), cut: Vec::new(), total }
    }

    fn change(touches: &[(u64, u64)]) -> FileChange {
        FileChange {
            path: "/w/a".into(),
            shown: "a".into(),
            before: Some("v1".into()),
            after: Some("v2".into()),
            touches: touches.to_vec(),
            lines_before: 100,
            ..FileChange::default()
        }
    }

    fn refused(seen: &Seen, change: &FileChange, expected: &str) {
        assert_eq!(seen.admits(change), Err(expected.to_owned()));
    }

    #[test]
    fn lines_that_were_shown_may_be_changed() {
        let mut seen = Seen::of(&[shown("v1", &[(1, 10), (50, 10)], 100)]);
        assert_eq!(seen.admits(&change(&[(3, 2), (50, 10)])), Ok(()));
        refused(
            &seen,
            &change(&[(3, 2), (9, 4)]),
            r#"of a lines 11-12 must be shown before the edit: read_file {"target_file":"a","offset":11,"limit":2}"#,
        );
        seen.add(&shown("v1", &[(11, 10)], 100));
        assert_eq!(seen.admits(&change(&[(9, 4)])), Ok(()));
        // An insertion needs a line beside it.
        assert_eq!(seen.admits(&change(&[(21, 0)])), Ok(()));
        assert_eq!(seen.admits(&change(&[(50, 0)])), Ok(()));
        assert!(seen.admits(&change(&[(30, 0)])).is_err());
    }

    #[test]
    fn a_file_that_was_not_shown_may_be_deleted_or_made_but_not_changed() {
        let seen = Seen::default();
        let deleted = FileChange { after: None, whole: true, ..change(&[(1, 100)]) };
        let made = FileChange { before: None, whole: true, lines_before: 0, ..change(&[]) };
        assert_eq!((seen.admits(&deleted), seen.admits(&made)), (Ok(()), Ok(())));
        let anchored = FileChange { anchored: true, ..change(&[(40, 1)]) };
        refused(
            &seen,
            &anchored,
            "a was not shown in this session. Read the part to change first: \
             read_file {\"target_file\":\"a\",\"offset\":30,\"limit\":21}",
        );
        let written = FileChange { whole: true, ..change(&[(1, 100)]) };
        refused(
            &seen,
            &written,
            "a was not shown in this session. It would be replaced as a whole: read it first: \
             read_file {\"target_file\":\"a\"}",
        );
    }

    #[test]
    fn a_file_that_changed_since_is_refused_unless_the_text_is_its_own_anchor() {
        let seen = Seen::of(&[shown("v0", &[(1, 100)], 100)]);
        let expected = "a has changed since it was shown: version v0 was shown, it is v1 now. Read it again: \
                        read_file {\"target_file\":\"a\"}";
        refused(&seen, &change(&[(1, 1)]), expected);
        refused(&seen, &FileChange { whole: true, anchored: true, ..change(&[(1, 100)]) }, expected);
        assert_eq!(seen.admits(&FileChange { anchored: true, ..change(&[(1, 1)]) }), Ok(()));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_only_when_all_of_it_was_shown() {
        let whole = FileChange { whole: true, ..change(&[(1, 100)]) };
        let mut seen = Seen::of(&[shown("v1", &[(1, 40), (61, 40)], 100)]);
        refused(
            &seen,
            &whole,
            "all 100 lines of a would be replaced, and lines 41-60 of them were not shown. Change parts with \
             string_replace, or read the rest first: read_file {\"target_file\":\"a\",\"offset\":41,\"limit\":20}",
        );
        let cut = Shown { cut: vec![50], ..shown("v1", &[(41, 20)], 100) };
        seen.add(&cut);
        assert!(seen.admits(&whole).unwrap_err().contains("and line 50 of them were not shown"));
        seen.add(&shown("v1", &[(50, 1)], 100));
        seen.add(&cut);
        assert_eq!(seen.admits(&whole), Ok(()));
    }

    #[test]
    fn what_an_edit_left_and_wrote_is_known_of_the_new_version() {
        let seen = Seen::of(&[shown("v1", &[(1, 10), (50, 10)], 100)]);
        let edited = |touches: &[(u64, u64)], wrote: &[(u64, u64)], lines_after| EditedFile {
            change: change(touches),
            lines_after,
            wrote: wrote.to_vec(),
        };
        let after = seen.after(&edited(&[(3, 2), (55, 1)], &[(3, 5), (58, 0)], 102));
        assert_eq!(after, Some(shown("v2", &[(1, 13), (53, 9)], 102)));
        // Text put in between lines that were not shown.
        let after = seen.after(&edited(&[(30, 0)], &[(30, 2)], 102));
        assert_eq!(after, Some(shown("v2", &[(1, 10), (30, 2), (52, 10)], 102)));
        // Of a version that was not shown only what was written is known.
        let other = Seen::of(&[shown("v0", &[(1, 100)], 100)]);
        assert_eq!(other.after(&edited(&[(3, 2)], &[(3, 5)], 103)), Some(shown("v2", &[(3, 5)], 103)));
        let written = EditedFile {
            change: FileChange { whole: true, ..change(&[(1, 100)]) },
            lines_after: 7,
            wrote: vec![(1, 7)],
        };
        assert_eq!(other.after(&written), Some(shown("v2", &[(1, 7)], 7)));
        let deleted = EditedFile { change: FileChange { after: None, ..change(&[]) }, ..EditedFile::default() };
        assert_eq!(other.after(&deleted), None);
    }

    #[test]
    fn a_cut_line_moves_with_the_others() {
        let seen = Seen::of(&[Shown { cut: vec![2, 9], ..shown("v1", &[(1, 10)], 10) }]);
        let edited = EditedFile { change: change(&[(2, 1)]), lines_after: 11, wrote: vec![(2, 2)] };
        assert_eq!(seen.after(&edited), Some(Shown { cut: vec![10], ..shown("v2", &[(1, 11)], 11) }));
    }
}
