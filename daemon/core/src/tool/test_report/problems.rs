//! What keeps tests from running: errors of compilers, modules that cannot be loaded, rules of makefiles that fail.

use super::MESSAGE_CHARS;

/// Problems that are kept.
const PROBLEMS_MAX: usize = 30;

/// The lines of an output that say why it ended badly, each once, in order.
pub fn problems(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut traceback = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut said = line.trim_end().to_owned();
        let is_problem = if let Some(rest) = line.strip_prefix("error") {
            let is_error = rest.starts_with(": ") || rest.starts_with('[');
            if let Some(place) = lines.peek().and_then(|next| next.trim_start().strip_prefix("--> ")) {
                said = format!("{said} ({})", place.trim());
            }
            is_error
        } else if line.starts_with("Traceback (most recent call last):") {
            traceback = true;
            false
        } else if traceback && !line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            traceback = false;
            true
        } else {
            is_placed(line) || is_named(line)
        };
        if is_problem {
            let said: String = said.chars().take(MESSAGE_CHARS).collect();
            if !out.contains(&said) && out.len() < PROBLEMS_MAX {
                out.push(said);
            }
        }
    }
    out
}

/// `a/b.c:3:5: error: …`, `./x.go:5:2: undefined: y`, `[ERROR] /a/B.java:[10,5] …`.
fn is_placed(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("[ERROR] ") {
        return rest.starts_with("COMPILATION ERROR") || rest.contains(".java:[");
    }
    let mut parts = line.splitn(4, ':');
    let (Some(path), Some(row)) = (parts.next(), parts.next()) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_file = !path.is_empty() && path.contains('.') && !path.contains(char::is_whitespace);
    let third = parts.next().unwrap_or_default();
    let rest = parts.next().unwrap_or_default();
    is_file
        && is_number(row)
        && if is_number(third) {
            rest.trim_start().starts_with("error")
                || rest.trim_start().starts_with("fatal error")
                || std::path::Path::new(path).extension().is_some_and(|ext| ext == "go")
        } else {
            third.trim() == "error"
        }
}

/// Errors that name themselves: `make: *** …`, `SyntaxError: …`, `npm error …`, `… command not found`.
fn is_named(line: &str) -> bool {
    let heads = ["make: *** ", "npm ERR! Missing", "npm error Missing", "Error: Cannot find module", "go: "];
    let first = line.split(':').next().unwrap_or_default();
    let is_exception = first.len() > 5
        && (first.ends_with("Error") || first.ends_with("Exception"))
        && first.chars().all(|c| c.is_alphanumeric() || c == '.' || c == '_')
        && line.get(first.len()..).is_some_and(|rest| rest.starts_with(": "));
    is_exception
        || heads.iter().any(|head| line.starts_with(head))
        || line.contains(": No module named ")
        || line.ends_with(": command not found")
        || line.ends_with(": not found")
}
