//! Why a patch cannot be read or applied, as text for the model.

use std::fmt;

/// See the module's head. Its text names the file and the hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError {
    /// The file, as the patch names it; none where the patch as a whole is wrong.
    pub file: Option<String>,
    /// Which of the file's hunks, from 1.
    pub hunk: Option<usize>,
    /// What is wrong.
    pub kind: PatchErrorKind,
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchErrorKind {
    /// There is no file in it.
    NoFiles,
    /// A line is not what may stand there.
    Form {
        /// Its number in the patch, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// It asks for something that patches cannot do here.
    Unsupported(&'static str),
    /// The file is named twice.
    Twice,
    /// It changes nothing.
    NoChange,
    /// The lines that should be there are not.
    Differs(Box<Differs>),
    /// They are there more than once, near the stated place but not at it.
    Several {
        /// The stated place.
        stated: Option<u64>,
        /// First lines of the places.
        lines: Vec<u64>,
    },
    /// The hunk has no line that could say where it belongs.
    NoPlace,
    /// The file's encoding does not have this character of a new line.
    NotInEncoding(char),
    /// A line without a line end is not the last one.
    OpenInside,
    /// The patch deletes the file but not all of its lines.
    NotAll {
        /// Lines that it leaves.
        left: u64,
    },
}

/// Where lines of a hunk and of the file part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Differs {
    /// The stated place.
    pub stated: Option<u64>,
    /// First line of the place that is most like the hunk.
    pub place: u64,
    /// The first line there that differs, and its text; none at the file's end.
    pub line: u64,
    /// What the file has there.
    pub found: Option<String>,
    /// What the patch has there.
    pub wanted: String,
    /// The whole hunk stands at these lines, too far from the stated place or before an earlier hunk.
    pub elsewhere: Vec<u64>,
    /// The lines after are there already.
    pub done: bool,
}

impl PatchError {
    pub(super) fn of_patch(kind: PatchErrorKind) -> Self {
        Self { file: None, hunk: None, kind }
    }

    pub(super) fn of_file(file: &str, kind: PatchErrorKind) -> Self {
        Self { file: Some(file.to_owned()), hunk: None, kind }
    }

    pub(super) fn of_hunk(file: &str, hunk: usize, kind: PatchErrorKind) -> Self {
        Self { file: Some(file.to_owned()), hunk: Some(hunk), kind }
    }
}

impl std::error::Error for PatchError {}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.hunk) {
            (Some(file), Some(hunk)) => write!(f, "{file}, hunk {hunk}: {}", self.kind),
            (Some(file), None) => write!(f, "{file}: {}", self.kind),
            (None, _) => self.kind.fmt(f),
        }
    }
}

impl fmt::Display for PatchErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFiles => f.write_str(
                "the patch names no file. It must be a unified diff: `--- a/path`, `+++ b/path`, then hunks that begin \
                 with `@@`.",
            ),
            Self::Form { line, what } => write!(f, "line {line} of the patch {what}"),
            Self::Unsupported(what) => f.write_str(what),
            Self::Twice => {
                f.write_str("it is named twice in the patch; put its hunks behind one pair of `---` and `+++`.")
            }
            Self::NoChange => f.write_str("the patch changes nothing."),
            Self::Differs(differs) => differs.fmt(f),
            Self::Several { stated, lines } => {
                let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
                let not = stated.map_or(String::new(), |stated| format!("do not stand at line {stated}, but "));
                write!(
                    f,
                    "its lines {not}stand at lines {}. Correct the number in its head, or add lines of context.",
                    lines.join(", ")
                )
            }
            Self::NoPlace => f.write_str("it has neither a line number nor a line of context, so it has no place."),
            Self::NotInEncoding(c) => {
                write!(
                    f,
                    "it has the character `{c}` (U+{:04X}), which the file's encoding does not have.",
                    u32::from(*c)
                )
            }
            Self::OpenInside => {
                f.write_str("`\\ No newline at end of file` stands after a line that is not the last of the file.")
            }
            Self::NotAll { left } => write!(
                f,
                "the patch deletes the file but leaves {left} of its lines. Remove all of them, or use delete_file."
            ),
        }
    }
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.done {
            return write!(
                f,
                "its lines are there as they would be after it, at line {}: it seems to have been applied already.",
                self.place
            );
        }
        match self.stated {
            Some(stated) if stated == self.place => f.write_str("its lines are not there.")?,
            Some(stated) => write!(f, "its lines are not at line {stated} nor near it.")?,
            None => f.write_str("its lines are nowhere in the file.")?,
        }
        if self.line > self.place && self.stated != Some(self.place) {
            write!(f, " Most of them agree at line {}.", self.place)?;
        }
        match &self.found {
            _ if self.line == self.place && self.stated != Some(self.place) => {
                write!(f, " The first of them is `{}`.", self.wanted)?;
            }
            Some(found) => {
                write!(f, " Line {} of the file is `{found}`, the patch has `{}`.", self.line, self.wanted)?;
            }
            None => write!(f, " The file ends before line {}, the patch has `{}`.", self.line, self.wanted)?,
        }
        if !self.elsewhere.is_empty() {
            let lines: Vec<String> = self.elsewhere.iter().map(u64::to_string).collect();
            write!(
                f,
                " All of them stand at line {}: correct the number in the hunk's head, and keep the hunks in the order of \
                 the file.",
                lines.join(" and ")
            )?;
        }
        Ok(())
    }
}
