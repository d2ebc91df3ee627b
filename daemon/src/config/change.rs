//! One key of the user's configuration set or unset, after everything that can be wrong with it was looked at. Used by
//! `config/set` and `plimsoll config`.

use super::error::{ConfigError, Place};
use super::folders::Folders;
use super::key;
use super::raw::{RawConfig, leaves, read_text, without_line};
use super::resolve::{Config, Overrides};
use super::schema::{self, Kind};
use super::settings::no_such_key;
use super::write::{self, WriteError, below, set_first};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, TableLike};

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The user's file.
    pub file: PathBuf,
    /// Whether it differs from before.
    pub changed: bool,
    /// What is odd in the configuration now.
    pub warnings: Vec<String>,
}

impl Change {
    /// Sets a key of the user's file, given as one text; null takes it out. Refused and nothing written: a key that the
    /// configuration does not have (one that the file has can be taken out), one that the administrator has set, a value that
    /// is not valid, and a model that could not be found any more.
    pub fn make(folders: &Folders, text: &str, value: &Value) -> Result<Self, WriteError> {
        let path = key::names(text)?;
        let file = folders.config_file();
        if value.is_null() {
            check_known_or_there(&file, &path)?;
        } else {
            check_known(&path, value)?;
        }
        check_free(folders, &path)?;
        let changed = write::change(&file, |text| {
            let new = changed(&file, text, &path, value)?;
            check(folders, &path, value, text, &new)?;
            Ok(new)
        })?;
        let now = RawConfig::read(&file)?;
        let config = Config::with_user(folders, now, &BTreeMap::new(), None, &Overrides::default())?;
        Ok(Self { file, changed, warnings: config.warnings })
    }
}

/// A text that somebody typed, as what the key takes: a text needs no quotes. What is not of that kind is left as a text, of
/// which the check then says what it should be.
pub fn typed(path: &[String], text: &str) -> Value {
    let as_toml = || {
        let mut found = toml::from_str::<Map<String, Value>>(&format!("value = {text}\n")).ok()?;
        let value = found.remove("value");
        // What was typed is one value and no further lines.
        value.filter(|_| found.is_empty())
    };
    let kind = schema::kind(path);
    match kind {
        Ok(Kind::Text) if !text.starts_with(['"', '\'']) => Value::from(text),
        Ok(Kind::Texts) if !text.trim_start().starts_with('[') => Value::from(vec![text]),
        Ok(Kind::Text | Kind::Texts | Kind::Numbers | Kind::Number | Kind::Fraction | Kind::Boolean | Kind::Table)
        | Err(_) => as_toml().unwrap_or_else(|| Value::from(text)),
    }
}

/// The key, and every key of a table that is set as a whole.
fn check_known(path: &[String], value: &Value) -> Result<(), ConfigError> {
    schema::kind(path).map_err(|unknown| no_such_key(&unknown))?;
    for (name, value) in value.as_object().into_iter().flatten() {
        check_known(&[path, std::slice::from_ref(name)].concat(), value)?;
    }
    Ok(())
}

fn check_known_or_there(file: &Path, path: &[String]) -> Result<(), ConfigError> {
    let Err(unknown) = schema::kind(path) else { return Ok(()) };
    let text = read_text(file)?.map(|content| content.text).unwrap_or_default();
    let there = leaves(file, &text)?.iter().any(|leaf| leaf.path.starts_with(path));
    if there { Ok(()) } else { Err(no_such_key(&unknown)) }
}

/// What the administrator has set is not the user's to change; lists of both count together.
fn check_free(folders: &Folders, path: &[String]) -> Result<(), ConfigError> {
    let refused = |place: Place, problem: &str| {
        Err(ConfigError { place, problem: problem.to_owned(), fix: "It cannot be changed here".to_owned() })
    };
    let path = as_one(path);
    if path == ["permissions", "max_mode"] {
        return refused(Place::Option("key"), "only an administrator bounds the mode");
    }
    let Some(content) = read_text(&folders.managed)? else { return Ok(()) };
    for leaf in leaves(&folders.managed, &content.text)? {
        let taken = as_one(&leaf.path);
        let provider = path.first().is_some_and(|name| name == "providers")
            && path.iter().zip(&taken).take(2).all(|(own, other)| own == other);
        let same = provider || path.starts_with(&taken) || taken.starts_with(&path);
        if same && (provider || schema::kind(&leaf.path) != Ok(Kind::Texts)) {
            return refused(leaf.place, "your administrator has set it");
        }
    }
    Ok(())
}

