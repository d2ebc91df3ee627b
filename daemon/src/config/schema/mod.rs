//! The JSON Schema of `config.toml`, of the user or an administrator, and of a project's own. The types below describe the
//! keys for editors, `plimsoll config` and `config/set`; [`raw`](super::raw) reads them, and a test walks both, so that
//! neither knows a key that the other does not. The committed forms are `daemon/schema/*.schema.json`.

mod file;
mod project;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};
use std::sync::LazyLock;

static FILE: LazyLock<Value> = LazyLock::new(document::<file::File>);
static PROJECT: LazyLock<Value> = LazyLock::new(document::<project::ProjectFile>);

/// The schema of the user's and the managed file.
pub fn of_file() -> &'static Value {
    &FILE
}

/// The schema of a project's file.
pub fn of_project() -> &'static Value {
    &PROJECT
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number.
    Number,
    /// A number, whole or not.
    Fraction,
    /// `true` or `false`.
    Boolean,
    /// A list of texts.
    Texts,
    /// A list of whole numbers.
    Numbers,
    /// Further keys.
    Table,
}

/// A key that the configuration does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// The names up to and with the unknown one.
    pub path: Vec<String>,
    /// What is known in its place.
    pub known: Vec<&'static str>,
}

/// What the user's file takes at a key, given by its names.
pub fn kind(path: &[String]) -> Result<Kind, UnknownKey> {
    let mut at = of_file();
    for (depth, name) in path.iter().enumerate() {
        at = below(at, name).ok_or_else(|| UnknownKey {
            path: path.iter().take(depth + 1).cloned().collect(),
            known: properties(at).map(|known| known.keys().map(String::as_str).collect()).unwrap_or_default(),
        })?;
    }
    Ok(match at.get("type").and_then(Value::as_str) {
        Some("string") => Kind::Text,
        Some("integer") => Kind::Number,
        Some("number") => Kind::Fraction,
        Some("boolean") => Kind::Boolean,
        Some("array") if at.pointer("/items/type").is_some_and(|of| of == "integer") => Kind::Numbers,
        Some("array") => Kind::Texts,
        Some(_) | None => Kind::Table,
    })
}

/// From when on a change of a key counts, as one sentence; none for a table.
pub fn counts(path: &[String]) -> Option<&'static str> {
    let schema = path.iter().try_fold(of_file(), |at, name| below(at, name))?;
    let description = schema.get("description")?.as_str()?;
    description.find("Counts ").and_then(|at| description.get(at..))
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The schema of what stands below this name; a name that the user chooses, such as a provider's, has that of all such.
fn below<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let named = properties(schema).and_then(|known| known.get(name));
    named.or_else(|| schema.get("additionalProperties").filter(|other| other.is_object()))
}

fn document<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.inline_subschemas = true;
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// TOML has no null, and no key is required: what an optional field adds for both is taken out.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // The width of the Rust type says nothing to people.
            fields.retain(|name, _| name != "required" && name != "format");
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            if let Some(types) = fields.get_mut("type")
                && let Some([one, null]) = types.as_array().map(Vec::as_slice)
                && null == "null"
            {
                *types = one.clone();
            }
            if let Some(Value::Array(words)) = fields.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            let inner = fields.get("anyOf").and_then(Value::as_array).and_then(|any| match any.as_slice() {
                [Value::Object(inner), null] if null.get("type").is_some_and(|name| name == "null") => {
                    Some(inner.clone())
                }
                _ => None,
            });
            if let Some(inner) = inner {
                fields.retain(|name, _| name != "anyOf");
                for (name, value) in inner {
                    fields.entry(name).or_insert(value);
                }
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(entries) => entries.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
