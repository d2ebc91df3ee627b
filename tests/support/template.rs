//! The words of a recorded message: `${name}`, `{"$any": …}` and `{"$optional": …}`, as
//! `editor-clients/conformance/README.md` describes them and its `support/match.mjs` reads them.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What the names of an exchange stand for: their samples, until one side says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Values {
    samples: BTreeMap<String, Value>,
    known: BTreeMap<String, Value>,
}

impl Values {
    /// These samples, an object.
    pub fn new(samples: &Value) -> Self {
        let samples = samples.as_object().cloned().unwrap_or_default().into_iter().collect();
        Self { samples, known: BTreeMap::new() }
    }

    /// Says what a name stands for.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.known.insert(name.to_owned(), value.into());
    }

    /// Lets a name stand for something else from now on.
    pub fn forget(&mut self, name: &str) {
        self.known.remove(name);
    }

    fn get(&self, name: &str) -> &Value {
        let value = self.known.get(name).or_else(|| self.samples.get(name));
        value.unwrap_or_else(|| panic!("the exchange has no value for ${{{name}}}"))
    }

    /// A message as it is sent, by what is known.
    pub fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match whole(text) {
                Some(name) => self.get(name).clone(),
                None => Value::String(self.fill_text(text)),
            },
            Value::Array(entries) => entries.iter().map(|entry| self.fill(entry)).collect(),
            Value::Object(fields) => match marked(fields, "$any").or_else(|| marked(fields, "$optional")) {
                Some(sample) => self.fill(sample),
                None => fields.iter().map(|(name, field)| (name.clone(), self.fill(field))).collect(),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn fill_text(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').expect("a name ends");
            filled.push_str(before);
            filled.push_str(self.get(name).as_str().unwrap_or_else(|| panic!("${{{name}}} is no text")));
            rest = after;
        }
        filled + rest
    }

    /// In what `found` differs from `wanted`, in words. Names that were not known are known afterwards.
    pub fn compare(&mut self, wanted: &Value, found: Option<&Value>, at: &str) -> Vec<String> {
        let fields = wanted.as_object();
        if let Some(wanted) = fields.and_then(|fields| marked(fields, "$optional")) {
            return found.map_or_else(Vec::new, |found| self.compare(wanted, Some(found), at));
        }
        let Some(found) = found else { return vec![format!("{at} is missing")] };
        if let Some(sample) = fields.and_then(|fields| marked(fields, "$any")) {
            let sample = self.fill(sample);
            let same = std::mem::discriminant(&sample) == std::mem::discriminant(found);
            return if same { vec![] } else { vec![format!("{at} is {found}, not a value such as {sample}")] };
        }
        if let Some(name) = wanted.as_str().and_then(whole)
            && !self.known.contains_key(name)
        {
            self.set(name, found.clone());
            return vec![];
        }
        match (wanted, found) {
            (Value::Object(wanted), Value::Object(found)) => wanted
                .iter()
                .flat_map(|(name, field)| self.compare(field, found.get(name), &format!("{at}/{name}")))
                .collect(),
            (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
                let pairs = wanted.iter().zip(found).enumerate();
                pairs
                    .flat_map(|(no, (wanted, found))| self.compare(wanted, Some(found), &format!("{at}/{no}")))
                    .collect()
            }
            _ => {
                let wanted = self.fill(wanted);
                if wanted == *found { vec![] } else { vec![format!("{at} is {found}, not {wanted}")] }
            }
        }
    }
}

/// The name, when the text is one and nothing else.
fn whole(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}').filter(|name| !name.contains("${"))
}

fn marked<'a>(fields: &'a Map<String, Value>, mark: &str) -> Option<&'a Value> {
    fields.get(mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_bound_once_and_samples_fill_in() {
        let mut values = Values::new(&json!({"root": "/home/u/app", "session": "s1"}));
        let message = json!({"path": "${root}/a", "id": "${session}", "at": {"$any": 5}, "after": {"$optional": 0}});
        assert_eq!(values.fill(&message), json!({"path": "/home/u/app/a", "id": "s1", "at": 5, "after": 0}));
        values.set("root", "/w");
        let found = json!({"path": "/w/a", "id": "s9", "at": 77, "more": true});
        assert_eq!(values.compare(&message, Some(&found), ""), [""; 0]);
        assert_eq!(values.fill(&json!("${session}")), "s9");
        let found = json!({"path": "/home/u/app/a", "id": "s8", "at": "77"});
        let told = values.compare(&message, Some(&found), "");
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[1].starts_with("/id is \"s8\""), "{told:?}");
    }
}
