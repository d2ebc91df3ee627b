//! The languages that are outlined: how their comments and texts look, how they nest, and what begins a definition.

/// How definitions lie within each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nest {
    /// By braces.
    Braces,
    /// By how far lines are indented.
    Indent,
    /// By `#` marks: headings of a document.
    Headings,
    /// Not at all: `[section]` lines.
    Sections,
}

/// What a line without a keyword may define.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Callable {
    /// Nothing.
    No,
    /// Methods inside a class, and arrow functions that a name is bound to.
    Script,
    /// Methods inside a class, with a type before the name.
    Method,
    /// Functions anywhere outside of functions, with a type before the name.
    Function,
    /// `name() {` alone.
    Shell,
}

/// One language.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) extensions: &'static [&'static str],
    pub(super) nest: Nest,
    /// What makes the rest of a line a comment.
    pub(super) line_comments: &'static [&'static str],
    /// What begins and ends a comment over several lines.
    pub(super) block_comments: &'static [(&'static str, &'static str)],
    /// What texts over several lines begin and end with.
    pub(super) long_texts: &'static [(&'static str, &'static str)],
    /// What texts within a line stand in; a backslash escapes.
    pub(super) quotes: &'static [char],
    /// Words that may stand before a keyword.
    pub(super) modifiers: &'static [&'static str],
    /// Words that begin a definition whose body is not looked into.
    pub(super) functions: &'static [&'static str],
    /// Words that begin a definition which holds others.
    pub(super) containers: &'static [&'static str],
    pub(super) callable: Callable,
}

const C_COMMENT: &[(&str, &str)] = &[("/*", "*/")];

const NONE: Language = Language {
    extensions: &[],
    nest: Nest::Braces,
    line_comments: &[],
    block_comments: &[],
    long_texts: &[],
    quotes: &[],
    modifiers: &[],
    functions: &[],
    containers: &[],
    callable: Callable::No,
};

/// A language with braces and comments as in C.
const BRACED: Language = Language { line_comments: &["//"], block_comments: C_COMMENT, quotes: &['"', '\''], ..NONE };

