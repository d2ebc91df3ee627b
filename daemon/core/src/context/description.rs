//! Descriptions of tools, as they are sent. Some depend on where the session works: made once, at an epoch's start.
//!
//! None depends on the permission mode, which changes inside an epoch, and none names what is not there.

use super::cut::one_line;
use super::rules;
use crate::permission::policy::Sandbox;
use crate::prompt::{self, Prompts};
use crate::tool::spec::Spec;
use crate::workspace::Rule;

/// What a description may depend on.
#[derive(Debug, Clone, Copy)]
pub struct DescriptionContext<'a> {
    /// Names of the tools that are sent.
    pub tools: &'a [&'a str],
    /// The shell that commands run in.
    pub shell: &'a str,
    /// What this machine can hold commands to.
    pub sandbox: Sandbox,
    /// Rules that can be asked for.
    pub rules: &'a [Rule],
}

/// The description of a tool.
pub fn description(spec: &Spec, prompts: &Prompts, context: &DescriptionContext<'_>) -> String {
    let text = spec.description(prompts);
    let values: Vec<(&str, String)> =
        text.placeholders.iter().map(|name| (*name, value(name, prompts, context))).collect();
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    prompts.render(text, &values).trim_end().to_owned()
}

/// What stands for a placeholder. One that is not known has no value: a test holds the table of tools to these.
fn value(placeholder: &str, prompts: &Prompts, context: &DescriptionContext<'_>) -> String {
    match placeholder {
        "shell" => one_line(context.shell),
        "sandbox" => held(context.sandbox, prompts).to_owned(),
        "dedicated" => prompts.dedicated(context.tools),
        "rules" => rules::described(context.rules),
        _ => String::new(),
    }
}

fn held(sandbox: Sandbox, prompts: &Prompts) -> &str {
    prompts.text(match (sandbox.files, sandbox.network) {
        (true, true) => &prompt::COMMAND_HELD,
        (true, false) => &prompt::COMMAND_HELD_FILES,
        (false, true) => &prompt::COMMAND_HELD_NETWORK,
        (false, false) => &prompt::COMMAND_HELD_NOTHING,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Bundle, Text};
    use crate::tool::spec::{SPECS, find};

    const TOOLS: &[&str] = &["read_file", "run_terminal_cmd"];

    fn context() -> DescriptionContext<'static> {
        DescriptionContext { tools: TOOLS, shell: "sh", sandbox: Sandbox::default(), rules: &[] }
    }

    #[test]
    fn every_placeholder_of_a_description_has_a_value() {
        let rule = Rule {
            name: "r".into(),
            path: "p".into(),
            root: None,
            description: None,
            globs: vec![],
            text: String::new(),
        };
        let context = DescriptionContext { rules: &[rule], ..context() };
        for spec in SPECS {
            assert_eq!(spec.lean.placeholders, spec.full.placeholders);
            for placeholder in spec.full.placeholders {
                assert_ne!(value(placeholder, &Prompts::default(), &context), "", "{}: {placeholder}", spec.name);
            }
        }
    }

    #[test]
    fn the_shell_command_names_its_shell_its_limits_and_the_tools_that_are_there() {
        let spec = find("run_terminal_cmd").unwrap();
        for bundle in [Bundle::Lean, Bundle::Full] {
            let prompts = Prompts { bundle, ..Prompts::default() };
            let mut seen = std::collections::BTreeSet::new();
            for (files, network) in [(true, true), (true, false), (false, true), (false, false)] {
                let text = description(
                    spec,
                    &prompts,
                    &DescriptionContext { sandbox: Sandbox { files, network }, ..context() },
                );
                assert!(
                    text.contains(" in sh, ") && text.contains("Read with read_file; use this for the rest."),
                    "{text}"
                );
                assert!(!text.contains("grep") && !text.contains("{{"), "{text}");
                assert!(seen.insert(text));
            }
        }
    }

    #[test]
    fn rules_are_listed_as_data_and_not_without_bound() {
        let rule = |name: &str, description: Option<&str>| Rule {
            name: name.into(),
            path: format!(".plimsoll/rules/{name}.md"),
            root: None,
            description: description.map(str::to_owned),
            globs: vec![],
            text: String::new(),
        };
        let text = rules::described(&[rule("api", Some("How to\nname <system-reminder>")), rule("b", None)]);
        assert_eq!(text, "- api: How to name &lt;system-reminder>\n- b");
        let many: Vec<Rule> = (0..2_000).map(|no| rule(&format!("rule-{no}"), None)).collect();
        let text = rules::described(&many);
        assert!(text.len() < 6_000 && text.contains(" of 2000 lines shown; "), "{}", text.len());
        let spec =
            Spec { full: Text::new("t", "Rules:\n{{rules}}\n", &["rules"]), lean: Text::new("l", "", &[]), ..SPECS[0] };
        assert_eq!(description(&spec, &Prompts::default(), &context()), "Rules:\nnone");
    }
}
