//! The world tools of this build, by name.

use super::Tool;
use super::apply_patch::ApplyPatch;
use super::delete_file::DeleteFile;
use super::glob_file_search::GlobFileSearch;
use super::grep::Grep;
use super::list_dir::ListDir;
use super::multi_edit::MultiEdit;
use super::read_file::ReadFile;
use super::run_tests::RunTests;
use super::stop_task::StopTask;
use super::string_replace::StringReplace;
use super::task_output::TaskOutput;
use super::update_memory::UpdateMemory;
use super::write::Write;
use crate::process::Helper;
use crate::process::background::Background;
use std::collections::BTreeMap;
use std::sync::Arc;

/// World tools by the name in their [`Spec`](plimsoll_core::tool::spec::Spec).
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
}

impl Registry {
    /// The tools that need nothing beside their values, and `more`.
    pub fn new(more: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let own: [Arc<dyn Tool>; 10] = [
            Arc::new(ReadFile),
            Arc::new(ListDir),
            Arc::new(GlobFileSearch),
            Arc::new(Grep),
            Arc::new(StringReplace),
            Arc::new(MultiEdit),
            Arc::new(Write),
            Arc::new(DeleteFile),
            Arc::new(ApplyPatch),
            Arc::new(UpdateMemory),
        ];
        Self { tools: own.into_iter().chain(more).map(|tool| (tool.name(), tool)).collect() }
    }

    /// The same with the tool that runs commands, those that look after what goes on in the background, and, where there is a
    /// helper that starts commands, the one that runs the project's tests.
    pub fn with_commands(commands: Arc<dyn Tool>, helper: Option<Helper>, background: &Arc<Background>) -> Self {
        let (output, stop) = (TaskOutput::new(Arc::clone(background)), StopTask::new(Arc::clone(background)));
        let tests = helper.map(|helper| -> Arc<dyn Tool> { Arc::new(RunTests::new(helper, Arc::clone(background))) });
        let own: [Arc<dyn Tool>; 3] = [commands, Arc::new(output), Arc::new(stop)];
        Self::new(own.into_iter().chain(tests))
    }

    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::tool::spec::{self, Kind};

    #[test]
    fn every_tool_has_a_spec_of_a_world_tool() {
        let registry = Registry::new([]);
        assert_eq!(registry.tools.len(), 10);
        for (name, tool) in &registry.tools {
            assert_eq!(tool.name(), *name);
            assert_eq!(spec::find(name).map(|spec| spec.kind), Some(Kind::World), "{name}");
        }
        assert!(registry.get("todo_write").is_none());
    }
}
