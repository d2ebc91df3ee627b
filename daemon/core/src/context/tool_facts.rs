//! What tool definitions depend on beside their texts. An epoch keeps it; when it is otherwise at a turn's start, a new epoch
//! is due. Texts are not among it: a newer binary goes on with the definitions that were sent. Neither are the lists that
//! a definition shows: which of their entries changed is told at the tail, which costs nothing.

use crate::model::request::ToolDef;
use crate::permission::policy::{Policy, Shell};
use crate::transcript::epoch::ToolFacts;

/// The facts for these definitions.
pub fn tool_facts(tools: &[ToolDef], policy: &Policy) -> ToolFacts {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let shell = match policy.shell {
        Shell::Bash => "bash",
        Shell::Other => "other",
    };
    let sandbox = format!("files {}, network {}", policy.sandbox.files, policy.sandbox.network);
    let facts = [
        ("tools", names.join(" ")),
        ("trusted", policy.trusted.to_string()),
        ("shell", shell.to_owned()),
        ("sandbox", sandbox),
    ];
    ToolFacts(facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::policy::Sandbox;

    #[test]
    fn names_and_surroundings_count_and_texts_do_not() {
        let tool = |name: &str, description: &str| ToolDef {
            name: name.into(),
            description: description.into(),
            schema: "{}".into(),
        };
        let policy = Policy::default();
        let facts = tool_facts(&[tool("grep", "a")], &policy);
        assert!(!facts.differ(&tool_facts(&[tool("grep", "b")], &policy)));
        assert!(facts.differ(&tool_facts(&[tool("grep", "a"), tool("write", "")], &policy)));
        let held = Policy { sandbox: Sandbox { files: true, network: false }, ..Policy::default() };
        let trusted = Policy { trusted: true, ..Policy::default() };
        assert!(facts.differ(&tool_facts(&[tool("grep", "a")], &held)));
        assert!(facts.differ(&tool_facts(&[tool("grep", "a")], &trusted)));
        assert!(!ToolFacts::default().differ(&facts), "an earlier build wrote none");
    }
}
