//! What tool definitions depend on beside their texts. An epoch keeps it; when it is otherwise at a turn's start, a new epoch
//! is due. Texts are not among it: a newer binary goes on with the definitions that were sent. Neither are the lists that
//! a definition shows: which of their entries changed is told at the tail, which costs nothing.

use crate::model::request::ToolDef;
use crate::permission::policy::Sandbox;
use crate::transcript::epoch::ToolFacts;

/// The facts for these definitions: the shell that commands run in, and what they can be held to.
pub fn tool_facts(tools: &[ToolDef], shell: &str, sandbox: Sandbox) -> ToolFacts {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let sandbox = format!("files {}, network {}", sandbox.files, sandbox.network);
    let facts = [("tools", names.join(" ")), ("shell", shell.to_owned()), ("sandbox", sandbox)];
    ToolFacts(facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_surroundings_count_and_texts_do_not() {
        let tool = |name: &str, description: &str| ToolDef {
            name: name.into(),
            description: description.into(),
            schema: "{}".into(),
        };
        let facts = tool_facts(&[tool("grep", "a")], "bash", Sandbox::default());
        assert!(!facts.differ(&tool_facts(&[tool("grep", "b")], "bash", Sandbox::default())));
        assert!(facts.differ(&tool_facts(&[tool("grep", "a"), tool("write", "")], "bash", Sandbox::default())));
        assert!(facts.differ(&tool_facts(&[tool("grep", "a")], "sh", Sandbox::default())));
        let held = Sandbox { files: true, network: false };
        assert!(facts.differ(&tool_facts(&[tool("grep", "a")], "bash", held)));
        assert!(!ToolFacts::default().differ(&facts), "an earlier build wrote none");
    }
}
