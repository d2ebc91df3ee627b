//! The reference describes everything that the schema has, and nothing that it has not: methods, parameters with whether
//! they may be absent, fields of results down to the last, events with their fields, kinds of items, error kinds.

use plimsoll_protocol::schema;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const REFERENCE: &str = include_str!("../../README.md");

/// The part of the reference under a heading.
fn section(heading: &str) -> Option<&'static str> {
    let (_, rest) = REFERENCE.split_once(&format!("\n### {heading}\n"))?;
    rest.split("\n## ").next()?.split("\n### ").next()
}

/// The text of a list entry such as `- Parameters: …`.
fn entry(section: &'static str, name: &str) -> Option<&'static str> {
    let (_, rest) = section.split_once(&format!("\n- {name}: "))?;
    rest.split("\n- ").next()?.split("\n\n").next()
}

/// The names in backticks outside all brackets, each with whether a `?` follows.
fn named(text: &str) -> BTreeMap<String, bool> {
    let (mut found, mut depth, mut rest) = (BTreeMap::new(), 0_u32, text);
    while let Some(at) = rest.find(['`', '(', '{', '[', ')', '}', ']']) {
        let (bracket, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = after;
        match bracket {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.checked_sub(1).expect("brackets match"),
            _ => {
                let (name, after) = after.split_once('`').expect("backticks come in pairs");
                rest = after;
                if depth == 0 {
                    found.insert(name.to_owned(), after.starts_with('?'));
                }
            }
        }
    }
    found
}

/// What a schema refers to, itself when it refers to nothing.
fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    schema["$ref"].as_str().map_or(schema, |to| document.pointer(&to[1..]).unwrap())
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// The fields of an object with whether each may be absent.
fn fields(schema: &Value) -> BTreeMap<String, bool> {
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name));
    properties(schema).map(|(name, _)| (name.clone(), !required(name))).collect()
}

/// Whether `word` stands somewhere in `text`, not as a part of another word.
fn says(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let letter = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        !letter(at.checked_sub(1).map(|before| text.as_bytes()[before]))
            && !letter(text.as_bytes().get(at + word.len()).copied())
    })
}

/// Collects the fields below `schema` that neither `text` nor the section of a type on the way names.
fn undescribed<'a>(
    document: &'a Value,
    schema: &'a Value,
    text: &str,
    seen: &mut BTreeSet<&'a str>,
    found: &mut BTreeSet<String>,
) {
    let mut text = text.to_owned();
    if let Some(to) = schema["$ref"].as_str() {
        let name = to.rsplit('/').next().unwrap_or_default();
        if !seen.insert(to) {
            return;
        }
        text.push_str(section(name).unwrap_or_default());
    }
    let schema = resolve(document, schema);
    if !schema.is_object() {
        return;
    }
    for (name, field) in properties(schema) {
        if !says(&text, name) {
            found.insert(name.clone());
        }
        undescribed(document, field, &text, seen, found);
    }
    for inside in [&schema["items"]]
        .into_iter()
        .chain(["anyOf", "oneOf"].iter().filter_map(|word| schema[*word].as_array()).flatten())
    {
        undescribed(document, inside, &text, seen, found);
    }
}

