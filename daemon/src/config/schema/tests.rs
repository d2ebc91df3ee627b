use super::super::raw::RawConfig;
use super::super::{Config, Folders, Overrides};
use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A name that no key is near to.
const UNKNOWN: &str = "zzzzzzzzzzzz";
/// The name of every provider, model and header of the samples.
const CHOSEN: &str = "x";

/// Keys of the schema, each with its own; tables before what stands below them.
fn walk<'a>(schema: &'a Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, &'a Value)>) {
    found.push((path.clone(), schema));
    let named = properties(schema).into_iter().flatten().map(|(name, below)| (name.as_str(), below));
    let chosen = schema.get("additionalProperties").filter(|below| below.is_object()).map(|below| (CHOSEN, below));
    for (name, below) in named.chain(chosen) {
        path.push(name.to_owned());
        walk(below, path, found);
        path.pop();
    }
}

fn all(schema: &Value) -> Vec<(Vec<String>, &Value)> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut found);
    found
}

fn leaves(schema: &Value) -> Vec<(Vec<String>, &Value)> {
    all(schema).into_iter().filter(|(_, schema)| schema["type"] != "object").collect()
}

/// A file with this value at this key.
fn file_with(path: &[String], value: &str) -> String {
    let (last, above) = path.split_last().unwrap();
    let head = if above.is_empty() { String::new() } else { format!("[{}]\n", above.join(".")) };
    format!("{head}{last} = {value}\n")
}

fn parse(text: &str) -> Result<RawConfig, String> {
    RawConfig::parse(Path::new("c.toml"), text).map_err(|error| error.to_string())
}

/// A value that the key takes, the strictest where values have an order.
fn sample(path: &[String], schema: &Value) -> String {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (path.as_slice(), schema["type"].as_str().unwrap()) {
        (["model"] | [.., "summary_model"], _) => "\"a/two\"".to_owned(),
        ([.., "base_url"], _) => "\"http://127.0.0.1:1/v1\"".to_owned(),
        ([.., "writable"] | ["skills", "paths"], _) => "[\"/srv/x\"]".to_owned(),
        (["context", "load_lines"], _) => "[50, 60, 70]".to_owned(),
        (_, "array") => "[\"grep\"]".to_owned(),
        (_, "boolean") => "true".to_owned(),
        (_, "integer" | "number") => schema["minimum"].as_f64().unwrap().to_string(),
        (_, "string") if schema["enum"].is_array() => schema["enum"][0].to_string(),
        (_, "string") => "\"X\"".to_owned(),
        (path, other) => panic!("{path:?} is of type {other}"),
    }
}

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    for (name, schema) in [("config", of_file()), ("project", of_project())] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schema/{name}.schema.json"));
        let generated = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&path, &generated).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        // How the names of an object are ordered is no difference.
        assert!(
            serde_json::from_str::<Value>(&committed).ok().as_ref() == Some(schema),
            "daemon/schema/{name}.schema.json is not what the types say; run the test with UPDATE_SCHEMA=1 and look at the \
             difference"
        );
    }
}

#[test]
fn the_schema_has_the_keys_that_are_read_and_no_others() {
    for (path, schema) in all(of_file()) {
        let Some(known) = properties(schema) else { continue };
        let unknown = [path.as_slice(), &[UNKNOWN.to_owned()]].concat();
        let warnings = parse(&file_with(&unknown, "1")).unwrap().warnings;
        let [warning] = warnings.as_slice() else { panic!("{path:?}: {warnings:?}") };
        let read = warning.split("known here: ").nth(1).unwrap_or_else(|| panic!("{warning}"));
        let read: BTreeSet<&str> = read.split(", ").collect();
        let known: BTreeSet<&str> = known.keys().map(String::as_str).collect();
        assert_eq!(known, read, "{path:?}");
        assert_eq!(schema["additionalProperties"], false, "{path:?}");
    }
}

