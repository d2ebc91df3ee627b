//! Memories: short texts that outlive their session. What may be kept, and how it is named.

use crate::ingest::{Source, string};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Longest title, in characters.
pub const TITLE_CHARS: usize = 120;

/// Longest content, in bytes: what is longer is a document, and belongs into a file.
pub const CONTENT_BYTES: usize = 16 * 1024;

/// Memories of one scope. An index of more would not be read.
pub const MOST: usize = 500;

/// For whom something is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For sessions of one project.
    #[default]
    Project,
    /// For all of the user's sessions.
    User,
}

/// A memory's name: `m3` in its project, `u7` among the user's. Never given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId {
    /// Whose it is.
    pub scope: Scope,
    /// Its number, from 1.
    pub no: u64,
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.scope {
            Scope::Project => 'm',
            Scope::User => 'u',
        };
        write!(f, "{letter}{}", self.no)
    }
}

impl FromStr for MemoryId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let given = text.trim();
        let plain = given.rsplit('/').next().unwrap_or(given);
        let plain = plain.strip_suffix(".md").unwrap_or(plain);
        let scope = match plain.chars().next() {
            Some('m') => Scope::Project,
            Some('u') => Scope::User,
            _ => return Err(not_an_id(given)),
        };
        let digits = plain.get(1..).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let no = digits.and_then(|digits| digits.parse().ok()).filter(|no| *no > 0).ok_or_else(|| not_an_id(given))?;
        Ok(Self { scope, no })
    }
}

fn not_an_id(text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    format!("`{shown}` is not the id of a memory; ids are such as m3 or u7")
}

/// What is to become of what is remembered, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Keep this.
    Create {
        /// For whom.
        scope: Scope,
        /// One line.
        title: String,
        /// The text; ends with a line feed.
        content: String,
    },
    /// Let it say this from now on; what is not given stays.
    Update {
        /// Which.
        id: MemoryId,
        /// One line.
        title: Option<String>,
        /// The text; ends with a line feed.
        content: Option<String>,
    },
    /// Forget it.
    Delete {
        /// Which.
        id: MemoryId,
    },
}

/// A change as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Asked {
    /// `create`, `update` or `delete`.
    pub action: String,
    /// For the last two.
    #[serde(default)]
    pub id: Option<String>,
    /// One line.
    #[serde(default)]
    pub title: Option<String>,
    /// The text.
    #[serde(default)]
    pub content: Option<String>,
    /// `project` or `user`, for the first.
    #[serde(default)]
    pub scope: Option<Scope>,
}

impl Asked {
    /// The change, or what is wrong with it and what would be right.
    pub fn check(self) -> Result<Change, String> {
        let title = self.title.filter(|title| !title.trim().is_empty()).map(title).transpose()?;
        let content = self.content.filter(|content| !content.trim().is_empty()).map(content).transpose()?;
        let id = self.id.map(|id| id.parse::<MemoryId>()).transpose()?;
        let need = |what: &str| format!("To {} a memory give its {what}.", self.action);
        match self.action.as_str() {
            "create" => {
                if let Some(id) = id {
                    return Err(format!("A new memory gets its id itself. To change {id} use the action `update`."));
                }
                let title = title.ok_or_else(|| need("`title`: one line for the index"))?;
                let content = content.unwrap_or_else(|| format!("{title}\n"));
                Ok(Change::Create { scope: self.scope.unwrap_or_default(), title, content })
            }
            "update" => {
                let id = id.ok_or_else(|| need("`id`, as the index names its file: m3"))?;
                if self.scope.is_some_and(|scope| scope != id.scope) {
                    return Err(format!("{id} cannot be given another scope: create it there, then delete {id}."));
                }
                if title.is_none() && content.is_none() {
                    return Err(need("new `title`, its new `content`, or both"));
                }
                Ok(Change::Update { id, title, content })
            }
            "delete" => Ok(Change::Delete { id: id.ok_or_else(|| need("`id`, as the index names its file: m3"))? }),
            other => Err(format!("There is no action `{other}`: it is `create`, `update` or `delete`.")),
        }
    }
}

fn title(given: String) -> Result<String, String> {
    let title = string(Source::Model, given);
    let title = title.trim().trim_start_matches('#').trim();
    if title.chars().any(char::is_control) {
        return Err("A title is one line without control characters; the rest belongs into `content`.".to_owned());
    }
    let length = title.chars().count();
    if length == 0 || length > TITLE_CHARS {
        return Err(format!(
            "A title has 1 to {TITLE_CHARS} characters, not {length}; the rest belongs into `content`."
        ));
    }
    Ok(title.to_owned())
}

fn content(given: String) -> Result<String, String> {
    let content = string(Source::Model, given);
    let content = content.trim();
    if content.len() > CONTENT_BYTES {
        return Err(format!(
            "The content has {} bytes, and a memory at most {CONTENT_BYTES}. Keep what matters, or write a file and remember its path.",
            content.len()
        ));
    }
    Ok(format!("{content}\n"))
}

/// The text of a memory's file: the title as its heading, then the content.
pub fn file(title: &str, content: &str) -> String {
    format!("# {title}\n\n{content}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(action: &str, id: Option<&str>, title: Option<&str>, content: Option<&str>) -> Result<Change, String> {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Asked { action: action.into(), id: own(id), title: own(title), content: own(content), scope: None }.check()
    }

    #[test]
    fn ids_are_read_as_they_are_written_and_from_paths() {
        for text in ["m3", "u12"] {
            assert_eq!(text.parse::<MemoryId>().unwrap().to_string(), text);
        }
        assert_eq!("/data/memories/u7.md".parse(), Ok(MemoryId { scope: Scope::User, no: 7 }));
        for bad in ["", "m", "m0", "x3", "3", "m-1", "m+1", "m3x"] {
            assert!(bad.parse::<MemoryId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_asked_is_checked() {
        let id = MemoryId { scope: Scope::Project, no: 3 };
        let created = asked("create", None, Some("# Use pnpm "), Some("\nNot npm.\n\n"));
        let expected = Change::Create { scope: Scope::Project, title: "Use pnpm".into(), content: "Not npm.\n".into() };
        assert_eq!(created, Ok(expected));
        assert_eq!(
            asked("update", Some("m3"), None, Some("New")),
            Ok(Change::Update { id, title: None, content: Some("New\n".into()) })
        );
        assert_eq!(asked("delete", Some("m3"), None, None), Ok(Change::Delete { id }));
        for (asked, part) in [
            (asked("create", None, None, Some("x")), "`title`"),
            (asked("create", Some("m3"), Some("x"), None), "`update`"),
            (asked("create", None, Some("a\nb"), None), "one line"),
            (asked("create", None, Some(&"x".repeat(121)), None), "not 121"),
            (asked("create", None, Some("x"), Some(&"x".repeat(CONTENT_BYTES + 1))), "at most"),
            (asked("update", None, Some("x"), None), "`id`"),
            (asked("update", Some("m3"), None, Some("  ")), "`content`"),
            (asked("delete", Some("x"), None, None), "not the id"),
            (asked("keep", None, None, None), "no action `keep`"),
        ] {
            let problem = asked.unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
