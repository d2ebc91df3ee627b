//! Asks a person whether what was found on this machine may be used: known keys, then model servers, each only after a
//! clear yes, which is written down. Only where nothing is configured and on a terminal; anywhere else a hint names the
//! keys, and nothing is used.

use super::super::connect::{self, CommandError};
use super::super::sessions::project_folder;
use super::super::{args, found, out};
use crate::config::consent::{self, Choice};
use crate::config::{Config, Folders, FoundKey, Overrides};
use crate::provider::local::{self, LocalServer};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// Longest name of a model that is taken.
const NAME_MAX: usize = 200;

/// Something that could be used.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Offer {
    /// What it is, as the question names it.
    question: String,
    /// The provider's name.
    provider: String,
    /// What a yes means; none when a person must name the model.
    choice: Option<Choice>,
}

/// What a person said to all of them.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// This one.
    Use(Choice),
    /// None of them now.
    Nothing,
    /// None of them, and no such question again.
    Never,
}

/// Asks before a turn of a new session, when there is something to ask and somebody to answer.
pub fn ask(arguments: &args::Ask, env: &BTreeMap<String, String>) -> Result<(), CommandError> {
    if arguments.json || arguments.session.is_some() || arguments.model.is_some() || !out::stderr_is_terminal() {
        return Ok(());
    }
    let folders = Folders::of_process()?;
    let folder = project_folder(arguments.project.as_deref())?;
    // What is wrong in it is told when it is used.
    let Ok(config) = Config::load_for(&folders, env, Some(&folder), &Overrides::default()) else { return Ok(()) };
    if !config.may_offer() {
        return Ok(());
    }
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return Ok(()) };
    let mut lines = BufReader::new(terminal.try_clone()?);
    let keys: Vec<Offer> = config.unused_keys(env).iter().map(of_key).collect();
    let mut answer = converse(&keys, &mut lines, &mut terminal)?;
    if answer == Answer::Nothing {
        let ports = found::ports()?;
        let servers = connect::runtime()?.block_on(local::find(&ports));
        let servers: Vec<Offer> = servers.iter().filter_map(of_server).collect();
        answer = converse(&servers, &mut lines, &mut terminal)?;
    }
    keep(&answer, config.file())
}

fn of_key(found: &FoundKey) -> Offer {
    let FoundKey { provider, variable, base_url, model } = found;
    let question = format!("{variable} is set. Use {provider} ({base_url}");
    let choice = model.map(|model| Choice { provider: (*provider).to_owned(), model: model.to_owned(), server: None });
    Offer { question, provider: (*provider).to_owned(), choice }
}

fn of_server(server: &LocalServer) -> Option<Offer> {
    let choice = found::choice(server)?;
    let question = format!("{} answers on this machine. Use it ({}", server.kind.title(), server.base_url);
    Some(Offer { question, provider: choice.provider.clone(), choice: Some(choice) })
}

/// Puts one question after the other until one is answered with yes or never. An end of the input is a no.
fn converse(offers: &[Offer], lines: &mut impl BufRead, terminal: &mut impl Write) -> io::Result<Answer> {
    for offer in offers {
        terminal.write_all(question(offer).as_bytes())?;
        terminal.flush()?;
        loop {
            let mut line = String::new();
            lines.read_line(&mut line)?;
            match reply(line.trim(), offer) {
                Reply::Use(choice) => return Ok(Answer::Use(choice)),
                Reply::Never => return Ok(Answer::Never),
                Reply::No => break,
                Reply::Unclear => {
                    terminal.write_all(b"That is no name of a model. Its name, Enter for no, or never: ")?;
                    terminal.flush()?;
                }
            }
        }
    }
    Ok(Answer::Nothing)
}

fn question(offer: &Offer) -> String {
    match &offer.choice {
        Some(choice) => {
            let window = choice.server.as_ref().and_then(|server| server.context_window);
            let window = window.map(|tokens| format!(", window {tokens} tokens")).unwrap_or_default();
            format!(
                "{}, model {}{window})?\nPrompts and what tools read go there. [y/N/never] ",
                offer.question, choice.model
            )
        }
        None => format!(
            "{})?\nPrompts and what tools read go there. Name the model to use it, Enter for no, or never: ",
            offer.question
        ),
    }
}

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Use(Choice),
    No,
    Never,
    Unclear,
}

