//! Facts about machine and user: operating system, date, language. Where there is a choice, the client's environment
//! decides, because the user sits there.

use plimsoll_core::path::escape;
use plimsoll_core::workspace::UserInfo;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The operating system does not change while the daemon runs.
static OS: LazyLock<String> = LazyLock::new(|| {
    let name = rustix::system::uname();
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    os(&name.sysname().to_string_lossy(), &name.release().to_string_lossy(), &release)
});

/// The facts now. `shell` is the shell that commands run in.
pub fn read(env: &BTreeMap<String, String>, shell: &str, roots: &[PathBuf]) -> UserInfo {
    UserInfo {
        os: OS.clone(),
        date: date(jiff::Timestamp::now(), env.get("TZ").map(String::as_str)),
        shell: shell.to_owned(),
        roots: roots.iter().map(|root| escape(root.as_os_str().as_bytes())).collect(),
        language: language(env),
    }
}

/// `Linux 6.1 (Debian GNU/Linux 12)`.
fn os(name: &str, release: &str, os_release: &str) -> String {
    let version: String = release.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let version = version.split('-').next().unwrap_or_default();
    let pretty = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    match pretty.map(|pretty| pretty.trim_matches(['"', '\''])).filter(|pretty| !pretty.is_empty()) {
        Some(pretty) => format!("{name} {version} ({pretty})"),
        None => format!("{name} {version}"),
    }
}

/// `Sunday, 2026-11-29` in the time zone that `TZ` names, else the machine's.
fn date(now: jiff::Timestamp, tz: Option<&str>) -> String {
    let named = tz.map(|tz| tz.strip_prefix(':').unwrap_or(tz)).filter(|tz| !tz.is_empty());
    let zone = named.and_then(|tz| jiff::tz::TimeZone::get(tz).or_else(|_| jiff::tz::TimeZone::posix(tz)).ok());
    let local = now.to_zoned_datetime(zone.unwrap_or_else(jiff::tz::TimeZone::system));
    local.strftime("%A, %Y-%m-%d").to_string()
}

/// The language of the locale: the first of the usual variables that is set decides, also when it says nothing.
fn language(env: &BTreeMap<String, String>) -> Option<String> {
    let locale =
        ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| env.get(*name).filter(|value| !value.is_empty()))?;
    let language = locale.split(['_', '.', '@', '-']).next().unwrap_or_default();
    let is_code = (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    is_code.then(|| language.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_system_has_its_version_and_its_own_name() {
        assert_eq!(
            os("Linux", "6.1.0-18-amd64", "ID=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            "Linux 6.1 (Debian GNU/Linux 12)"
        );
        assert_eq!(os("Linux", "6.18-rc1", ""), "Linux 6.18");
    }

    #[test]
    fn the_date_is_local_to_the_client() {
        let late: jiff::Timestamp = "2026-11-29T23:30:00Z".parse().unwrap();
        assert_eq!(date(late, Some("UTC")), "Sunday, 2026-11-29");
        assert_eq!(date(late, Some("CET-1CEST,M3.5.0,M10.5.0/3")), "Monday, 2026-11-30");
    }

    #[test]
    fn the_locale_gives_the_language() {
        assert_eq!(language(&env(&[("LANG", "de_DE.UTF-8")])).as_deref(), Some("de"));
        assert_eq!(language(&env(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")])), None);
        assert_eq!(language(&env(&[("LANG", "POSIX")])), None);
        assert_eq!(language(&env(&[])), None);
    }
}
