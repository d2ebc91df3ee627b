//! Every environment variable that Plimsoll itself reads, as data: the help text and the documentation print this
//! table. Keys of model providers are named by the configuration and are not in it.

/// Replaces the configuration folder.
pub const CONFIG_DIR: &str = "PLIMSOLL_CONFIG_DIR";
/// Replaces the data folder.
pub const DATA_DIR: &str = "PLIMSOLL_DATA_DIR";
/// Replaces the folder of the socket.
pub const RUNTIME_DIR: &str = "PLIMSOLL_RUNTIME_DIR";
/// Filter of the log.
pub const LOG: &str = "PLIMSOLL_LOG";
/// The model, over that of the configuration files.
pub const MODEL: &str = "PLIMSOLL_MODEL";
/// The permission mode, over that of the configuration files.
pub const MODE: &str = "PLIMSOLL_MODE";
/// The language of answers, over that of the configuration files.
pub const LANGUAGE: &str = "PLIMSOLL_LANGUAGE";
/// Most steps of one turn, over that of the configuration files.
pub const MAX_STEPS: &str = "PLIMSOLL_MAX_STEPS";
/// Ports of this machine that are looked at for model servers.
pub const PROBE_PORTS: &str = "PLIMSOLL_PROBE_PORTS";
/// No colours on a terminal; <https://no-color.org>.
pub const NO_COLOR: &str = "NO_COLOR";

/// Whose environment a variable is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    /// Of the process that is started: bridge, command, daemon.
    Process,
    /// Of the client that starts a turn, as its hello told it.
    Client,
}

/// A variable that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Whose environment counts.
    pub read_by: ReadBy,
    /// One line for people.
    pub meaning: &'static str,
}

/// All of them, in the order in which they are shown.
pub const VARIABLES: &[Variable] = &[
    Variable { name: CONFIG_DIR, read_by: ReadBy::Process, meaning: "folder of config.toml" },
    Variable { name: DATA_DIR, read_by: ReadBy::Process, meaning: "folder of sessions, logs and the daemon's lock" },
    Variable { name: RUNTIME_DIR, read_by: ReadBy::Process, meaning: "folder of the daemon's socket" },
    Variable {
        name: LOG,
        read_by: ReadBy::Process,
        meaning: "log filter, such as `debug` or `plimsoll::rpc=trace,info`",
    },
    Variable { name: MODEL, read_by: ReadBy::Client, meaning: "model as provider/model, over config.toml" },
    Variable {
        name: MODE,
        read_by: ReadBy::Client,
        meaning: "permission mode (plan, ask, accept_edits, auto, full), over config.toml",
    },
    Variable { name: LANGUAGE, read_by: ReadBy::Client, meaning: "language of answers, over config.toml" },
    Variable { name: MAX_STEPS, read_by: ReadBy::Client, meaning: "most model requests in one turn, over config.toml" },
    Variable {
        name: PROBE_PORTS,
        read_by: ReadBy::Process,
        meaning: "ports where model servers are looked for on this machine, such as `8080,11434`; empty: nowhere",
    },
    Variable { name: NO_COLOR, read_by: ReadBy::Process, meaning: "no colours when set and not empty" },
];

/// The table as text, one variable a line.
pub fn table() -> String {
    let width = VARIABLES.iter().map(|variable| variable.name.len()).max().unwrap_or(0);
    let lines = VARIABLES.iter().map(|variable| format!("  {:width$}  {}", variable.name, variable.meaning));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_is_listed_once() {
        let mut names: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIABLES.len());
        assert!(table().contains("PLIMSOLL_DATA_DIR"));
    }
}
