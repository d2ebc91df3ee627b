//! Which shell commands run in, known before one is started: what is decided about a command depends on it.

use std::path::Path;

/// Where bash is on nearly every system. The helper looks in these places first.
pub const BASH: &[&str] = &["/bin/bash", "/usr/bin/bash"];

/// Whether commands of a client with this `PATH` run in bash.
pub fn is_bash(path: Option<&str>) -> bool {
    let fixed = BASH.iter().any(|bash| Path::new(bash).exists());
    let named = || path.unwrap_or_default().split(':').filter(|folder| folder.starts_with('/'));
    fixed || named().any(|folder| Path::new(folder).join("bash").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_is_found_where_the_helper_would_find_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("relative:{}", folder.path().display());
        let fixed = BASH.iter().any(|bash| Path::new(bash).exists());
        assert_eq!((is_bash(Some(&path)), is_bash(None)), (fixed, fixed));
        std::fs::write(folder.path().join("bash"), "").unwrap();
        assert!(is_bash(Some(&path)));
    }
}
