//! The tables of words for what an act is about, and for demands that need no negation. All in lower case.

/// What takes something out of a demand, which no rule can say.
pub const EXCEPT: &[&str] = &[
    "outside",
    "except",
    "besides",
    "other than",
    "apart from",
    "beyond",
    "else",
    "elsewhere",
    "unrelated",
    "außer",
    "außerhalb",
    "sonst",
    "以外",
    "之外",
    "除了",
    "其他",
    "无关",
];

/// Words behind an act that make it a part of a thing's name: "the commit message", "release notes".
pub const THINGS: &[&str] = &[
    "api",
    "branch",
    "branches",
    "button",
    "code",
    "command",
    "commands",
    "config",
    "configuration",
    "date",
    "endpoint",
    "file",
    "files",
    "flow",
    "folder",
    "format",
    "function",
    "handler",
    "hash",
    "hashes",
    "history",
    "hook",
    "hooks",
    "id",
    "ids",
    "job",
    "jobs",
    "key",
    "keys",
    "log",
    "logs",
    "message",
    "messages",
    "method",
    "name",
    "note",
    "notes",
    "notification",
    "notifications",
    "number",
    "pipeline",
    "process",
    "queue",
    "rule",
    "rules",
    "script",
    "scripts",
    "step",
    "steps",
    "strategy",
    "style",
    "table",
    "tag",
    "template",
    "test",
    "tests",
    "type",
    "version",
    "workflow",
];

/// Words before an act that make it a thing.
pub const ARTICLES: &[&str] =
    &["the", "this", "that", "these", "those", "last", "previous", "existing", "my", "our", "der", "den", "die", "das"];

/// What may follow the network.
pub const AFTER_NETWORK: &[&str] = &[
    "access",
    "connection",
    "connections",
    "request",
    "requests",
    "call",
    "calls",
    "traffic",
    "use",
    "usage",
    "at",
    "or",
    "and",
    "nor",
    "for",
    "please",
    "oder",
    "und",
    "verwenden",
    "benutzen",
    "nutzen",
];

/// Words that say that only forced pushes are meant.
pub const FORCE: &[&str] = &["force", "forced", "force-push", "--force", "-f", "--force-with-lease"];

/// Words of a demand to leave something.
pub const LEAVE: &[&str] = &["leave", "leaving", "keep", "keeping", "lass", "lasse", "lassen"];

/// How it is to be left.
pub const ALONE: &[&str] =
    &["alone", "untouched", "unchanged", "unmodified", "intact", "as", "be", "unverändert", "unangetastet", "ruhe"];

/// What says of a path that nothing there is to be changed.
pub const OFF_LIMITS: &[&str] = &[
    "off limits",
    "off-limits",
    "hands off",
    "keep out of",
    "stay out of",
    "stay away from",
    "keep away from",
    "read-only",
    "read only",
    "tabu",
    "finger weg",
];

/// The words of a demand to change nothing.
pub const READ_ONLY: &[&[&str]] =
    &[&["read", "only"], &["read-only"], &["readonly"], &["nur", "lesen"], &["只读"], &["只读模式"]];

/// Words that may stand around them.
pub const READ_ONLY_FRAME: &[&str] = &[
    "please",
    "strictly",
    "this",
    "is",
    "a",
    "the",
    "it",
    "work",
    "stay",
    "keep",
    "mode",
    "in",
    "session",
    "task",
    "for",
    "now",
    "bitte",
    "strikt",
    "everything",
    "be",
];

/// Words of a demand to stay as one is.
pub const STAY: &[&str] = &["stay", "work", "remain", "keep", "bleib", "bleibe", "arbeite"];

/// What the tests are called.
pub const TESTS: &[&str] = &["tests", "test", "testfiles", "testdateien", "testsuite"];

/// The same in Chinese.
pub const CHINESE_TESTS: &[&str] = &["测试"];

/// What everything is called.
pub const ALL: &[&str] = &[
    "anything",
    "everything",
    "nothing",
    "any",
    "files",
    "file",
    "code",
    "codebase",
    "source",
    "sources",
    "nichts",
    "dateien",
    "datei",
    "repo",
    "repository",
];

/// The same in Chinese.
pub const CHINESE_ALL: &[&str] = &["任何", "文件", "代码", "所有", "东西"];

/// Words before an object that leave it what it is.
pub const OF_OBJECT: &[&str] = &["existing", "unit", "integration", "source", "my", "our", "other"];

/// Words that say nothing more of an object.
pub const FILLERS: &[&str] = &[
    "at", "all", "yet", "here", "now", "please", "for", "in", "to", "the", "these", "this", "it", "them", "of", "any",
    "bitte", "an", "ab", "daran", "hier", "me", "yourself", "until", "unless", "before", "while", "when", "without",
    "and", "or", "nor", "und", "oder", "nicht", "keine", "kein", "nichts", "make", "mach", "mache", "machen",
];

/// Words that may follow what is spoken of.
pub const AFTER_OBJECT: &[&str] = &[
    "suite",
    "cases",
    "folder",
    "folders",
    "directory",
    "directories",
    "files",
    "file",
    "themselves",
    "nicht",
    "ändern",
    "anfassen",
    "bearbeiten",
    "löschen",
    "entfernen",
];

/// Words with a slash or a dot that are no paths.
pub const NO_PATHS: &[&str] = &[
    "and/or", "und/oder", "he/she", "his/her", "yes/no", "n/a", "w/o", "i/o", "ci/cd", "tcp/ip", "e.g", "i.e", "z.b",
    "d.h", "u.a", "node.js", "next.js", "vue.js",
];

/// Files without an extension.
pub const FILES: &[&str] =
    &["Makefile", "Dockerfile", "README", "LICENSE", "CHANGELOG", "Justfile", "Gemfile", "Procfile", "Jenkinsfile"];
