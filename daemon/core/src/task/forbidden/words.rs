//! The tables of words. All in lower case; an apostrophe is `'`.

/// What can be forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Making commits.
    Commit,
    /// Sending them elsewhere.
    Push,
    /// Asking others to take changes.
    Request,
    /// Merging.
    Merge,
    /// Rewriting commits.
    Rebase,
    /// Bringing a build to others.
    Deploy,
    /// Adding packages.
    Install,
    /// Speaking with other machines.
    Network,
    /// Changing files.
    Edit,
    /// Deleting files.
    Delete,
}

impl Act {
    /// Whether it is about files that the clause names.
    pub fn has_object(self) -> bool {
        matches!(self, Self::Edit | Self::Delete)
    }
}

/// The act that a word names, in English or German.
pub fn act(word: &str) -> Option<Act> {
    ACTS.iter().find(|(words, _)| words.contains(&word)).map(|(_, act)| *act)
}

/// Whether a text holds one of these, as words of its own where they are written with blanks between.
pub fn any(list: &[&str], text: &str) -> bool {
    let text = text.to_lowercase();
    let bounded = |at: usize, found: &str| {
        let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !found.is_ascii() || !letter(before) && !letter(after)
    };
    list.iter().any(|wanted| text.match_indices(wanted).any(|(at, found)| bounded(at, found)))
}

const ACTS: &[(&[&str], Act)] = &[
    (
        &[
            "commit",
            "commits",
            "committing",
            "committed",
            "check-in",
            "checkin",
            "committe",
            "committen",
            "commite",
            "commiten",
            "einchecken",
        ],
        Act::Commit,
    ),
    (&["push", "pushes", "pushing", "pushed", "pushe", "pushen"], Act::Push),
    (&["pr", "prs", "pull-request", "pull-requests", "mr", "mrs"], Act::Request),
    (&["merge", "merges", "merging", "merged", "mergen"], Act::Merge),
    (&["rebase", "rebases", "rebasing", "rebasen"], Act::Rebase),
    (
        &[
            "deploy",
            "deploys",
            "deploying",
            "deployed",
            "deployment",
            "deployments",
            "release",
            "releases",
            "releasing",
            "publish",
            "publishes",
            "publishing",
            "published",
            "ship",
            "shipping",
            "rollout",
            "rollouts",
            "deploye",
            "deployen",
            "ausrollen",
            "ausliefern",
            "veröffentlichen",
            "veröffentliche",
            "publizieren",
            "releasen",
        ],
        Act::Deploy,
    ),
    (&["install", "installs", "installing", "installieren", "installiere"], Act::Install),
    (&["network", "internet", "netz", "netzwerk", "netzzugriff", "netzwerkzugriff", "internetzugriff"], Act::Network),
    (
        &[
            "edit",
            "edits",
            "editing",
            "change",
            "changes",
            "changing",
            "modify",
            "modifies",
            "modifying",
            "modification",
            "modifications",
            "alter",
            "altering",
            "touch",
            "touching",
            "rewrite",
            "rewriting",
            "overwrite",
            "overwriting",
            "ändern",
            "ändere",
            "änderung",
            "änderungen",
            "verändern",
            "verändere",
            "anfassen",
            "fass",
            "fasse",
            "anrühren",
            "rühr",
            "bearbeiten",
            "bearbeite",
            "modifizieren",
            "überschreiben",
        ],
        Act::Edit,
    ),
    (
        &[
            "delete",
            "deletes",
            "deleting",
            "remove",
            "removes",
            "removing",
            "erase",
            "löschen",
            "lösche",
            "entfernen",
            "entferne",
        ],
        Act::Delete,
    ),
];

/// Words after which, in English, something is forbidden.
pub const NEGATIONS: &[&str] = &[
    "don't",
    "dont",
    "never",
    "mustn't",
    "shouldn't",
    "can't",
    "cannot",
    "without",
    "avoid",
    "refrain",
    "nor",
    "neither",
    "won't",
    "forbidden",
    "prohibited",
];

