//! Sentences with standing force: what a user said that goes on holding, "never", "always", "only", "ask before".
//!
//! By tables of words, one file per language, never by a model. To add a language: a file with a [`Language`], and a row in
//! [`LANGUAGES`]. A sentence counts when one language says so, or when it forbids something that the host enforces. It is
//! better to keep a sentence too many than to lose one.

mod chinese;
mod english;
mod french;
mod german;
mod japanese;
mod portuguese;
mod russian;
mod sentence;
mod spanish;

use crate::task::forbidden;

/// The words of one language. All in lower case; an apostrophe is `'`.
struct Language {
    /// Words and phrases that give a sentence standing force.
    words: &'static [&'static str],
    /// Phrases that hold such a word and mean something else; they are taken out first.
    except: &'static [&'static str],
    /// Whether words are written with blanks between, so that a part of a longer word is none.
    blanks: bool,
}

const LANGUAGES: &[&Language] = &[
    &english::WORDS,
    &german::WORDS,
    &chinese::WORDS,
    &french::WORDS,
    &spanish::WORDS,
    &portuguese::WORDS,
    &russian::WORDS,
    &japanese::WORDS,
];

/// The sentences of a text with standing force, exactly as they stand there, in order. Blanks around them are left out.
///
/// What has no sentence end for 1,500 bytes is taken in parts, each by itself.
pub fn standing(text: &str) -> Vec<&str> {
    sentence::sentences(text).into_iter().filter(|sentence| stands(sentence)).collect()
}

fn stands(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace(['\u{2019}', '\u{2018}', '\u{2bc}'], "'");
    // Lines that were wrapped part no phrase.
    let lower = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    LANGUAGES.iter().any(|language| language.says(&lower)) || !forbidden::bind(sentence).denies.is_empty()
}

impl Language {
    fn says(&self, lower: &str) -> bool {
        let mut rest = std::borrow::Cow::Borrowed(lower);
        for phrase in self.except {
            if rest.contains(phrase) {
                rest = rest.replace(phrase, " \u{b7} ").into();
            }
        }
        let ascii = rest.is_ascii();
        self.words.iter().filter(|word| !ascii || word.is_ascii()).any(|word| self.holds(&rest, word))
    }

    fn holds(&self, text: &str, word: &str) -> bool {
        let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        text.match_indices(word).any(|(at, found)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
            !self.blanks || !letter(before) && !letter(after)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(standing(text), expected, "{text:?}");
    }

    #[test]
    fn what_stands_is_found_word_for_word_and_the_rest_is_not() {
        check(
            "Never edit files under legacy/. Ask before any git push.",
            &["Never edit files under legacy/.", "Ask before any git push."],
        );
        check(
            "Fix the parser. Please don\u{2019}t touch src/old.rs! Thanks.",
            &["Please don\u{2019}t touch src/old.rs!"],
        );
        check("The whole thing is commonly slow.\nlonely", &[]);
        check("From now on\nuse tabs.", &["From now on\nuse tabs."]);
        check("no network", &["no network"]);
        check("I don't know why it fails.", &[]);
        check("I don't know why, but never retry.", &["I don't know why, but never retry."]);
        check("ok\n\n- run it\n- only use v1.2.3 of foo.js\n- done", &["- only use v1.2.3 of foo.js"]);
    }

    #[test]
    fn each_language_has_its_words() {
        for stands in [
            "You must keep the API.",
            "Use tabs at all times.",
            "Bitte immer zuerst fragen.",
            "Ändere die Tests nicht.",
            "Ab jetzt nur noch Englisch.",
            "不要修改测试。",
            "从现在起用中文回答。",
            "只改 src/ 下的文件。",
            "Ne touche jamais aux tests.",
            "À partir de maintenant, réponds en français.",
            "Nunca hagas push.",
            "Siempre pregunta antes.",
            "Sempre pergunte antes.",
            "Никогда не меняй тесты.",
            "テストは絶対に変更しないでください。",
        ] {
            check(stands, &[stands]);
        }
        for falls in [
            "Fix the build.",
            "Das klappt gut.",
            "这个函数有区别。",
            "还有别的办法吗？",
            "Merci, ça marche.",
            "Gracias, funciona.",
            "Спасибо, работает.",
            "ありがとう。",
        ] {
            check(falls, &[]);
        }
    }

    #[test]
    fn chinese_sentences_need_no_blanks() {
        check("修复解析器。不要提交！谢谢。", &["不要提交！"]);
    }

    #[test]
    fn what_has_no_end_is_taken_in_parts() {
        let text = format!("{} never {}", "a b ".repeat(2_000), "c d ".repeat(2_000));
        let found = standing(&text);
        assert!(found.len() == 1 && found[0].contains("never") && found[0].len() <= 1_500, "{}", found.len());
    }
}
