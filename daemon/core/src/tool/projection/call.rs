//! The exact calls that notices of omission name: a tool and its arguments as one line of JSON.

use serde_json::Value;

/// `<tool> {"field":value,…}` with the fields in the given order; nulls are left out.
pub(crate) fn call(tool: &str, fields: &[(&str, Value)]) -> String {
    let mut out = format!("{tool} {{");
    let mut first = true;
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        if !first {
            out.push(',');
        }
        first = false;
        out.push('"');
        out.push_str(name);
        out.push_str("\":");
        out.push_str(&value.to_string());
    }
    out.push('}');
    out
}

/// The call that a result came from once more, without a cursor and with one field set. `known` are fields for results that
/// were stored without their arguments.
pub(crate) fn again(tool: &str, args: &Value, known: &[(&str, Value)], field: (&str, Value)) -> String {
    let mut fields: Vec<(&str, Value)> = match args {
        Value::Object(args) => args.iter().map(|(name, value)| (name.as_str(), value.clone())).collect(),
        _ => known.to_vec(),
    };
    fields.retain(|(name, _)| *name != "cursor" && *name != field.0);
    fields.push(field);
    call(tool, &fields)
}

/// Versions are shown by their first digits: enough to tell any two versions of one file apart.
pub(crate) fn short_version(version: &str) -> &str {
    version.get(..VERSION_DIGITS).unwrap_or(version)
}

/// Digits of a version that headers and calls show; tools take any start of a version from this length on.
pub const VERSION_DIGITS: usize = 12;
