//! Whether what a model wrote may stand in a summary.

use super::compose::compose;
use super::host::Host;
use super::model::{Model, parse};
use super::problem::Problem;
use super::{Facts, Section};
use crate::id::{CallId, EvidenceId};
use crate::tokens::tokens;
use std::collections::{BTreeSet, HashMap};

/// What a summary is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Against<'a> {
    /// Tokens of what it would take the place of.
    pub replaces: u64,
    /// What it must not repeat: the system text, and the instruction without records.
    pub texts: &'a [&'a str],
}

/// So many words in a row are no chance.
const REPEATED: usize = 30;

/// Characters before a word within which something can take it back.
const NEAR: usize = 32;

/// Words that say of an operation that it took effect. All in lower case.
const DONE: &[&str] = &[
    "done",
    "complete",
    "completed",
    "succeeded",
    "successful",
    "successfully",
    "finished",
    "applied",
    "worked",
    "took effect",
    "went through",
    "was executed",
    "has run",
    "erledigt",
    "abgeschlossen",
    "erfolgreich",
    "fertig",
    "ausgeführt",
    "angewendet",
    "完成",
    "成功",
    "已执行",
    "已应用",
    "terminé",
    "terminée",
    "réussi",
    "effectué",
    "appliqué",
    "completado",
    "completada",
    "terminado",
    "hecho",
    "aplicado",
    "concluído",
    "feito",
    "выполнен",
    "завершен",
    "завершён",
    "успешно",
];

/// What takes that back when it stands shortly before.
const HEDGES: &[&str] = &[
    "not",
    "n't",
    "never",
    "whether",
    "if",
    "unknown",
    "unclear",
    "uncertain",
    "unsettled",
    "unverified",
    "may",
    "might",
    "verify",
    "check",
    "until",
    "once",
    "nicht",
    "ob",
    "unbekannt",
    "unklar",
    "prüfen",
    "未",
    "不",
    "是否",
    "没有",
    "沒有",
    "可能",
    "si",
    "pas",
    "peut",
    "no está",
    "no se",
    "no fue",
    "no ha",
    "não",
    "quizá",
    "не",
    "ли",
];

/// The summary that an answer makes, or why it makes none.
pub fn accept(answer: &str, host: &Host, facts: &Facts, against: Against<'_>) -> Result<String, Vec<Problem>> {
    let model = parse(answer)?;
    let problems = check(&model, host, facts, against);
    if problems.is_empty() { Ok(compose(host, &model)) } else { Err(problems) }
}

/// What is wrong with it; nothing when it may be used.
pub fn check(model: &Model, host: &Host, facts: &Facts, against: Against<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let missing: Vec<Section> = Section::models().filter(|section| model.section(*section).trim().is_empty()).collect();
    if !missing.is_empty() {
        problems.push(Problem::Missing(missing));
    }
    let text = model.texts().collect::<Vec<_>>().join("\n");
    let (size, limit) = (tokens(&text), host.budget().model);
    if size > limit {
        problems.push(Problem::TooLarge { tokens: size, limit });
    }
    let whole = tokens(&compose(host, model));
    if whole >= against.replaces {
        problems.push(Problem::NotSmaller { tokens: whole, replaces: against.replaces });
    }
    let unknown = unresolved(&text, &facts.calls);
    if !unknown.is_empty() {
        problems.push(Problem::Evidence(unknown));
    }
    let done = facts.unsettled.iter().filter(|(call, _)| called_done(&text, *call));
    problems.extend(done.map(|(call, _)| Problem::CalledDone(*call)));
    problems.extend(repeated(&text, against.texts).map(Problem::Repeats));
    problems
}

/// Evidence that is cited and that there is not, each once.
fn unresolved(text: &str, calls: &BTreeSet<CallId>) -> Vec<String> {
    let mut unknown: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("e/c") {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"/@".contains(c)).unwrap_or(rest.len());
        let cited = rest.get(..end).unwrap_or_default();
        let is_citation = cited.contains('@') && cited.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
        if before.is_some_and(|c| c.is_alphanumeric() || c == '/') || !is_citation {
            continue;
        }
        let resolves = cited.parse::<EvidenceId>().is_ok_and(|id| calls.contains(&id.call));
        if !resolves && !unknown.iter().any(|known| known == cited) {
            unknown.push(cited.to_owned());
        }
    }
    unknown
}