/// Words before `not` that make it a demand and no statement.
pub const BEFORE_NOT: &[&str] = &[
    "", "do", "must", "should", "may", "can", "could", "shall", "will", "would", "please", "and", "or", "but", "better",
];

/// Words behind `not` that do.
pub const AFTER_NOT: &[&str] = &["to", "allowed", "permitted"];

/// Those that count wherever they stand in the clause: German ones, and "change nothing".
pub const GERMAN_NEGATIONS: &[&str] = &[
    "nothing",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "keinem",
    "keiner",
    "keinerlei",
    "nie",
    "niemals",
    "nichts",
    "ohne",
    "weder",
];

/// And in Chinese, longer ones first.
pub const CHINESE_NEGATIONS: &[&str] = &[
    "不要",
    "不得",
    "不准",
    "不许",
    "不能",
    "不可以",
    "不可",
    "请勿",
    "切勿",
    "禁止",
    "严禁",
    "避免",
    "别",
    "勿",
    "不",
];

/// Words that turn a negation into something else: "do not forget to", "you do not need to", "do not ask before".
pub const INVERSE: &[&str] = &[
    "forget",
    "hesitate",
    "fail",
    "skip",
    "miss",
    "omit",
    "need",
    "have",
    "has",
    "ask",
    "worry",
    "mind",
    "only",
    "just",
    "stop",
    "vergessen",
    "vergiss",
    "zögere",
    "zögern",
    "nur",
    "fragen",
    "frag",
    "brauchst",
    "musst",
];

/// Chinese words with their acts. Those of one character count only directly behind the negation.
pub const CHINESE: &[(&str, Act)] = &[
    ("提交", Act::Commit),
    ("commit", Act::Commit),
    ("推送", Act::Push),
    ("push", Act::Push),
    ("合并", Act::Merge),
    ("部署", Act::Deploy),
    ("发布", Act::Deploy),
    ("上线", Act::Deploy),
    ("deploy", Act::Deploy),
    ("安装", Act::Install),
    ("联网", Act::Network),
    ("上网", Act::Network),
    ("访问网络", Act::Network),
    ("使用网络", Act::Network),
    ("互联网", Act::Network),
    ("修改", Act::Edit),
    ("改动", Act::Edit),
    ("更改", Act::Edit),
    ("编辑", Act::Edit),
    ("触碰", Act::Edit),
    ("改", Act::Edit),
    ("动", Act::Edit),
    ("碰", Act::Edit),
    ("删除", Act::Delete),
    ("删", Act::Delete),
];

/// Words that begin a sentence of their own: what follows is no longer negated.
pub const BREAKS: &[&str] = &[
    "but",
    "however",
    "instead",
    "then",
    "just",
    "only",
    "rather",
    "aber",
    "sondern",
    "stattdessen",
    "dann",
    "nur",
    "但",
    "但是",
    "而是",
];

/// Words that join.
pub const LINKS: &[&str] = &["and", "or", "nor", "also", "und", "oder", "auch", "noch"];

/// What says of an entry of a list that it is wanted after all, or is another sentence.
pub const WANTED: &[&str] = &[
    "fine",
    "ok",
    "okay",
    "allowed",
    "please",
    "can",
    "may",
    "when",
    "once",
    "after",
    "afterwards",
    "if",
    "bitte",
    "darfst",
    "kannst",
    "wenn",
    "danach",
    "erlaubt",
    "nur",
    "可以",
    "然后",
    "之后",
];

/// What makes a demand one for a time, or under a condition.
pub const CONDITIONS: &[&str] = &[
    "before", "until", "till", "unless", "without", "when", "while", "if", "yet", "for now", "bevor", "bis", "solange",
    "wenn", "ohne", "vorerst", "noch", "之前", "直到", "除非", "暂时", "先",
];