#[test]
fn every_section_is_that_of_a_method() {
    let document = schema::document();
    let (_, methods) = REFERENCE.split_once("\n## Methods\n").unwrap();
    let methods = methods.split("\n## ").next().unwrap();
    let headings: Vec<&str> =
        methods.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    let known: BTreeSet<&str> = document["methods"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(headings.iter().copied().collect::<BTreeSet<_>>(), known, "sections and methods of the schema");
    assert_eq!(headings.len(), known.len(), "a method has two sections");
}

#[test]
fn parameters_are_described_exactly() {
    let document = schema::document();
    for (method, parts) in document["methods"].as_object().unwrap() {
        let section = section(&format!("`{method}`")).unwrap_or_else(|| panic!("no section for {method}"));
        let described = entry(section, "Parameters").unwrap_or_else(|| panic!("{method} has no `- Parameters:`"));
        let expected = fields(resolve(&document, &parts["params"]));
        assert_eq!(named(described), expected, "{method}: `- Parameters:` (true: may be absent, written `name`?)");
    }
}

#[test]
fn every_field_of_a_result_is_described() {
    let document = schema::document();
    for (method, parts) in document["methods"].as_object().unwrap() {
        let section = section(&format!("`{method}`")).unwrap_or_else(|| panic!("no section for {method}"));
        assert!(section.contains("\n- Result: "), "{method} has no `- Result:`");
        // "As for `checkpoint/restore`".
        let methods = document["methods"].as_object().unwrap().keys();
        let others = methods.filter(|other| section.contains(&format!("`{other}`")));
        let text = others
            .filter_map(|other| self::section(&format!("`{other}`")))
            .fold(section.to_owned(), |text, more| text + more);
        let mut found = BTreeSet::new();
        undescribed(&document, &parts["result"], &text, &mut BTreeSet::new(), &mut found);
        assert!(found.is_empty(), "{method}: nothing is said of these fields of its result: {found:?}");
    }
}

#[test]
fn errors_of_methods_are_kinds_of_errors() {
    let kinds: Vec<Value> =
        plimsoll_protocol::error::ErrorKind::ALL.iter().map(|kind| serde_json::to_value(kind).unwrap()).collect();
    for method in schema::document()["methods"].as_object().unwrap().keys() {
        let described = section(&format!("`{method}`")).and_then(|section| entry(section, "Errors"));
        for name in described.map(named).unwrap_or_default().keys() {
            assert!(kinds.iter().any(|kind| kind == name), "{method}: there is no error kind `{name}`");
        }
    }
}

/// The rows of the table under a heading that begins with this column, cell by cell.
fn table(heading: &str, first: &str) -> Vec<Vec<&'static str>> {
    let (_, rest) = REFERENCE.split_once(&format!("\n{heading}\n")).unwrap();
    let (_, rest) = rest.split_once(&format!("| {first} |")).unwrap();
    let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The variants of a union by their tag.
fn variants<'a>(document: &'a Value, name: &str, tag: &str) -> BTreeMap<&'a str, &'a Value> {
    let variants = document["$defs"][name]["oneOf"].as_array().unwrap().iter();
    let known = variants.filter_map(|variant| Some((variant["properties"][tag]["const"].as_str()?, variant)));
    known.filter(|(word, _)| *word != "unknown").collect()
}

/// The names of a cell such as `turn, usage?, todos (each {id, content})`, each with whether a `?` follows.
fn cell(text: &str) -> BTreeMap<String, bool> {
    let mut depth = 0_u32;
    let outside: String = text
        .chars()
        .filter(|letter| {
            match letter {
                '(' | '{' | '[' => depth += 1,
                ')' | '}' | ']' => {
                    depth -= 1;
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect();
    let names = outside.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| (name.trim_end_matches('?').to_owned(), name.ends_with('?'))).collect()
}

fn tagged_fields(variant: &Value, tag: &str) -> BTreeMap<String, bool> {
    let mut fields = fields(variant);
    fields.remove(tag);
    fields
}

#[test]
fn the_table_of_events_is_that_of_the_schema() {
    let document = schema::document();
    let known = variants(&document, "SessionEvent", "type");
    let rows = table("## Events", "type");
    assert_eq!(rows.len(), known.len(), "rows and events of the schema");
    for row in rows {
        let name = row[0].trim_matches('`');
        let variant = known.get(name).unwrap_or_else(|| panic!("there is no event `{name}`"));
        let durable = variant["description"].as_str().is_some_and(|text| text.starts_with("Durable."));
        assert_eq!(row[1] == "yes", durable, "whether `{name}` is durable");
        assert_eq!(cell(row[2]), tagged_fields(variant, "type"), "fields of `{name}` (true: may be absent)");
    }
}

#[test]
fn the_table_of_items_is_that_of_the_schema() {
    let document = schema::document();
    let known = variants(&document, "Item", "kind");
    let rows = table("### Item", "kind");
    assert_eq!(rows.len(), known.len(), "rows and kinds of the schema");
    for row in rows {
        let name = row[0].trim_matches('`');
        let variant = known.get(name).unwrap_or_else(|| panic!("there is no item kind `{name}`"));
        assert_eq!(cell(row[1]), tagged_fields(variant, "kind"), "fields of `{name}` (true: may be absent)");
    }
}

#[test]
fn the_table_of_errors_is_that_of_the_code() {
    let rows: Vec<(String, String)> =
        table("## Errors", "code").iter().map(|row| (row[0].to_owned(), row[1].trim_matches('`').to_owned())).collect();
    let known: Vec<(String, String)> = plimsoll_protocol::error::ErrorKind::ALL
        .iter()
        .map(|kind| (kind.code().to_string(), serde_json::to_value(kind).unwrap().as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(rows, known);
}

#[test]
fn names_and_cells_are_read_as_people_read_them() {
    let expect = |pairs: &[(&str, bool)]| pairs.iter().map(|(name, may)| ((*name).to_owned(), *may)).collect();
    let found: BTreeMap<String, bool> = expect(&[("session", false), ("limit", true)]);
    assert_eq!(named("`session`; `limit`? (1 to `x` {`y`?}, else 50)."), found);
    let found: BTreeMap<String, bool> = expect(&[("turn", false), ("usage", true), ("todos", false)]);
    assert_eq!(cell("turn, usage?, todos (each {id, content?})"), found);
    assert!(says("a {lines, cut}", "cut") && !says("shortcuts", "cut"));
}