#[test]
fn what_the_schema_allows_is_read_and_what_it_forbids_is_not() {
    for (path, schema) in leaves(of_file()) {
        let parsed = |value: &str| parse(&file_with(&path, value));
        let sample = sample(&path, schema);
        parsed(&sample).unwrap_or_else(|error| panic!("{path:?} = {sample}: {error}"));
        let wrong = if schema["type"] == "string" { "7" } else { "\"seven\"" };
        assert!(parsed(wrong).is_err(), "{path:?} = {wrong}");
        if schema["enum"].is_array() {
            for word in schema["enum"].as_array().unwrap() {
                parsed(&word.to_string()).unwrap();
            }
            assert!(parsed("\"other\"").is_err(), "{path:?}");
        }
        if let (Some(least), Some(most)) = (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
            parsed(&most.to_string()).unwrap();
            for wrong in [least - 1.0, most + 1.0] {
                assert!(parsed(&wrong.to_string()).is_err(), "{path:?} = {wrong}");
            }
        }
    }
}

#[test]
fn every_key_says_what_it_is_what_counts_without_it_and_from_when_on() {
    for (path, schema) in leaves(of_file()).into_iter().chain(leaves(of_project())) {
        if path.ends_with(&["headers".to_owned(), CHOSEN.to_owned()]) {
            continue;
        }
        let description = schema["description"].as_str().unwrap_or_else(|| panic!("{path:?} has no description"));
        for part in ["Default: ", "Counts "] {
            assert!(description.contains(part), "{path:?}: {description}");
        }
    }
    let names = |key: &str| key.split('.').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(counts(&names("limits.session_cost")), Some("Counts from the next turn on."));
    assert_eq!(counts(&names("model")), Some("Counts for new sessions."));
    assert_eq!(counts(&names("limits")), None);
}

#[test]
fn the_projects_schema_has_what_counts_in_a_project_and_nothing_else() {
    const USER: &str = "[providers.a]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
        [providers.a.models.two]\ncontext_window = 8192\n";
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let folders = Folders { config: at("c"), data: at("d"), runtime: at("r"), managed: at("managed.toml") };
    for folder in ["c", "p/.plimsoll"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(folders.config_file(), USER).unwrap();
    let own: BTreeMap<Vec<String>, &Value> = leaves(of_project()).into_iter().collect();
    for (path, schema) in leaves(of_file()) {
        let text = file_with(&path, &sample(&path, schema));
        fs::write(at("p/.plimsoll/config.toml"), &text).unwrap();
        let config = Config::load_for(&folders, &BTreeMap::new(), Some(&at("p")), &Overrides::default()).unwrap();
        let ignored = config.warnings.iter().any(|warning| warning.contains(": ignored: "));
        assert_eq!(ignored, !own.contains_key(&path), "{path:?}: {:?}", config.warnings);
        if let Some(project) = own.get(&path) {
            assert_eq!(project["type"], schema["type"], "{path:?}");
        }
    }
    assert!(own.keys().all(|path| kind(path).is_ok()));
}

#[test]
fn a_keys_kind_is_known_and_an_unknown_one_says_what_is_known() {
    let of = |key: &str| kind(&key.split('.').map(str::to_owned).collect::<Vec<_>>());
    for (key, expected) in [
        ("model", Kind::Text),
        ("permissions.mode", Kind::Text),
        ("permissions.allow", Kind::Texts),
        ("limits.max_steps_per_turn", Kind::Number),
        ("limits.session_cost", Kind::Fraction),
        ("consent.offer", Kind::Boolean),
        ("context.load_lines", Kind::Numbers),
        ("context.compaction", Kind::Text),
        ("limits", Kind::Table),
        ("providers", Kind::Table),
        ("providers.mine", Kind::Table),
        ("providers.mine.headers.X-Team", Kind::Text),
        ("providers.mine.models.big.images", Kind::Boolean),
    ] {
        assert_eq!(of(key), Ok(expected), "{key}");
    }
    let unknown = of("limits.steps.x").unwrap_err();
    assert_eq!(
        (unknown.path.join("."), unknown.known),
        ("limits.steps".to_owned(), vec!["max_steps_per_turn", "session_cost"])
    );
    assert_eq!(of("model.x").unwrap_err().known, Vec::<&str>::new());
}
