//! `plimsoll setup service`: the daemon as a service of the user, started at login.

use super::super::args::SetupService;
use super::super::build;
use super::super::connect::CommandError;
use super::super::out::{self, Style};
use super::{place, refused};
use crate::config::{env, user_folders};
use crate::process::service_manager;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What stands in every file that was written here.
const MARK: &str = "Written by `plimsoll setup service`";
/// The unit's name.
const UNIT: &str = "plimsoll.service";
/// The agent's name.
const LABEL: &str = "plimsoll.daemon";
/// The variables that decide which data folder the daemon has; those that are set are the service's too.
const KEPT: [&str; 3] = [env::CONFIG_DIR, env::DATA_DIR, env::RUNTIME_DIR];

/// Who starts services of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    fn of_system() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// The file's path, from the user's home and the folder of configurations.
    fn file(self, home: &Path, configurations: &Path) -> PathBuf {
        match self {
            Self::Systemd => configurations.join("systemd/user").join(UNIT),
            Self::Launchd => home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")),
        }
    }

    /// The file's text, for this program and these variables.
    fn text(self, program: &str, variables: &[(&str, String)]) -> String {
        match self {
            Self::Systemd => unit(program, variables),
            Self::Launchd => agent(program, variables),
        }
    }

    /// The commands that make it known, and take it away.
    fn commands(self, path: &Path, remove: bool) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let path = path.to_string_lossy();
        match (self, remove) {
            (Self::Systemd, false) => {
                vec![words(&["systemctl", "--user", "daemon-reload"]), words(&["systemctl", "--user", "enable", UNIT])]
            }
            (Self::Systemd, true) => vec![words(&["systemctl", "--user", "disable", UNIT])],
            (Self::Launchd, false) => vec![words(&["launchctl", "load", "-w", &path])],
            (Self::Launchd, true) => vec![words(&["launchctl", "unload", "-w", &path])],
        }
    }
}

fn unit(program: &str, variables: &[(&str, String)]) -> String {
    let mut environment = String::new();
    for (name, value) in variables {
        let _ = writeln!(environment, "Environment={}", quoted(&format!("{name}={value}"), false));
    }
    format!(
        "# {MARK}; `plimsoll setup service --remove` takes it away.\n\
         [Unit]\n\
         Description=Plimsoll, a local daemon that gives any editor a coding agent\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={} daemon\n\
         {environment}\
         # It ends well when nobody needs it, another one runs, or another build takes its place.\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         # It ends its commands itself.\n\
         KillMode=mixed\n\
         TimeoutStopSec=30\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        quoted(program, true)
    )
}

/// A word of a unit file as systemd.syntax(7) has it; `$` is special where a command stands.
fn quoted(word: &str, command: bool) -> String {
    let mut text = String::from("\"");
    for letter in word.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '%' => text.push_str("%%"),
            '$' if command => text.push_str("$$"),
            '\n' => text.push_str("\\n"),
            _ => text.push(letter),
        }
    }
    text.push('"');
    text
}

fn agent(program: &str, variables: &[(&str, String)]) -> String {
    let mut environment = String::new();
    for (name, value) in variables {
        let _ = writeln!(environment, "    <key>{name}</key>\n    <string>{}</string>", xml(value));
    }
    if !environment.is_empty() {
        environment = format!("  <key>EnvironmentVariables</key>\n  <dict>\n{environment}  </dict>\n");
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {MARK}; `plimsoll setup service remove` takes it away. -->\n\
         <plist version=\"1.0\">\n<dict>\n\
         \x20 <key>Label</key>\n  <string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n    <string>{}</string>\n    <string>daemon</string>\n  </array>\n\
         {environment}\
         \x20 <key>RunAtLoad</key>\n  <true/>\n\
         \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         \x20 <key>ThrottleInterval</key>\n  <integer>10</integer>\n\
         </dict>\n</plist>\n",
        xml(program)
    )
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// What a run works with: where the file is, and what it shall be.
struct Wanted {
    manager: Manager,
    path: PathBuf,
    text: String,
}

impl Wanted {
    fn of_process() -> Result<Self, CommandError> {
        let manager = Manager::of_system();
        let (home, configurations) = user_folders()?;
        let program =
            build::path().and_then(|path| path.to_str().map(str::to_owned)).ok_or_else(|| CommandError::Argument {
                message: "the path of this program is not known, or is not text".to_owned(),
                hint: "install it at another place".to_owned(),
            })?;
        let set = |name: &'static str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
            let absolute = std::path::absolute(value).ok()?;
            Some((name, absolute.to_str()?.to_owned()))
        };
        let variables: Vec<(&str, String)> = KEPT.into_iter().filter_map(set).collect();
        let path = manager.file(&home, &configurations);
        Ok(Self { manager, path, text: manager.text(&program, &variables) })
    }
}

