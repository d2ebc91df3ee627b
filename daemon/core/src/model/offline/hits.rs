//! Reads back what the tools gave: counts per file of a search, numbered lines of a file.
//!
//! It knows the forms of the projections and is tolerant of everything else: a line that it can't read is not there.

/// A file in which a search found something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHits {
    /// The path as the tools show and take it.
    pub path: String,
    /// Lines that matched.
    pub count: u64,
}

/// A numbered line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// From 1.
    pub no: u64,
    /// Without its line end.
    pub text: &'a str,
}

/// The files of a search that counted: lines of a path, a tab, and a count.
pub fn counts(result: &str) -> Vec<FileHits> {
    let file = |line: &str| {
        let (path, count) = line.rsplit_once('\t')?;
        let count = count.trim().parse().ok().filter(|count| *count > 0)?;
        (!path.is_empty()).then(|| FileHits { path: path.to_owned(), count })
    };
    result.lines().filter_map(file).collect()
}

/// The lines of a file that was read: `LINE|text`.
pub fn lines(result: &str) -> Vec<Line<'_>> {
    let line = |line| {
        let (no, text) = str::split_once(line, '|')?;
        let no = no.trim_start().parse().ok()?;
        Some(Line { no, text })
    };
    result.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_and_all_else_is_left() {
        let result = "[grep ok \u{b7} x \u{b7} 5 matches in 3 files \u{b7} e/c1@r1]\nsrc/a b.rs\t3\nREADME.md\t2\nodd\tx\n\t4\n\
                      zero\t0\n[files 3-9 of the result not shown: grep {\"cursor\":\"c1:2\"}]";
        assert_eq!(
            counts(result),
            [FileHits { path: "src/a b.rs".into(), count: 3 }, FileHits { path: "README.md".into(), count: 2 }]
        );
        assert_eq!(counts("[grep ok]\nNo matches."), []);
    }

    #[test]
    fn numbered_lines_are_read_and_notices_are_left() {
        let result =
            "[read_file ok \u{b7} a.rs \u{b7} lines 9-10 of 10]\n9|fn a() {\n10|a | b\n[line 3 not shown: x|y]";
        assert_eq!(lines(result), [Line { no: 9, text: "fn a() {" }, Line { no: 10, text: "a | b" }]);
    }
}
