//! What is found on this machine and could be used: where servers are looked for, and what using one means. Shared by
//! `ask`, which offers it, and `doctor`, which names it.

use super::connect::CommandError;
use crate::config::consent::{Choice, Server};
use crate::config::env;
use crate::provider::local::{LocalServer, PORTS_MAX, USUAL_PORTS};

/// The ports that are looked at: the usual ones, or those that the environment names.
pub fn ports() -> Result<Vec<u16>, CommandError> {
    match std::env::var_os(env::PROBE_PORTS) {
        None => Ok(USUAL_PORTS.to_vec()),
        Some(named) => parse(&named.to_string_lossy()),
    }
}

fn parse(named: &str) -> Result<Vec<u16>, CommandError> {
    let words: Vec<&str> = named.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let wrong = |message: String| CommandError::Argument {
        message,
        hint: format!("write at most {PORTS_MAX} numbers from 1 to 65535 with commas, such as 8080,11434"),
    };
    if words.len() > PORTS_MAX {
        return Err(wrong(format!("{} names {} ports", env::PROBE_PORTS, words.len())));
    }
    let port = |word: &&str| {
        let port = word.parse().ok().filter(|port| *port != 0);
        port.ok_or_else(|| wrong(format!("{}: `{word}` is no port", env::PROBE_PORTS)))
    };
    words.iter().map(port).collect()
}

/// Using a server's first model.
pub fn choice(server: &LocalServer) -> Option<Choice> {
    let model = server.models.first()?;
    Some(Choice {
        provider: server.kind.provider().to_owned(),
        model: model.name.clone(),
        server: Some(Server { base_url: server.base_url.clone(), context_window: model.context_window }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_named_with_commas_and_wrong_ones_are_told() {
        assert_eq!(parse(" 8080, 1 ,").unwrap(), [8080, 1]);
        assert_eq!(parse("").unwrap(), Vec::<u16>::new());
        for wrong in ["x", "0", "65536", "1;2", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"] {
            assert!(matches!(parse(wrong), Err(CommandError::Argument { .. })), "{wrong}");
        }
    }
}
