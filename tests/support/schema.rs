//! The committed schema of the native API, and what is wrong with a message by it.

use boon::{Compiler, Schemas};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the schema stands for the validator; nothing is fetched from there.
const PLACE: &str = "https://plimsoll.invalid/schema.json";

/// The folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// See the module's head.
pub struct Schema {
    document: Value,
}

impl Default for Schema {
    fn default() -> Self {
        Self::committed()
    }
}

impl Schema {
    /// As it stands in the repository.
    pub fn committed() -> Self {
        let text = std::fs::read_to_string(repository().join("protocol/schema/plimsoll.schema.json"));
        Self { document: serde_json::from_str(&text.expect("the committed schema")).expect("it is JSON") }
    }

    /// The names of all methods.
    pub fn methods(&self) -> Vec<String> {
        self.document["methods"].as_object().expect("an object").keys().cloned().collect()
    }

    /// Where the parameters of a method are described; none when there is no such method.
    pub fn params(&self, method: &str) -> Option<String> {
        self.part(method, "params")
    }

    /// The names of a method's parameters.
    pub fn parameters(&self, method: &str) -> Vec<String> {
        let params = &self.document["methods"][method]["params"];
        let params =
            params["$ref"].as_str().and_then(|of| self.document.pointer(of.strip_prefix('#')?)).unwrap_or(params);
        params["properties"].as_object().map(|names| names.keys().cloned().collect()).unwrap_or_default()
    }

    /// Where the result of a method is described; none when there is no such method.
    pub fn result(&self, method: &str) -> Option<String> {
        self.part(method, "result")
    }

    fn part(&self, method: &str, part: &str) -> Option<String> {
        let place = format!("/methods/{}/{part}", method.replace('/', "~1"));
        self.document.pointer(&place).map(|_| place)
    }

    /// What is wrong with `value` by the schema at this JSON pointer, in words; fields that the schema does not name are
    /// wrong too, although a reader has to ignore them.
    pub fn faults(&self, place: &str, value: &Value) -> Vec<String> {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(PLACE, self.document.clone()).expect("a place");
        let compiled = compiler.compile(&format!("{PLACE}#{place}"), &mut schemas).expect("a schema that can be used");
        if let Err(error) = schemas.validate(value, compiled) {
            return vec![format!("{error:#}")];
        }
        let schema = self.document.pointer(place).expect("it was compiled");
        let mut unnamed = Vec::new();
        self.unnamed(&[schema], value, "", &mut unnamed);
        unnamed
    }

    /// Collects the fields of `value`, which is valid, that none of these schemas names.
    fn unnamed(&self, schemas: &[&Value], value: &Value, at: &str, found: &mut Vec<String>) {
        let parts: Vec<&Value> = schemas.iter().flat_map(|schema| self.parts(schema, value)).collect();
        match value {
            Value::Array(entries) => {
                let items: Vec<&Value> = parts.iter().filter_map(|part| part.get("items")).collect();
                for (index, entry) in entries.iter().enumerate() {
                    self.unnamed(&items, entry, &format!("{at}/{index}"), found);
                }
            }
            // What describes no field lets any be there.
            Value::Object(fields) if parts.iter().any(|part| part.get("properties").is_some()) => {
                for (name, field) in fields {
                    let at = format!("{at}/{name}");
                    let described: Vec<&Value> = parts.iter().filter_map(|part| part["properties"].get(name)).collect();
                    if described.is_empty() {
                        found.push(format!("{at} is no field"));
                    }
                    self.unnamed(&described, field, &at, found);
                }
            }
            _ => {}
        }
    }

    /// A schema with those that it refers to and those of its variants that fit.
    fn parts<'a>(&'a self, schema: &'a Value, value: &Value) -> Vec<&'a Value> {
        let mut parts = vec![schema];
        if let Some(to) = schema["$ref"].as_str() {
            let target = self.document.pointer(to.trim_start_matches('#')).expect("a reference that is defined");
            parts.extend(self.parts(target, value));
        }
        for variant in ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
            if fits(variant, value) {
                parts.extend(self.parts(variant, value));
            }
        }
        parts
    }

    /// The document.
    pub fn document(&self) -> &Value {
        &self.document
    }
}

/// Whether the words that tell variants apart are those of this one.
fn fits(variant: &Value, value: &Value) -> bool {
    let properties = variant["properties"].as_object().into_iter().flatten();
    properties.into_iter().all(|(name, field)| field.get("const").is_none_or(|word| value.get(name) == Some(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_missing_and_unknown_fields_are_found() {
        let schema = Schema::committed();
        let check = |value: Value, expected: &str| {
            let faults = schema.faults(&schema.params("session/rename").unwrap(), &value).join(" ");
            assert!(if expected.is_empty() { faults.is_empty() } else { faults.contains(expected) }, "{faults}");
        };
        check(json!({"session": "s", "title": "t"}), "");
        check(json!({"session": "s", "title": "t", "idempotencyKey": null}), "");
        check(json!({"session": "s"}), "title");
        check(json!({"session": "s", "title": 7}), "string");
        check(json!({"session": "s", "title": "t", "tilte": "t"}), "/tilte is no field");
        assert_eq!(schema.params("session/nonsense"), None);
    }

    #[test]
    fn variants_are_told_apart() {
        let schema = Schema::committed();
        let event = json!({"session": "s", "seq": 1, "at": 1, "type": "turnStarted", "turn": 1, "text": "x"});
        assert_eq!(schema.faults("/$defs/SessionEvent", &event), ["/text is no field"]);
        let event =
            json!({"session": "s", "type": "textDelta", "turn": 1, "step": 1, "block": 0, "offset": 0, "text": "x"});
        assert_eq!(schema.faults("/$defs/SessionEvent", &event), [""; 0]);
    }
}
