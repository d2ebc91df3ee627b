//! A table of a TOML document that is read key by key, knows where it is, and in the end names what nobody read.

use super::super::error::{ConfigError, Place};
use super::super::nearest::nearest;
use super::Located;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// See the module's head.
pub struct Table<'a, 'w> {
    file: &'a Path,
    text: &'a str,
    path: String,
    entries: &'a DeTable<'a>,
    known: Vec<String>,
    warnings: &'w mut Vec<String>,
}

impl<'a, 'w> Table<'a, 'w> {
    /// The document itself.
    pub fn top(file: &'a Path, text: &'a str, entries: &'a DeTable<'a>, warnings: &'w mut Vec<String>) -> Self {
        Self { file, text, path: String::new(), entries, known: Vec::new(), warnings }
    }

    /// The keys that the table has.
    pub fn names(&self) -> Vec<String> {
        self.entries.keys().map(|name| name.get_ref().to_string()).collect()
    }

    /// Dotted name of a key.
    fn dotted(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn place_of(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Place {
        Place::File { file: self.file.to_owned(), line: line_of(self.text, value.span().start), key: self.dotted(key) }
    }

    /// Where the table itself begins: its first value, else the file's first line.
    pub fn place(&self) -> Place {
        let start = self.entries.keys().map(|name| name.span().start).min().unwrap_or(0);
        Place::File { file: self.file.to_owned(), line: line_of(self.text, start), key: self.path.clone() }
    }

    fn get(&mut self, key: &str) -> Option<(&'a DeValue<'a>, Place)> {
        self.known.push(key.to_owned());
        let value = self.entries.get(key)?;
        Some((value.get_ref(), self.place_of(key, value)))
    }

    /// A text that is not empty.
    pub fn string(&mut self, key: &str) -> Result<Option<Located<String>>, ConfigError> {
        let Some((value, place)) = self.get(key) else { return Ok(None) };
        match value.as_str() {
            Some(text) if !text.trim().is_empty() => Ok(Some(Located { value: text.to_owned(), place })),
            Some(_) => Err(ConfigError {
                place,
                problem: "is empty".to_owned(),
                fix: "Give it a value, or remove the line".to_owned(),
            }),
            None => Err(wrong_type(place, value, "a text in quotes")),
        }
    }

    /// A list of texts, each with its own line.
    pub fn texts(&mut self, key: &str) -> Result<Vec<Located<String>>, ConfigError> {
        let Some((value, place)) = self.get(key) else { return Ok(Vec::new()) };
        let Some(list) = value.as_array() else { return Err(wrong_type(place, value, "a list of texts: [\"…\"]")) };
        let one = |value: &Spanned<DeValue<'_>>| match value.get_ref().as_str() {
            Some(text) => Ok(Located { value: text.to_owned(), place: self.place_of(key, value) }),
            None => Err(wrong_type(self.place_of(key, value), value.get_ref(), "a text in quotes")),
        };
        list.iter().map(one).collect()
    }

    /// A text that `parse` understands; its error is (problem, fix).
    pub fn parsed<T, E: Into<(String, String)>>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<Located<T>>, ConfigError> {
        let Some(Located { value, place }) = self.string(key)? else { return Ok(None) };
        match parse(&value) {
            Ok(value) => Ok(Some(Located { value, place })),
            Err(error) => {
                let (problem, fix) = error.into();
                Err(ConfigError { place, problem, fix })
            }
        }
    }

    /// A whole number from `min` to `max`.
    pub fn number(&mut self, key: &str, min: u64, max: u64) -> Result<Option<Located<u64>>, ConfigError> {
        let Some((value, place)) = self.get(key) else { return Ok(None) };
        let Some(integer) = value.as_integer() else {
            return Err(wrong_type(place, value, &format!("a whole number from {min} to {max}")));
        };
        match u64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) if (min..=max).contains(&number) => Ok(Some(Located { value: number, place })),
            _ => Err(ConfigError {
                place,
                problem: format!("{integer} is out of range"),
                fix: format!("Write a whole number from {min} to {max}"),
            }),
        }
    }

    /// A list of whole numbers, each from `min` to `max`.
    pub fn numbers(&mut self, key: &str, min: u64, max: u64) -> Result<Option<Located<Vec<u64>>>, ConfigError> {
        let Some((value, place)) = self.get(key) else { return Ok(None) };
        let expected = format!("a list of whole numbers from {min} to {max}, without quotes");
        let Some(list) = value.as_array() else { return Err(wrong_type(place, value, &expected)) };
        let mut numbers = Vec::with_capacity(list.len());
        for entry in list {
            let Some(integer) = entry.get_ref().as_integer() else {
                return Err(wrong_type(self.place_of(key, entry), entry.get_ref(), &expected));
            };
            match u64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) if (min..=max).contains(&number) => numbers.push(number),
                _ => {
                    return Err(ConfigError {
                        place: self.place_of(key, entry),
                        problem: format!("{integer} is out of range"),
                        fix: format!("Write {expected}"),
                    });
                }
            }
        }
        Ok(Some(Located { value: numbers, place }))
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, key: &str) -> Result<Option<Located<bool>>, ConfigError> {
        let Some((value, place)) = self.get(key) else { return Ok(None) };
        match value.as_bool() {
            Some(value) => Ok(Some(Located { value, place })),
            None => Err(wrong_type(place, value, "true or false, without quotes")),
        }
    }

    /// A number from 0 to `max`, whole or not.
    pub fn fraction(&mut self, key: &str, max: f32) -> Result<Option<Located<f32>>, ConfigError> {
        let Some((value, place)) = self.get(key) else { return Ok(None) };
        let written = match value {
            DeValue::Float(float) => float.as_str().parse::<f32>().ok(),
            DeValue::Integer(integer) => integer.as_str().parse::<f32>().ok().filter(|_| integer.radix() == 10),
            _ => return Err(wrong_type(place, value, &format!("a number from 0 to {max}"))),
        };
        match written {
            Some(number) if (0.0..=max).contains(&number) => Ok(Some(Located { value: number, place })),
            _ => Err(ConfigError {
                place,
                problem: "the number is out of range".to_owned(),
                fix: format!("Write a number from 0 to {max}"),
            }),
        }
    }

    /// A table below this one.
    pub fn table<'b>(&'b mut self, key: &str) -> Result<Option<Table<'a, 'b>>, ConfigError> {
        let Some((value, place)) = self.get(key) else { return Ok(None) };
        let path = self.dotted(key);
        match value.as_table() {
            Some(entries) => Ok(Some(Table {
                file: self.file,
                text: self.text,
                path,
                entries,
                known: Vec::new(),
                warnings: self.warnings,
            })),
            None => Err(wrong_type(place, value, &format!("a table; begin it with [{path}]"))),
        }
    }

    /// Warns of every key that was not asked for.
    pub fn finish(self) {
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        for (name, _) in self.entries {
            let key = name.get_ref().as_ref();
            if known.contains(&key) {
                continue;
            }
            let place = Place::File {
                file: self.file.to_owned(),
                line: line_of(self.text, name.span().start),
                key: self.dotted(key),
            };
            let meant = nearest(key, &known).map_or_else(
                || format!("known here: {}", known.join(", ")),
                |meant| format!("did you mean `{}`?", self.dotted(meant)),
            );
            self.warnings.push(format!("{place}: unknown key, ignored; {meant}"));
        }
    }
}

fn wrong_type(place: Place, value: &DeValue<'_>, expected: &str) -> ConfigError {
    let found = match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    ConfigError { place, problem: format!("is {found}"), fix: format!("Write {expected}") }
}

/// The error for a text that is not TOML.
pub fn syntax_error(file: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    ConfigError {
        place: Place::File { file: file.to_owned(), line, key: String::new() },
        problem: format!("not valid TOML: {}", error.message().trim_end_matches('.')),
        fix: "Correct this line".to_owned(),
    }
}

/// The line, from 1, of a byte of the text.
pub fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}
