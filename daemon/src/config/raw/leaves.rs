//! Every value of a configuration file by its names, whether the key is known or not: what a file says, for whoever shows or
//! changes it key by key.

use super::super::error::{ConfigError, Place};
use super::super::key;
use super::table::{line_of, syntax_error};
use serde_json::{Map, Number, Value};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value that is no table.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// Its names, from the top.
    pub path: Vec<String>,
    /// The value as JSON.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
}

/// All values of a file, in the order of their names; `file` is only named.
pub fn leaves(file: &Path, text: &str) -> Result<Vec<Leaf>, ConfigError> {
    let document = DeTable::parse(text).map_err(|error| syntax_error(file, text, &error))?;
    let mut found = Vec::new();
    collect(file, text, document.get_ref(), &mut Vec::new(), &mut found);
    Ok(found)
}

fn collect(file: &Path, text: &str, table: &DeTable<'_>, path: &mut Vec<String>, found: &mut Vec<Leaf>) {
    for (name, value) in table {
        path.push(name.get_ref().to_string());
        match value.get_ref().as_table() {
            Some(table) => collect(file, text, table, path, found),
            None => found.push(Leaf {
                path: path.clone(),
                value: json(value.get_ref()),
                place: Place::File {
                    file: file.to_owned(),
                    line: line_of(text, value.span().start),
                    key: key::dotted(path),
                },
            }),
        }
        path.pop();
    }
}

fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or_else(|_| Value::from(integer.to_string()), Value::from),
        DeValue::Float(float) => {
            let number = float.as_str().parse::<f64>().ok().and_then(Number::from_f64);
            number.map_or_else(|| Value::from(float.as_str()), Value::Number)
        }
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(at) => Value::from(at.to_string()),
        DeValue::Array(entries) => entries.iter().map(|entry| json(entry.get_ref())).collect(),
        DeValue::Table(table) => {
            let field = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| -> (String, Value) {
                let name: &std::borrow::Cow<'_, str> = name.get_ref();
                (name.to_string(), json(value.get_ref()))
            };
            Value::Object(table.iter().map(field).collect::<Map<String, Value>>())
        }
    }
}

/// The text without the lines of this key and its value, when they hold nothing else but a comment behind it; everything
/// around stays byte for byte. None when the key is not there, is a table, or shares its lines.
pub fn without_line(text: &str, path: &[String]) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let (last, above) = path.split_last()?;
    let mut table = document.get_ref();
    for name in above {
        table = table.get(name.as_str())?.get_ref().as_table()?;
    }
    let (name, value) = table.iter().find(|(name, _)| name.get_ref() == last.as_str())?;
    if value.get_ref().as_table().is_some() {
        return None;
    }
    let begin = text.get(..name.span().start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(value.span().end..)?.find('\n').map_or(text.len(), |at| value.span().end + at + 1);
    let before = text.get(begin..name.span().start)?;
    let behind = text.get(value.span().end..end)?.trim_start();
    let alone = before.trim().is_empty() && (behind.is_empty() || behind.starts_with('#'));
    alone.then(|| format!("{}{}", text.get(..begin).unwrap_or_default(), text.get(end..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_value_is_given_with_its_names_and_its_line() {
        let text = "a = 0x10\n[b.\"c.d\"]\ne = [1.5, \"x\"]\nf.g = true\n[h]\n";
        let found = leaves(Path::new("/c.toml"), text).unwrap();
        let shown: Vec<_> = found.iter().map(|leaf| (leaf.place.to_string(), leaf.value.clone())).collect();
        let expected = [
            ("/c.toml:1: `a`", json!(16)),
            ("/c.toml:3: `b.\"c.d\".e`", json!([1.5, "x"])),
            ("/c.toml:4: `b.\"c.d\".f.g`", json!(true)),
        ];
        assert_eq!(shown, expected.map(|(place, value)| (place.to_owned(), value)));
    }

    #[test]
    fn a_line_goes_and_everything_around_it_stays() {
        let check = |text: &str, key: &str, expected: Option<&str>| {
            let path: Vec<String> = key.split('.').map(str::to_owned).collect();
            assert_eq!(without_line(text, &path).as_deref(), expected, "{key} of {text:?}");
        };
        check("# head\na = 1 # one\n# two\nb = 2\n", "a", Some("# head\n# two\nb = 2\n"));
        check("[t]\n  a = [\n 1,\n 2] # x\nb=3", "t.a", Some("[t]\nb=3"));
        check("[t]\na = 1", "t.a", Some("[t]\n"));
        check("t.a = 1\n", "t.a", None);
        check("t = { a = 1 }\n", "t.a", None);
        check("[t]\na = 1\n", "t", None);
        check("a = 1\n", "b", None);
    }
}