/// The table.
static LANGUAGES: &[Language] = &[
    Language {
        extensions: &["rs"],
        long_texts: &[("r##\"", "\"##"), ("r#\"", "\"#"), ("\"", "\"")],
        // A quote alone begins a lifetime more often than a character.
        quotes: &[],
        modifiers: &["pub", "async", "unsafe", "const", "extern", "default", "safe"],
        functions: &["fn", "macro_rules!", "type"],
        containers: &["struct", "enum", "union", "trait", "impl", "mod"],
        ..BRACED
    },
    Language {
        extensions: &["py", "pyi"],
        nest: Nest::Indent,
        line_comments: &["#"],
        long_texts: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        quotes: &['"', '\''],
        modifiers: &["async"],
        functions: &["def"],
        containers: &["class"],
        ..NONE
    },
    Language {
        extensions: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"],
        long_texts: &[("`", "`")],
        modifiers: &[
            "export",
            "default",
            "async",
            "declare",
            "abstract",
            "public",
            "private",
            "protected",
            "static",
            "readonly",
            "override",
            "get",
            "set",
        ],
        functions: &["function", "function*", "type"],
        containers: &["class", "interface", "enum", "namespace", "module"],
        callable: Callable::Script,
        ..BRACED
    },
    Language { extensions: &["go"], long_texts: &[("`", "`")], functions: &["func"], containers: &["type"], ..BRACED },
    Language {
        extensions: &["java"],
        long_texts: &[("\"\"\"", "\"\"\"")],
        modifiers: &[
            "public",
            "private",
            "protected",
            "static",
            "final",
            "abstract",
            "sealed",
            "non-sealed",
            "default",
            "synchronized",
            "native",
            "strictfp",
        ],
        containers: &["class", "interface", "enum", "record", "@interface"],
        callable: Callable::Method,
        ..BRACED
    },
    Language {
        extensions: &["kt", "kts"],
        long_texts: &[("\"\"\"", "\"\"\"")],
        modifiers: &[
            "public",
            "private",
            "protected",
            "internal",
            "open",
            "abstract",
            "final",
            "sealed",
            "data",
            "inner",
            "value",
            "inline",
            "suspend",
            "override",
            "operator",
            "infix",
            "tailrec",
            "external",
            "companion",
            "annotation",
            "enum",
            "actual",
            "expect",
        ],
        functions: &["fun", "typealias"],
        containers: &["class", "interface", "object"],
        ..BRACED
    },
    Language {
        extensions: &["cs"],
        long_texts: &[("\"\"\"", "\"\"\"")],
        modifiers: &[
            "public",
            "private",
            "protected",
            "internal",
            "static",
            "sealed",
            "abstract",
            "partial",
            "readonly",
            "virtual",
            "override",
            "async",
            "unsafe",
            "extern",
            "new",
            "file",
            "ref",
        ],
        containers: &["class", "interface", "enum", "struct", "record", "namespace"],
        callable: Callable::Method,
        ..BRACED
    },
    Language {
        extensions: &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm"],
        modifiers: &["static", "inline", "typedef", "extern", "constexpr", "export", "virtual", "explicit", "friend"],
        functions: &["#define"],
        containers: &["class", "struct", "union", "enum", "namespace", "@interface", "@implementation", "@protocol"],
        callable: Callable::Function,
        ..BRACED
    },
    Language {
        extensions: &["swift"],
        long_texts: &[("\"\"\"", "\"\"\"")],
        modifiers: &[
            "public",
            "private",
            "fileprivate",
            "internal",
            "open",
            "final",
            "static",
            "override",
            "mutating",
            "convenience",
            "required",
            "indirect",
            "async",
            "nonisolated",
        ],
        functions: &["func", "init", "init?", "subscript", "typealias"],
        containers: &["class", "struct", "enum", "protocol", "extension", "actor"],
        ..BRACED
    },
    Language {
        extensions: &["php"],
        line_comments: &["//", "#"],
        modifiers: &["public", "private", "protected", "static", "final", "abstract", "readonly"],
        functions: &["function"],
        containers: &["class", "interface", "trait", "enum", "namespace"],
        ..BRACED
    },
    Language {
        extensions: &["rb", "rake", "gemspec"],
        nest: Nest::Indent,
        line_comments: &["#"],
        block_comments: &[("=begin", "=end")],
        quotes: &['"', '\''],
        modifiers: &["private", "protected", "public"],
        functions: &["def"],
        containers: &["class", "module"],
        ..NONE
    },
    Language {
        extensions: &["sh", "bash", "zsh", "ksh"],
        line_comments: &["#"],
        quotes: &['"', '\''],
        functions: &["function"],
        callable: Callable::Shell,
        ..NONE
    },
    Language {
        extensions: &["scala"],
        modifiers: &["private", "protected", "final", "sealed", "abstract", "case", "implicit", "override", "lazy"],
        functions: &["def"],
        containers: &["class", "trait", "object"],
        ..BRACED
    },
    Language {
        extensions: &["lua"],
        nest: Nest::Indent,
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        quotes: &['"', '\''],
        modifiers: &["local"],
        functions: &["function"],
        ..NONE
    },
    Language {
        extensions: &["ex", "exs"],
        nest: Nest::Indent,
        line_comments: &["#"],
        long_texts: &[("\"\"\"", "\"\"\"")],
        quotes: &['"'],
        functions: &["def", "defp", "defmacro"],
        containers: &["defmodule", "defprotocol", "defimpl"],
        ..NONE
    },
    Language {
        extensions: &["md", "markdown", "mdx"],
        nest: Nest::Headings,
        long_texts: &[("```", "```"), ("~~~", "~~~")],
        block_comments: &[("<!--", "-->")],
        ..NONE
    },
    Language {
        extensions: &["toml", "ini", "cfg", "conf", "editorconfig", "gitconfig"],
        nest: Nest::Sections,
        line_comments: &["#", ";"],
        long_texts: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        quotes: &['"'],
        ..NONE
    },
];

/// The language of a file, by its name.
pub(super) fn of(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    LANGUAGES.iter().find(|language| language.extensions.contains(&extension.as_str()))
}
