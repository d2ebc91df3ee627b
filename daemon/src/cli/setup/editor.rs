//! `plimsoll setup zed` and `plimsoll setup jetbrains`: an entry in the file in which an editor keeps its ACP agents. What
//! else stands there, comments and order too, stays as it is.

use super::super::args::SetupEditor;
use super::super::build;
use super::super::connect::CommandError;
use super::super::out::{self, Style};
use super::{place, refused};
use crate::config::{env, user_folders};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The key under which both editors keep their agents.
const AGENTS: &str = "agent_servers";
/// The entry's name, which the editor shows.
const NAME: &str = "Plimsoll";
/// The variables that decide which daemon is reached; those that are set are the entry's too.
const KEPT: [&str; 3] = [env::CONFIG_DIR, env::DATA_DIR, env::RUNTIME_DIR];

/// An editor with a file of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editor {
    /// Zed: its settings (zed.dev/docs/ai/external-agents).
    Zed,
    /// IDEs of JetBrains: the file of AI Assistant (jetbrains.com/help/ai-assistant/acp.html).
    Jetbrains,
}

impl Editor {
    /// The file, from the user's home folder and that of configurations.
    fn file(self, home: &Path, configurations: &Path) -> PathBuf {
        match self {
            // It keeps to this folder also where others are usual.
            Self::Zed if cfg!(target_os = "macos") => home.join(".config/zed/settings.json"),
            Self::Zed => configurations.join("zed/settings.json"),
            Self::Jetbrains => home.join(".jetbrains/acp.json"),
        }
    }

    /// Where the agent is found then.
    fn next(self) -> &'static str {
        match self {
            Self::Zed => "open the agent panel and begin a thread with Plimsoll",
            Self::Jetbrains => "open AI Chat and choose Plimsoll among the agents; restart the IDE if it is not there",
        }
    }
}

/// What the entry says.
struct Entry {
    editor: Editor,
    program: String,
    variables: Vec<(&'static str, String)>,
}

impl Entry {
    fn fields(&self) -> Vec<(String, CstInputValue)> {
        let text = |text: &str| CstInputValue::String(text.to_owned());
        let variables = self.variables.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
        let mut fields = vec![
            ("command".to_owned(), text(&self.program)),
            ("args".to_owned(), CstInputValue::Array(vec![text("acp")])),
            ("env".to_owned(), CstInputValue::Object(variables)),
        ];
        if self.editor == Editor::Zed {
            fields.insert(0, ("type".to_owned(), text("custom")));
        }
        fields
    }

    /// The file's text with the entry. What an entry of this name has beside the program and its arguments stays.
    fn merged(&self, before: &str) -> Result<String, String> {
        let root = parse(before)?;
        let agents = agents(&root)?.ok_or_else(|| format!("`{AGENTS}` is not an object"))?;
        let Some(known) = agents.get(NAME) else {
            agents.append(NAME, CstInputValue::Object(self.fields()));
            return Ok(ended(&root.to_string()));
        };
        let entry = known.object_value().ok_or_else(|| format!("`{AGENTS}.{NAME}` is not an object"))?;
        for (name, value) in self.fields() {
            match entry.get(&name) {
                // It is the user's.
                Some(_) if name == "env" => {}
                Some(field) => field.set_value(value),
                None => drop(entry.append(&name, value)),
            }
        }
        Ok(ended(&root.to_string()))
    }