/// Whether a sentence that names the call says that it took effect.
fn called_done(text: &str, call: CallId) -> bool {
    let name = call.to_string();
    let stops = |c: char| matches!(c, '.' | '!' | '?' | ';' | '\n' | '。' | '！' | '？' | '；');
    text.to_lowercase().split(stops).filter(|sentence| holds(sentence, &name).next().is_some()).any(|sentence| {
        DONE.iter().any(|word| {
            holds(sentence, word).any(|at| {
                let before = sentence.get(..at).unwrap_or_default();
                let from = before.char_indices().rev().nth(NEAR).map_or(0, |(at, _)| at);
                let near = before.get(from..).unwrap_or_default();
                !HEDGES.iter().any(|hedge| holds(near, hedge).next().is_some())
            })
        })
    })
}

/// Where a word stands, as no part of a longer one where it is written with letters of an alphabet.
fn holds<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let ideographs = word.chars().any(|c| ('\u{3000}'..='\u{ffef}').contains(&c));
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        ideographs || !letter(after) && (word.starts_with("n'") || !letter(before))
    })
}

/// How the first part begins that stands in one of `texts` word for word.
fn repeated(text: &str, texts: &[&str]) -> Option<String> {
    let given: Vec<Vec<&str>> = texts.iter().map(|text| text.split_whitespace().collect()).collect();
    let mut known: HashMap<[&str; 2], Vec<&[&str]>> = HashMap::new();
    for part in given.iter().flat_map(|words| words.windows(REPEATED)) {
        if let [first, second, ..] = part {
            known.entry([first, second]).or_default().push(part);
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let found = words.windows(REPEATED).find(|window| match window {
        [first, second, ..] => known.get(&[*first, *second]).is_some_and(|parts| parts.contains(window)),
        _ => false,
    })?;
    Some(found.iter().take(6).copied().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_called_done_only_where_nothing_takes_it_back() {
        let check = |text: &str, expected: bool| assert_eq!(called_done(text, CallId(7)), expected, "{text}");
        check("The push (c7) was completed.", true);
        check("c7: done", true);
        check("C7 succeeded, so no check is needed", true);
        check("c7 wurde erfolgreich abgeschlossen", true);
        check("c7 已完成", true);
        check("It is not known whether c7 took effect.", false);
        check("c7 is not done", false);
        check("c7 wasn't finished", false);
        check("c7 尚未完成", false);
        check("c7 no está hecho", false);
        check("c7 ran with no errors and is done", true);
        check("c70 is done. c7 is open.", false);
        check("abandoned: c7", false);
    }

    #[test]
    fn evidence_must_be_of_a_call_that_there_is() {
        let calls = [CallId(1), CallId(12)].into();
        let check = |text: &str, expected: &[&str]| assert_eq!(unresolved(text, &calls), expected, "{text}");
        check("see e/c1@r3, [e/c12@r40] and e/c1@r9.", &[]);
        check("see e/c2@r3 and e/c2@r3, e/c3@r1", &["e/c2@r3", "e/c3@r1"]);
        check("e/c1@latest", &["e/c1@latest"]);
        check("src/core/e/c2@r1 and e/config@r1, type/c2@r1", &[]);
    }

    #[test]
    fn what_was_given_is_found_when_it_is_repeated() {
        let given = (0..60).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
        let part = given.split(' ').skip(10).take(31).collect::<Vec<_>>().join("\n");
        assert_eq!(repeated(&part, &["other", &given]).as_deref(), Some("word10 word11 word12 word13 word14 word15"));
        let less = given.split(' ').take(29).collect::<Vec<_>>().join(" ");
        assert_eq!(repeated(&less, &[&given]), None);
    }
}
