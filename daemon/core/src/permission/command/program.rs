//! The table of programs: which options of otherwise harmless programs run other programs or write files.

/// One program, or one sub-command of it.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Options that no rule covers which does not name them. `-x` stands also for `-ax` and `-xvalue`, `--name` also for
    /// `--name=value` and what it may be shortened to; longer words with one dash stand for themselves.
    pub options: &'static [&'static str],
    /// Harmless options that could be taken for a shortened one of the above.
    pub harmless: &'static [&'static str],
    /// Whether `+x` among its arguments is a command to it.
    pub plus: bool,
}

const fn program(name: &'static str, options: &'static [&'static str]) -> Program {
    Program { name, options, harmless: &[], plus: false }
}

/// The programs with such options.
pub static PROGRAMS: &[Program] = &[
    program("sort", &["-o", "--output", "--compress-program"]),
    program("rg", &["--pre", "--hostname-bin"]),
    program("find", &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"]),
    program("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    program("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    program("printf", &["-v"]),
    program("date", &["-s", "--set"]),
    program("tree", &["-o", "--output"]),
    program("file", &["-C", "--compile"]),
    program("yq", &["-i", "--inplace"]),
    program("hostname", &["-F", "--file", "-b", "--boot"]),
    Program {
        name: "tar",
        options: &[
            "--to-command",
            "--use-compress-program",
            "-I",
            "-F",
            "--info-script",
            "--new-volume-script",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
            "-P",
            "--absolute-names",
        ],
        harmless: &["--checkpoint"],
        plus: false,
    },
    program("ssh", &["-o", "-F", "-E", "-L", "-R", "-D", "-w"]),
    program("scp", &["-o", "-F", "-S", "-J"]),
    program("sftp", &["-o", "-F", "-S", "-b", "-D"]),
    program("rsync", &["-e", "--rsh", "--rsync-path"]),
    Program { name: "less", options: &["-o", "-O", "--log-file", "-k", "--lesskey-file"], harmless: &[], plus: true },
    Program { name: "more", options: &[], harmless: &[], plus: true },
    Program { name: "vim", options: &["-c", "--cmd", "-S", "-s", "-w", "-W", "-u"], harmless: &[], plus: true },
    Program { name: "vi", options: &["-c", "--cmd", "-S", "-s", "-w", "-W", "-u"], harmless: &[], plus: true },
    program("man", &["-P", "--pager", "-H", "--html", "-C", "--config-file", "-p", "--preprocessor"]),
    program("cargo", &["--config", "-Z", "-C"]),
    program("npm", &["--script-shell", "--node-options", "--userconfig", "--globalconfig", "--prefix", "-C"]),
    program("pnpm", &["--script-shell", "--node-options", "--dir", "-C", "--config"]),
    program("yarn", &["--script-shell", "--cwd", "--use-yarnrc"]),
    program("go", &["-exec", "-toolexec", "-vettool", "-overlay", "-C"]),
    program("make", &["-f", "--file", "--makefile", "-E", "--eval"]),
    program("pytest", &["-c", "--config-file", "-p", "-o", "--override-ini", "--rootdir", "--confcutdir"]),
    program(
        "curl",
        &["-o", "-O", "--output", "--remote-name", "--output-dir", "-K", "--config", "-T", "--upload-file"],
    ),
    program("wget", &["-e", "--execute", "--use-askpass", "-O", "--output-document", "-P", "--directory-prefix"]),
    program("zip", &["-T", "--test", "-TT", "--unzip-command"]),
    program("gdb", &["-ex", "-x", "--eval-command", "--command", "-iex", "-ix"]),
    program("python", PYTHON),
    program("python3", PYTHON),
    program("node", NODE),
    program("deno", &["eval"]),
    program("perl", &["-e", "-E", "-i", "-M", "-m", "-x"]),
    program("ruby", &["-e", "-r", "-i", "-x"]),
    program("php", &["-r", "-B", "-R", "-E", "-d", "-c"]),
    program("lua", &["-e", "-l"]),
    program("Rscript", &["-e"]),
    program("bash", SHELL),
    program("sh", SHELL),
    program("dash", SHELL),
    program("zsh", SHELL),
];

const PYTHON: &[&str] = &["-c", "-m"];
const SHELL: &[&str] = &["-c", "-i", "-l", "-s", "--init-file", "--rcfile", "--login"];
const NODE: &[&str] = &[
    "-e",
    "--eval",
    "-p",
    "--print",
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--env-file",
];

/// Options of git itself, before the sub-command.
pub const GIT: Program = program(
    "git",
    &[
        "-c",
        "--config-env",
        "--exec-path",
        "-p",
        "--paginate",
        "-C",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--super-prefix",
        "--attr-source",
    ],
);

/// Options of git's sub-commands.
pub const GIT_SUB: Program = Program {
    name: "git",
    options: &[
        "--output",
        "--ext-diff",
        "--textconv",
        "--filters",
        "--upload-pack",
        "--receive-pack",
        "--upload-archive",
        "--exec",
        "--open-files-in-pager",
        "--output-directory",
        "--template",
    ],
    harmless: &["--text", "--filter"],
    plus: false,
};

/// Sub-commands of git that run other programs or change what git runs.
pub const GIT_RUNNERS: &[&str] = &[
    "config",
    "daemon",
    "difftool",
    "filter-branch",
    "hook",
    "imap-send",
    "instaweb",
    "mergetool",
    "remote-ext",
    "send-email",
    "upload-archive",
    "upload-pack",
    "web--browse",
];

/// Programs that take what they are to do from their standard input, when no file or text is named.
pub const FED: &[&str] = &[
    "ash", "bash", "bc", "csh", "dash", "deno", "ed", "ex", "fish", "gdb", "irb", "ksh", "lua", "mysql", "node",
    "parallel", "perl", "php", "psql", "python", "python2", "python3", "ruby", "sh", "sqlite3", "ssh", "tclsh", "zsh",
];

/// The entry of a program.
pub fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// Variables that change nothing but looks, in front of a command.
const QUIET: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// Whether a variable may be handed to a program by a rule that does not say so.
pub fn quiet_variable(name: &str, value: Option<&str>) -> bool {
    let Some(value) = value else { return false };
    match name {
        "PAGER" | "GIT_PAGER" => matches!(value, "cat" | ""),
        _ => (QUIET.contains(&name) || name.starts_with("LC_")) && !value.contains('/'),
    }
}

/// Whether setting a variable of the shell itself can change what a later command does only through words that show it.
pub fn local_variable(name: &str) -> bool {
    let local = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(local)
        && name != "_"
        && !name.contains("proxy")
        && !name.contains("config")
        && !name.starts_with("npm_")
}