/// Runs `plimsoll setup service`.
pub fn main(arguments: &SetupService) -> ExitCode {
    let run = || {
        let wanted = Wanted::of_process()?;
        if arguments.print {
            out::print(&wanted.text)?;
            return Ok(ExitCode::SUCCESS);
        }
        if arguments.remove { remove(&wanted, arguments.yes) } else { write(&wanted, arguments.yes) }
    };
    run().unwrap_or_else(|error: CommandError| error.report())
}

fn write(wanted: &Wanted, yes: bool) -> Result<ExitCode, CommandError> {
    let Wanted { manager, path, text } = wanted;
    let before = place::read(path)?;
    if before.as_ref() == Some(text) {
        out::note(&format!("{} is there already", path.display()));
    } else {
        let what = if before.is_some() { "is changed" } else { "is made" };
        out::note(&format!("{} {what}:\n", path.display()));
        out::note(&place::difference(before.as_deref(), text, Style::of_stderr()));
        if let Some(code) = refused(yes, "Write it?") {
            return Ok(code);
        }
        if let Some(kept) = place::replace(path, before.as_deref(), text)? {
            out::note(&format!("what was there is kept in {}", kept.display()));
        }
        out::note(&format!("written: {}", path.display()));
    }
    if tell(&manager.commands(path, false)) {
        out::note("the daemon is started at your next login, and before that by whoever needs it");
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(wanted: &Wanted, yes: bool) -> Result<ExitCode, CommandError> {
    let Wanted { manager, path, .. } = wanted;
    let Some(before) = place::read(path)? else {
        out::note(&format!("there is no {}", path.display()));
        return Ok(ExitCode::SUCCESS);
    };
    if !before.contains(MARK) {
        return Err(CommandError::Argument {
            message: format!("{} was not written by Plimsoll", path.display()),
            hint: "remove it yourself if you do not need it".to_owned(),
        });
    }
    out::note(&format!("{} is removed; a daemon that runs goes on", path.display()));
    if let Some(code) = refused(yes, "Remove it?") {
        return Ok(code);
    }
    tell(&manager.commands(path, true));
    place::remove(path)?;
    out::note(&format!("removed: {}", path.display()));
    Ok(ExitCode::SUCCESS)
}

/// Tells the manager; where it is not there or does not listen, says what to run. Whether all was done.
fn tell(commands: &[Vec<String>]) -> bool {
    for (at, command) in commands.iter().enumerate() {
        let Some((program, arguments)) = command.split_first() else { continue };
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        if let Err(error) = service_manager::run(program, &arguments) {
            let left: Vec<String> = commands.iter().skip(at).map(|command| command.join(" ")).collect();
            out::note(&format!(
                "`{}` could not be run: {error}\nrun it yourself: {}",
                command.join(" "),
                left.join(" && ")
            ));
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_starts_the_daemon_again_only_when_it_failed() {
        let text = Manager::Systemd.text("/opt/my \"apps\"/50%$x", &[("PLIMSOLL_DATA_DIR", "/d $a".to_owned())]);
        let lines: Vec<&str> = text.lines().collect();
        for line in [
            "ExecStart=\"/opt/my \\\"apps\\\"/50%%$$x\" daemon",
            "Environment=\"PLIMSOLL_DATA_DIR=/d $a\"",
            "Restart=on-failure",
            "KillMode=mixed",
            "WantedBy=default.target",
        ] {
            assert!(lines.contains(&line), "{line} in {text}");
        }
        assert!(text.starts_with(&format!("# {MARK}")));
    }

    #[test]
    fn an_agent_is_xml_and_starts_the_daemon_again_only_when_it_failed() {
        let text = Manager::Launchd.text("/a & <b>", &[("PLIMSOLL_DATA_DIR", "/d".to_owned())]);
        assert!(text.contains("<string>/a &amp; &lt;b&gt;</string>\n    <string>daemon</string>"), "{text}");
        assert!(text.contains("<key>SuccessfulExit</key>\n    <false/>"), "{text}");
        assert!(text.contains("<key>PLIMSOLL_DATA_DIR</key>\n    <string>/d</string>"), "{text}");
        // A comment in XML must not hold two hyphens.
        assert!(text.contains(MARK) && !text.contains("service --"), "{text}");
        assert!(!Manager::Launchd.text("/a", &[]).contains("EnvironmentVariables"));
    }

    #[test]
    fn the_file_is_where_the_manager_looks() {
        let home = Path::new("/home/me");
        let systemd = Manager::Systemd.file(home, Path::new("/c"));
        assert_eq!(systemd, Path::new("/c/systemd/user/plimsoll.service"));
        let launchd = Manager::Launchd.file(home, Path::new("/c"));
        assert_eq!(launchd, Path::new("/home/me/Library/LaunchAgents/plimsoll.daemon.plist"));
    }
}
