//! Model servers on this machine, with the lines to write to use them.

use super::super::found;
use super::finding::Finding;
use crate::config::Config;
use crate::provider::local;
use std::path::Path;

/// Looks at the usual ports, or at those that the environment names.
pub async fn check(config: Option<&Config>, file: &Path) -> Vec<Finding> {
    let ports = match found::ports() {
        Ok(ports) => ports,
        Err(error) => {
            let fix = error.hint().unwrap_or_default();
            return vec![Finding::error("servers.ports", error.to_string(), fix)];
        }
    };
    let servers = local::find(&ports).await;
    if servers.is_empty() {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let what = if ports.is_empty() {
            "not looked for: no port is named".to_owned()
        } else {
            format!("none answers at the ports {} of 127.0.0.1", ports.join(", "))
        };
        return vec![Finding::ok("servers.none", what)];
    }
    let used = |url: &str| {
        let config = config?;
        let of = |name: &String| config.provider(name).is_ok_and(|endpoint| same_server(&endpoint.base_url, url));
        config.provider_names().into_iter().find(of)
    };
    let findings = servers.iter().map(|server| {
        let names: Vec<&str> = server.models.iter().take(5).map(|model| model.name.as_str()).collect();
        let more = if server.models.len() > names.len() { ", …" } else { "" };
        let what = format!("{} answers at {} with {}{more}", server.kind.title(), server.base_url, names.join(", "));
        let finding = Finding::ok("servers.found", what);
        match (used(&server.base_url), found::choice(server)) {
            (Some(name), _) => Finding { what: format!("{}: provider `{name}`", finding.what), ..finding },
            (None, Some(choice)) => {
                finding.with_fix(format!("to use it, write into {}:\n{}", file.display(), choice.lines()))
            }
            (None, None) => finding,
        }
    });
    findings.collect()
}

/// Whether both are the same port of this machine.
fn same_server(one: &str, other: &str) -> bool {
    let plain = |url: &str| url.replace("//localhost", "//127.0.0.1").trim_end_matches("/v1").to_owned();
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_any_of_its_addresses() {
        assert!(same_server("http://localhost:8080/v1", "http://127.0.0.1:8080/v1"));
        assert!(same_server("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"));
        assert!(!same_server("http://127.0.0.1:80/v1", "http://127.0.0.1:8080/v1"));
    }
}
