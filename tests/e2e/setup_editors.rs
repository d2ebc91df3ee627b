//! `plimsoll setup zed` and `jetbrains` on files that are missing, empty, somebody's, malformed, and not to be written.

use plimsoll_tests::in_time;
use plimsoll_tests::machine::Machine;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Each editor with its file below the home folder.
const EDITORS: [(&str, &str); 2] = [("zed", ".config/zed/settings.json"), ("jetbrains", ".jetbrains/acp.json")];

struct Setup {
    machine: Machine,
    editor: &'static str,
    file: PathBuf,
}

impl Setup {
    fn all() -> [Self; 2] {
        EDITORS.map(|(editor, file)| {
            let machine = Machine::new(plimsoll_tests::binary!());
            let file = PathBuf::from(&machine.environment()["HOME"]).join(file);
            Self { machine, editor, file }
        })
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let arguments = [&["setup", self.editor][..], arguments].concat();
        in_time("setup", self.machine.command(Path::new("/"), &arguments).output()).await.expect("it runs")
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.file.parent().expect("a folder")).expect("it can be made");
        fs::write(&self.file, text).expect("it can be written");
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).expect("a file")
    }

    /// The entry must start the program of this machine, and reach its daemon.
    fn assert_entry(&self, entry: &Value) {
        let environment = self.machine.environment();
        let kept = ["PLIMSOLL_CONFIG_DIR", "PLIMSOLL_DATA_DIR", "PLIMSOLL_RUNTIME_DIR"];
        let kept: Value = kept.iter().map(|name| ((*name).to_owned(), json!(environment[*name]))).collect();
        assert_eq!((&entry["args"], &entry["env"]), (&json!(["acp"]), &kept), "{}", self.editor);
        assert!(Path::new(entry["command"].as_str().expect("a path")).is_file());
        assert_eq!(entry.get("type").is_some(), self.editor == "zed");
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn a_missing_or_empty_file_gets_the_entry() {
    for setup in Setup::all() {
        let printed = setup.run(&["--print"]).await;
        assert!(printed.status.success() && !setup.file.exists(), "nothing is written");
        let printed: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
        setup.assert_entry(&printed["agent_servers"]["Plimsoll"]);

        let nobody = setup.run(&[]).await;
        assert_eq!((nobody.status.code(), setup.file.exists()), (Some(3), false), "{}", said(&nobody));
        for before in [None, Some(""), Some("\n")] {
            if let Some(before) = before {
                setup.write(before);
            }
            let output = setup.run(&["--yes"]).await;
            assert!(output.status.success() && said(&output).contains("+    \"Plimsoll\": {"), "{}", said(&output));
            let written: Value = serde_json::from_str(&setup.text()).expect("JSON");
            assert_eq!(written, printed);
        }
        let again = setup.run(&["--yes"]).await;
        assert!(again.status.success() && said(&again).contains("has the entry Plimsoll already"), "{}", said(&again));
    }
}

#[tokio::test]
async fn what_is_there_stays_and_the_entry_can_be_taken_away_again() {
    for setup in Setup::all() {
        let before = "// mine\n{\n  \"theme\": \"One Dark\", // at night\n  \"agent_servers\": {\n    \
                      \"Other\": { \"command\": \"other\" }\n  },\n  \"list\": [1, 2]\n}\n";
        setup.write(before);
        fs::set_permissions(&setup.file, Permissions::from_mode(0o600)).expect("the file is ours");
        let output = setup.run(&["-y"]).await;
        assert!(output.status.success(), "{}", said(&output));
        let after = setup.text();
        for part in [
            "// mine",
            "\"theme\": \"One Dark\", // at night",
            "\"Other\": { \"command\": \"other\" }",
            "\"list\": [1, 2]",
        ] {
            assert!(after.contains(part), "{part} is not in {after}");
        }
        assert!(after.contains("\"Plimsoll\": {"));
        assert_eq!(fs::metadata(&setup.file).expect("a file").permissions().mode() & 0o777, 0o600);
        let kept = PathBuf::from(format!("{}.before", setup.file.display()));
        assert_eq!(fs::read_to_string(kept).expect("what was there is kept"), before);

        let removed = setup.run(&["--remove", "-y"]).await;
        assert!(removed.status.success() && !setup.text().contains("Plimsoll"), "{}", said(&removed));
        assert!(setup.text().contains("\"Other\": { \"command\": \"other\" }"));
        let nothing = setup.run(&["--remove", "-y"]).await;
        assert!(nothing.status.success() && said(&nothing).contains("has no entry Plimsoll"), "{}", said(&nothing));
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_changed_stays_as_it_is() {
    for setup in Setup::all() {
        for before in ["{ \"theme\": ", "[]", "{\"agent_servers\": []}"] {
            setup.write(before);
            let output = setup.run(&["--yes"]).await;
            let complaint = said(&output);
            assert_eq!((output.status.code(), setup.text().as_str()), (Some(1), before), "{complaint}");
            assert!(
                complaint.contains(setup.file.to_str().expect("text")) && complaint.contains("--print"),
                "{complaint}"
            );
        }
        setup.write("{}\n");
        fs::set_permissions(&setup.file, Permissions::from_mode(0o400)).expect("the file is ours");
        let output = setup.run(&["--yes"]).await;
        assert_eq!((output.status.code(), setup.text().as_str()), (Some(1), "{}\n"), "{}", said(&output));
        assert!(said(&output).contains("cannot be written"), "{}", said(&output));
    }
}