/// Only a clear yes, or a model's name where one was asked for, is one.
fn reply(line: &str, offer: &Offer) -> Reply {
    match (line.to_lowercase().as_str(), &offer.choice) {
        ("never", _) => Reply::Never,
        ("y" | "yes", Some(choice)) => Reply::Use(choice.clone()),
        ("" | "n" | "no", None) | (_, Some(_)) => Reply::No,
        ("y" | "yes", None) => Reply::Unclear,
        (_, None) if line.len() <= NAME_MAX && line.bytes().all(|byte| byte.is_ascii_graphic()) => {
            // People write it as the configuration does.
            let model = line.strip_prefix(&format!("{}/", offer.provider)).unwrap_or(line);
            Reply::Use(Choice { provider: offer.provider.clone(), model: model.to_owned(), server: None })
        }
        (_, None) => Reply::Unclear,
    }
}

/// Writes the answer down and says where.
fn keep(answer: &Answer, file: &Path) -> Result<(), CommandError> {
    let written = match answer {
        Answer::Nothing => return Ok(()),
        Answer::Use(choice) => choice.write(file),
        Answer::Never => consent::never_offer(file),
    };
    if let Err(error) = written {
        return Err(CommandError::Argument {
            message: format!("your answer cannot be kept: {error}"),
            hint: format!("write it into {} yourself, or ask with --model", file.display()),
        });
    }
    let shown = file.display();
    match answer {
        Answer::Use(choice) => out::note(&format!("Written to {shown}: {} is used from now on.", choice.model)),
        Answer::Never => out::note(&format!("Written to {shown}: nothing is offered again (`consent.offer = false`).")),
        Answer::Nothing => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::local::{LocalModel, ServerKind};

    fn key(model: Option<&'static str>) -> Offer {
        of_key(&FoundKey {
            provider: "openai",
            variable: "OPENAI_API_KEY",
            base_url: "https://api.openai.com/v1",
            model,
        })
    }

    fn server() -> LocalServer {
        let model = LocalModel { name: "qwen3:8b".to_owned(), context_window: Some(8_192) };
        LocalServer { kind: ServerKind::Ollama, base_url: "http://127.0.0.1:11434/v1".to_owned(), models: vec![model] }
    }

    fn talk(offers: &[Offer], input: &str) -> (Answer, String) {
        let mut shown = Vec::new();
        let answer = converse(offers, &mut input.as_bytes(), &mut shown).unwrap();
        (answer, String::from_utf8(shown).unwrap())
    }

    fn of_openai(model: &str) -> Answer {
        Answer::Use(Choice { provider: "openai".to_owned(), model: model.to_owned(), server: None })
    }

    #[test]
    fn a_question_names_what_is_used_with_which_model_and_what_goes_there() {
        let (answer, shown) = talk(&[key(Some("m")), of_server(&server()).unwrap(), key(None)], "n\n\n\n");
        assert_eq!(answer, Answer::Nothing);
        let expected = "OPENAI_API_KEY is set. Use openai (https://api.openai.com/v1, model m)?\n\
            Prompts and what tools read go there. [y/N/never] \
            Ollama answers on this machine. Use it (http://127.0.0.1:11434/v1, model qwen3:8b, window 8192 tokens)?\n\
            Prompts and what tools read go there. [y/N/never] \
            OPENAI_API_KEY is set. Use openai (https://api.openai.com/v1)?\n\
            Prompts and what tools read go there. Name the model to use it, Enter for no, or never: ";
        assert_eq!(shown, expected);
    }

    #[test]
    fn only_a_clear_yes_uses_anything() {
        for (input, expected) in [
            ("y\n", of_openai("m")),
            (" YES \n", of_openai("m")),
            ("n\n", Answer::Nothing),
            ("\n", Answer::Nothing),
            ("yes please\n", Answer::Nothing),
            ("", Answer::Nothing),
            ("never\n", Answer::Never),
            ("Never\ny\n", Answer::Never),
        ] {
            assert_eq!(talk(&[key(Some("m"))], input).0, expected, "{input:?}");
        }
        assert_eq!(talk(&[key(Some("m")), key(Some("n"))], "n\ny\n").0, of_openai("n"));
        assert_eq!(talk(&[], "y\n").0, Answer::Nothing);
    }

    #[test]
    fn where_no_model_is_known_its_name_is_the_yes() {
        for (input, expected) in [
            ("gpt-9\n", of_openai("gpt-9")),
            ("openai/gpt-9\n", of_openai("gpt-9")),
            ("yes\ntwo words\ngpt-9\n", of_openai("gpt-9")),
            ("n\n", Answer::Nothing),
            ("y\n", Answer::Nothing),
            ("never\n", Answer::Never),
        ] {
            assert_eq!(talk(&[key(None)], input).0, expected, "{input:?}");
        }
    }
}
