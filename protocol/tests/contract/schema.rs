//! The committed schema equals the generated one; `UPDATE_SCHEMA=1` writes it.

use std::path::Path;

#[test]
fn the_committed_schema_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/plimsoll.schema.json");
    let mut generated = serde_json::to_string_pretty(&plimsoll_protocol::schema::document()).unwrap();
    generated.push('\n');
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "protocol/schema/plimsoll.schema.json is not what the types say; run \
         `UPDATE_SCHEMA=1 cargo test -p plimsoll-protocol` and look at the difference"
    );
}

#[test]
fn every_reference_in_the_schema_is_defined() {
    fn check(value: &serde_json::Value, root: &serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(|to| to.as_str()) {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(root.pointer(pointer).is_some(), "{reference}");
                }
                fields.values().for_each(|field| check(field, root));
            }
            serde_json::Value::Array(entries) => entries.iter().for_each(|entry| check(entry, root)),
            _ => {}
        }
    }
    let document = plimsoll_protocol::schema::document();
    check(&document, &document);
}