/// Two spellings of one key are one.
fn as_one(path: &[String]) -> Vec<String> {
    match path {
        [prompt, lean] if prompt == "prompt" && lean == "lean" => vec![prompt.clone(), "bundle".to_owned()],
        other => other.to_vec(),
    }
}

/// Whether the changed text is a configuration that can be worked with as well as the one before.
fn check(folders: &Folders, path: &[String], value: &Value, before: &str, after: &str) -> Result<(), ConfigError> {
    let file = folders.config_file();
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let config = |text: &str| {
        let raw = RawConfig::parse(&file, text)?;
        Config::with_user(folders, raw, &BTreeMap::new(), None, &Overrides::default())
    };
    let after = config(after)?;
    if let (["permissions", "mode"], Some(mode)) = (names.as_slice(), value.as_str()) {
        after.mode(mode)?;
    }
    if names == ["context", "summary_model"] {
        after.summary_model()?;
    }
    let chosen = after.model(None).map(|_| ());
    let worked = || config(before).is_ok_and(|before| before.model(None).is_ok());
    if names == ["model"] || worked() { chosen } else { Ok(()) }
}

/// The text with the key set, or without it.
fn changed(file: &Path, text: &str, path: &[String], value: &Value) -> Result<String, ConfigError> {
    if value.is_null()
        && let Some(without) = without_line(text, path)
    {
        return Ok(without);
    }
    let mut document = write::document(file, text)?;
    let cannot = || ConfigError {
        place: Place::WholeFile(file.to_owned()),
        problem: format!("`{}` cannot be changed as it is written there", key::dotted(path)),
        fix: "Write the change into it yourself".to_owned(),
    };
    let (last, above) = path.split_last().ok_or_else(cannot)?;
    if value.is_null() {
        remove(&mut document, above, last);
        return Ok(document.to_string());
    }
    let fresh = above.is_empty() && !document.contains_key(last);
    match item(value) {
        Some(item) if fresh => set_first(&mut document, last, item),
        _ => {
            let mut table: &mut dyn TableLike = document.as_table_mut();
            for (depth, name) in above.iter().enumerate() {
                table = below(table, name, depth + 1 < above.len()).ok_or_else(cannot)?;
            }
            put(table, last, value).ok_or_else(cannot)?;
        }
    }
    let new = document.to_string();
    let stands = leaves(file, &new)?.iter().any(|leaf| leaf.path == path && leaf.value == *value);
    if stands || value.is_object() { Ok(new) } else { Err(cannot()) }
}

fn remove(document: &mut DocumentMut, above: &[String], last: &str) {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in above {
        let Some(below) = table.get_mut(name).and_then(Item::as_table_like_mut) else { return };
        table = below;
    }
    table.remove(last);
}

/// Sets one name of a table. Of a table that is set as a whole what is the same stays as it is written. None where
/// something is in the way.
fn put(table: &mut dyn TableLike, name: &str, value: &Value) -> Option<()> {
    if let Some(fields) = value.as_object() {
        let table = below(table, name, fields.values().all(Value::is_object))?;
        let gone: Vec<String> =
            table.iter().map(|(name, _)| name.to_owned()).filter(|name| !fields.contains_key(name)).collect();
        for name in gone {
            table.remove(&name);
        }
        return fields.iter().try_for_each(|(name, value)| put(table, name, value));
    }
    let new = item(value)?.into_value().ok()?;
    if let Some(old) = table.get_mut(name).and_then(Item::as_value_mut) {
        // The comment behind it stays.
        let decor = old.decor().clone();
        *old = new;
        *old.decor_mut() = decor;
    } else {
        table.insert(name, Item::Value(new));
    }
    Some(())
}

/// A value that is no table, as it is written.
fn item(value: &Value) -> Option<Item> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Bool(flag) => Some(toml_edit::value(*flag)),
        Value::String(text) => Some(toml_edit::value(text.as_str())),
        Value::Number(number) => {
            number.as_i64().map(toml_edit::value).or_else(|| number.as_f64().map(toml_edit::value))
        }
        Value::Array(entries) => {
            let entries = entries.iter().map(|entry| item(entry)?.into_value().ok()).collect::<Option<Array>>();
            entries.map(toml_edit::value)
        }
    }
}

#[cfg(test)]
mod tests;
