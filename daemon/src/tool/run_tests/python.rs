//! Python takes what it has compiled of a file for that file as long as size and second of the change are the same: an edit
//! within a second that keeps the size would be tested as the file before. So a run neither reads bytecode that lies beside
//! the sources nor leaves any there.

use crate::tool::ToolEnv;
use crate::tool::run_terminal_cmd::limits::temporary;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// The environment for it, and the empty folder that it names, in which the run may write; removed when it is dropped. The
/// error is text for the model.
pub(super) fn no_old_bytecode(env: &ToolEnv) -> Result<(TempDir, BTreeMap<String, String>), String> {
    let mut places = temporary(env);
    places.push(env.session_dir.join("artifacts"));
    let mut problems = Vec::new();
    for place in places {
        match tempfile::Builder::new().prefix("plimsoll-bytecode-").tempdir_in(&place) {
            Ok(folder) => {
                let Some(path) = folder.path().to_str().map(str::to_owned) else { continue };
                let variables = [("PYTHONDONTWRITEBYTECODE", "1".to_owned()), ("PYTHONPYCACHEPREFIX", path)];
                return Ok((folder, variables.map(|(name, value)| (name.to_owned(), value)).into()));
            }
            Err(error) => problems.push(format!("{}: {error}", place.display())),
        }
    }
    Err(format!(
        "The tests were not run: no folder for temporary files can be made ({}). Tell the user to see that it has room and is \
         writable.",
        problems.join("; ")
    ))
}