    /// The entry alone, as a file that has nothing else.
    fn alone(&self) -> Result<String, String> {
        self.merged("")
    }
}

/// The file's text without the entry; none when it has none.
fn without(before: &str) -> Result<Option<String>, String> {
    let root = parse(before)?;
    let object = root.object_value().and_then(|object| object.object_value(AGENTS));
    let Some(entry) = object.and_then(|agents| agents.get(NAME)) else { return Ok(None) };
    entry.remove();
    Ok(Some(root.to_string()))
}

/// The text as a tree that keeps everything; an empty file is an empty object.
fn parse(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// The object of agents, made when there is none.
fn agents(root: &CstRootNode) -> Result<Option<CstObject>, String> {
    let object = root.object_value_or_create().ok_or("the file does not hold an object")?;
    object.ensure_multiline();
    Ok(object.object_value_or_create(AGENTS))
}

fn ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// Runs the command.
pub fn main(editor: Editor, arguments: &SetupEditor) -> ExitCode {
    run(editor, arguments).unwrap_or_else(|error| error.report())
}

fn run(editor: Editor, arguments: &SetupEditor) -> Result<ExitCode, CommandError> {
    let program = build::path().and_then(|path| path.into_os_string().into_string().ok());
    let program = program.ok_or_else(|| CommandError::Argument {
        message: "the path of this program is not known or not text".to_owned(),
        hint: "move it to a path of plain letters".to_owned(),
    })?;
    let variables = KEPT.iter().filter_map(|name| Some((*name, std::env::var(name).ok()?))).collect();
    let entry = Entry { editor, program, variables };
    let (home, configurations) = user_folders()?;
    let path = editor.file(&home, &configurations);
    let malformed = |why: String| CommandError::Argument {
        message: format!("{} cannot be changed: {why}", path.display()),
        hint: "mend the file, or add by hand what --print prints".to_owned(),
    };
    if arguments.print {
        out::print(&entry.alone().map_err(malformed)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let before = place::read(&path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = if arguments.remove {
        let Some(after) = without(text).map_err(malformed)? else {
            out::note(&format!("{} has no entry {NAME}", path.display()));
            return Ok(ExitCode::SUCCESS);
        };
        after
    } else {
        entry.merged(text).map_err(malformed)?
    };
    if before.as_ref() == Some(&after) {
        out::note(&format!("{} has the entry {NAME} already", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let what = if before.is_some() { "is changed" } else { "is made" };
    out::note(&format!("{} {what}:\n", path.display()));
    out::note(&place::difference(before.as_deref(), &after, Style::of_stderr()));
    if let Some(code) = refused(arguments.yes, "Write it?") {
        return Ok(code);
    }
    // Somebody may have written it while the question stood.
    if place::read(&path)? != before {
        return Err(CommandError::Argument {
            message: format!("{} was changed meanwhile; nothing was written", path.display()),
            hint: "run the command again".to_owned(),
        });
    }
    if let Some(kept) = place::replace(&path, before.as_deref(), &after)? {
        out::note(&format!("what was there is kept in {}", kept.display()));
    }
    out::note(&format!("written: {}", path.display()));
    if !arguments.remove {
        out::note(editor.next());
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn entry(editor: Editor) -> Entry {
        Entry { editor, program: "/opt/plimsoll".to_owned(), variables: Vec::new() }
    }

    fn value(text: &str) -> Value {
        parse(text).unwrap().to_serde_value().unwrap()
    }

    #[test]
    fn a_missing_and_an_empty_file_get_the_entry_alone() {
        let expected = "{\n  \"agent_servers\": {\n    \"Plimsoll\": {\n      \"command\": \"/opt/plimsoll\",\n      \
            \"args\": [\"acp\"],\n      \"env\": {}\n    }\n  }\n}\n";
        for before in ["", " \n", "{}", "{}\n"] {
            let after = entry(Editor::Jetbrains).merged(before).unwrap();
            assert_eq!(value(&after), value(expected), "{after}");
        }
        let zed = value(&entry(Editor::Zed).alone().unwrap());
        assert_eq!(zed["agent_servers"]["Plimsoll"]["type"], "custom");
    }

    #[test]
    fn comments_order_and_other_agents_stay() {
        let before = "// mine\n{\n  \"theme\": \"One\", // dark\n  \"agent_servers\": {\n    \"Other\": { \"command\": \"o\" },\n  },\n  \
            /* last */ \"z\": [1, 2,],\n}\n";
        let after = entry(Editor::Zed).merged(before).unwrap();
        for line in before.lines() {
            assert!(after.contains(line.trim()), "{line} is not in {after}");
        }
        assert_eq!(value(&after)["agent_servers"]["Other"], json!({"command": "o"}));
        assert_eq!(value(&after)["agent_servers"]["Plimsoll"]["command"], "/opt/plimsoll");
        assert_eq!(entry(Editor::Zed).merged(&after).unwrap(), after, "again changes nothing");
        assert_eq!(value(&without(&after).unwrap().unwrap()), value(before));
        assert_eq!(without(before).unwrap(), None);
    }

    #[test]
    fn what_the_user_gave_the_entry_stays() {
        let before = r#"{"agent_servers": {"Plimsoll": {"command": "old", "env": {"A": "1"}, "mine": true}}}"#;
        let after = value(&entry(Editor::Jetbrains).merged(before).unwrap());
        let expected = json!({"command": "/opt/plimsoll", "env": {"A": "1"}, "mine": true, "args": ["acp"]});
        assert_eq!(after["agent_servers"]["Plimsoll"], expected);
    }

    #[test]
    fn what_is_no_object_is_not_touched() {
        for (before, why) in [
            ("[1]", "the file does not hold an object"),
            (r#"{"agent_servers": 3}"#, "`agent_servers` is not an object"),
            (r#"{"agent_servers": {"Plimsoll": "x"}}"#, "`agent_servers.Plimsoll` is not an object"),
        ] {
            assert_eq!(entry(Editor::Zed).merged(before).unwrap_err(), why);
        }
        let error = entry(Editor::Zed).merged("{\n  \"a\": tru\n}").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
    }

    /// Any JSON object with no agents, or with some.
    fn settings() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            "[a-z\"\\\\ ]{0,6}".prop_map(Value::from)
        ];
        let any = leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        let object = prop::collection::btree_map("[a-z]{1,4}", any.clone(), 0..5);
        let agents = prop::option::of(prop::collection::btree_map("[A-Z]{1,4}", any, 0..3));
        (object, agents).prop_map(|(object, agents)| {
            let mut object: serde_json::Map<String, Value> = object.into_iter().collect();
            if let Some(agents) = agents {
                object.insert(AGENTS.to_owned(), Value::Object(agents.into_iter().collect()));
            }
            Value::Object(object)
        })
    }

    proptest! {
        #[test]
        fn everything_else_stays_as_it_is(before in settings(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&before) } else { serde_json::to_string(&before) }.unwrap();
            let after = entry(Editor::Zed).merged(&text).unwrap();
            let mut now: Value = serde_json::from_str(&after).unwrap();
            let added = now[AGENTS].as_object_mut().unwrap().remove(NAME).unwrap();
            prop_assert_eq!(&added["args"], &json!(["acp"]));
            if before.get(AGENTS).is_none() {
                prop_assert_eq!(now.as_object_mut().unwrap().remove(AGENTS).unwrap(), json!({}));
            }
            prop_assert_eq!(now, before);
        }
    }
}
