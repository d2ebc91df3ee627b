use super::super::{Config, ConfigError, Folders, Overrides};
use super::*;
use std::collections::BTreeMap;
use std::fs;

/// What these `[permissions]` of the user, a project and an administrator come to; an empty text means no file.
fn load(user: &str, project: &str, managed: &str) -> Result<Config, ConfigError> {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let folders = Folders { config: at("config"), data: at("data"), runtime: at("run"), managed: at("managed.toml") };
    for (file, text) in [
        (folders.config_file(), user),
        (at("project/.plimsoll/config.toml"), project),
        (folders.managed.clone(), managed),
    ] {
        if !text.is_empty() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("[permissions]\n{text}\n")).unwrap();
        }
    }
    Config::load_for(&folders, &BTreeMap::new(), Some(&at("project")), &Overrides::default())
}

fn rules(config: &Config) -> Vec<(Scope, Verdict, String)> {
    config.permissions.rules.iter().map(|rule| (rule.scope, rule.verdict, rule.matcher.to_string())).collect()
}

#[test]
fn rules_of_all_files_count_and_a_project_only_restricts() {
    let config = load(
        "allow = [\"run_terminal_cmd(make *)\"]\nwritable = [\"~/.cache/x\"]",
        "mode = \"plan\"\nallow = [\"run_terminal_cmd(rm *)\"]\nask = [\"grep\"]\ndeny = [\"nonsense\", \"read_file(secret/**)\"]\n\
         writable = [\"/\"]\nmax_mode = \"full\"",
        "deny = [\"run_terminal_cmd(git push *)\"]\nwritable = [\"/srv/out\"]",
    )
    .unwrap();
    let expected = [
        (Scope::User, Verdict::Allow, "run_terminal_cmd(make *)"),
        (Scope::Project, Verdict::Ask, "grep"),
        (Scope::Project, Verdict::Deny, "read_file(secret/**)"),
        (Scope::Managed, Verdict::Deny, "run_terminal_cmd(git push *)"),
    ];
    assert_eq!(rules(&config), expected.map(|(scope, verdict, text)| (scope, verdict, text.to_owned())));
    assert_eq!(config.permissions.mode, PermissionMode::Plan);
    let folders = config.permissions.writable(Some(Path::new("/home/u")));
    assert_eq!(folders, [PathBuf::from("/home/u/.cache/x"), PathBuf::from("/srv/out")]);
    assert_eq!(config.permissions.writable(None), [PathBuf::from("/srv/out")]);
    let warned = |part: &str| config.warnings.iter().filter(|warning| warning.contains(part)).count();
    let parts = [
        "`permissions.allow`: ignored: a project cannot grant",
        "`permissions.writable`: ignored: a project cannot grant",
        "`permissions.max_mode`: ignored",
        "`nonsense` is not a rule: there is no tool `nonsense`",
    ];
    assert_eq!(parts.map(warned), [1; 4], "{:?}", config.warnings);
}

#[test]
fn a_wrong_rule_of_the_user_or_the_administrator_is_an_error() {
    for (user, managed) in [("deny = [\"nonsense\"]", ""), ("", "deny = [\"nonsense\"]")] {
        let error = load(user, "", managed).unwrap_err();
        let expected = "`nonsense` is not a rule: there is no tool `nonsense`; there are read_file, ";
        assert!(error.problem.starts_with(expected), "{error}");
        assert!(matches!(&error.place, Place::File { line: 2, key, .. } if key == "permissions.deny"), "{error}");
    }
}

#[test]
fn an_administrator_sets_the_mode_or_bounds_it() {
    use PermissionMode::{Ask, Auto, Full, Plan};
    let set = load("mode = \"full\"", "", "mode = \"ask\"").unwrap().permissions;
    assert_eq!((set.mode, set.held(Full), set.held(Plan), set.check(Ask)), (Ask, Ask, Ask, Ok(Ask)));
    assert!(set.check(Plan).unwrap_err().problem.contains("your administrator has set the mode to \"ask\""));
    let bounded = load("mode = \"full\"", "", "max_mode = \"auto\"").unwrap().permissions;
    assert_eq!((bounded.mode, bounded.held(Full), bounded.held(Plan)), (Auto, Auto, Plan));
    assert_eq!((bounded.check(Auto), bounded.check(Plan)), (Ok(Auto), Ok(Plan)));
    assert!(bounded.check(Full).unwrap_err().problem.contains("no mode freer than \"auto\""));
    let own = load("mode = \"auto\"\nmax_mode = \"plan\"", "", "").unwrap();
    assert_eq!((own.permissions.mode, own.permissions.held(Full)), (Auto, Full));
    assert!(own.warnings.iter().any(|warning| warning.contains("only an administrator")), "{:?}", own.warnings);
}
