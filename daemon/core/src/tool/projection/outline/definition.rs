//! Whether a line of code begins a definition, by its first words.

use super::language::{Callable, Language, Nest};

/// What a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something that holds no definitions worth telling.
    Function,
    /// Something that does.
    Container,
}

/// Words that a call or a block begins with, never a definition.
const CONTROL: &[&str] = &[
    "if",
    "else",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "with",
    "do",
    "try",
    "throw",
    "new",
    "await",
    "yield",
    "case",
    "when",
    "using",
    "lock",
    "foreach",
    "delete",
    "typeof",
    "sizeof",
    "assert",
    "super",
    "this",
    "elif",
    "until",
    "defer",
    "guard",
    "match",
    "synchronized",
    "fixed",
    "checked",
    "goto",
    "import",
    "package",
    "use",
    "function",
];

/// What a line of code defines. `inside` is what it lies in, none at the top.
pub(super) fn of(language: &Language, code: &str, inside: Option<Kind>) -> Option<Kind> {
    let code = code.trim();
    if code.is_empty() || matches!(language.nest, Nest::Headings | Nest::Sections) {
        return None;
    }
    let rest = without_modifiers(language, code);
    let (word, after) = first_word(rest);
    let named = after.trim_start().starts_with(|c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '$' | '<' | '(' | '*' | '!' | '[' | '&' | '~' | '@' | ':' | '{')
    });
    if language.containers.contains(&word) && named && !is_use_of_type(language, rest) {
        return Some(Kind::Container);
    }
    if language.functions.contains(&word) && (named || word.starts_with("init")) {
        return Some(Kind::Function);
    }
    if CONTROL.contains(&word) {
        return None;
    }
    let callable = match language.callable {
        Callable::No => false,
        Callable::Shell => rest.strip_prefix(word).is_some_and(|after| after.trim_start().starts_with("()")),
        Callable::Script => {
            (inside == Some(Kind::Container) && is_method(rest)) || (inside != Some(Kind::Function) && is_arrow(rest))
        }
        Callable::Method => inside == Some(Kind::Container) && is_typed(rest, true),
        Callable::Function => inside != Some(Kind::Function) && is_typed(rest, inside == Some(Kind::Container)),
    };
    callable.then_some(Kind::Function)
}

/// The code behind the words that may stand before a keyword, `pub(crate)`, `extern "C"` and annotations among them.
fn without_modifiers<'a>(language: &Language, code: &'a str) -> &'a str {
    let mut rest = code;
    loop {
        let (word, after) = first_word(rest);
        let is_modifier = language.modifiers.contains(&word);
        let annotation = word.starts_with('@') && !language.containers.contains(&word) && !word.is_empty();
        if !is_modifier && !annotation {
            return rest;
        }
        let after = skip_group(after).trim_start();
        // `extern "C"`, with the text gone.
        let after = after.strip_prefix('"').unwrap_or(after).trim_start();
        // A modifier that is itself what is declared, such as a field named `default`.
        if after.is_empty() || after.starts_with(['=', ':', ';', ',', '.']) {
            return rest;
        }
        rest = after;
    }
}

/// Without a group in parentheses at the start.
fn skip_group(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(') else { return text };
    let mut depth = 1;
    for (at, c) in inner.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return inner.get(at + 1..).unwrap_or_default();
        }
    }
    ""
}

fn first_word(text: &str) -> (&str, &str) {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '#' | '@');
    let mut end = text.find(|c: char| !part(c)).unwrap_or(text.len());
    // Keywords with a mark at their end: `macro_rules!`, `function*`, `init?`.
    if text.get(end..).is_some_and(|rest| rest.starts_with(['!', '*', '?'])) {
        let marked = text.get(..=end).unwrap_or_default();
        if matches!(marked, "macro_rules!" | "function*" | "init?") {
            end += 1;
        }
    }
    (text.get(..end).unwrap_or(text), text.get(end..).unwrap_or_default())
}

/// `struct point p;` and `struct point *make(void)` use a type; a definition has a body or ends its line.
fn is_use_of_type(language: &Language, rest: &str) -> bool {
    language.callable == Callable::Function
        && !rest.contains('{')
        && (rest.ends_with([';', ',']) || rest.contains(['(', '*', '=']))
}

/// `name(arguments) {`, the body on the same line; or arguments that go on.
fn is_method(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['*', '#']);
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(rest.len());
    let after = rest.get(end..).unwrap_or_default();
    let after = if after.starts_with('<') {
        after.find('>').and_then(|at| after.get(at + 1..)).unwrap_or_default()
    } else {
        after
    };
    end > 0 && after.starts_with('(') && after.ends_with(['{', '(', ','])
}

/// `const name = (…) =>`, `name = async (…) => {`, `const name = function`.
fn is_arrow(rest: &str) -> bool {
    let rest = ["const ", "let ", "var "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    let Some((name, value)) = rest.split_once('=') else { return false };
    let value = value.trim_start();
    let name = name.split(':').next().unwrap_or_default().trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '#'));
    let value = value.strip_prefix("async").map_or(value, str::trim_start);
    is_name && !value.starts_with(['=', '>']) && (value.starts_with("function") || value.contains("=>") || value == "(")
}

/// A type and a name before the parenthesis, and neither a statement nor a value; a name alone where `constructor`.
fn is_typed(rest: &str, constructor: bool) -> bool {
    let Some((before, after)) = rest.split_once('(') else { return false };
    if before.contains(['=', '"', '.', '{', '}', ';', '?', '+', '|']) || before.starts_with('#') {
        return false;
    }
    let words = before.split_whitespace().count();
    let named = before.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '~' | '>' | ']'))
        || before.contains("operator");
    let declared = words >= 2 || before.contains("::") || constructor;
    let ends_as_call = after.ends_with(';') && !constructor;
    named
        && declared
        && !ends_as_call
        && !after.ends_with(';')
        && before.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '~' | '<' | '['))
}
