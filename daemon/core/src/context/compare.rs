//! What one request shares with the one before it: how much of it a provider can read from its cache, and which layer
//! changed first.
//!
//! Compared are parameters, tools, system text and messages in order, as segments without cache marks. A request that goes
//! on from another holds all of it and more; anything else is a break.

use crate::model::request::Params;
use crate::transcript::epoch::Segment;

/// How the summary of earlier turns begins.
const SUMMARY: &str = "[Previous conversation summary]";

/// The parts of a request, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// 0: model, output limit, temperature.
    Params,
    /// 1: tool definitions.
    Tools,
    /// 2: static system text.
    StaticSystem,
    /// 3: dynamic system text.
    DynamicSystem,
    /// 4: project instructions.
    Instructions,
    /// 5: summary of what is not in the view any more.
    Summary,
    /// 6: earlier turns.
    History,
    /// 7: the current turn: from the last prompt on.
    Turn,
    /// 8: what the harness says of its own accord.
    Injection,
}

impl Layer {
    /// Its number; 0 for the parameters.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Its name, such as `dynamic system text`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Params => "parameters",
            Self::Tools => "tool definitions",
            Self::StaticSystem => "static system text",
            Self::DynamicSystem => "dynamic system text",
            Self::Instructions => "project instructions",
            Self::Summary => "history summary",
            Self::History => "history",
            Self::Turn => "current turn",
            Self::Injection => "triggered injections",
        }
    }
}

/// A request in its segments.
#[derive(Debug, Clone, Copy)]
pub struct Wire<'a> {
    /// Its parameters.
    pub params: &'a Params,
    /// One segment per tool.
    pub tools: &'a [Segment],
    /// One per block of system text: the static one, then the dynamic one.
    pub system: &'a [Segment],
    /// How many of `messages`, from the first, belong to the epoch's head.
    pub preamble: usize,
    /// All messages, the head's among them.
    pub messages: &'a [Segment],
}

/// See [`compare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// Segments from the first on that both have.
    pub common_segments: usize,
    /// Their estimated tokens.
    pub common_tokens: u64,
    /// Estimated tokens of the earlier request that the later one does not begin with.
    pub lost_tokens: u64,
    /// Estimated tokens of the whole later request.
    pub total_tokens: u64,
    /// Where the later request stops being a continuation; none when it holds all of the earlier one.
    pub first_changed: Option<Layer>,
}

/// What `after` shares with `before`.
pub fn compare(before: &Wire<'_>, after: &Wire<'_>) -> Comparison {
    let (old, new) = (before.layers(), after.layers());
    let same_params = before.params == after.params;
    let common = old.iter().zip(&new).take_while(|(old, new)| {
        // A segment of another part is another one, whatever it says.
        same_params && part(old.0) == part(new.0) && old.1.hash == new.1.hash
    });
    let common_segments = common.count();
    let tokens = |part: &[(Layer, &Segment)]| part.iter().map(|(_, segment)| segment.tokens).sum::<u64>();
    let lost = old.get(common_segments..).unwrap_or_default();
    let layer = |all: &[(Layer, &Segment)]| all.get(common_segments).map(|(layer, _)| *layer);
    let first_changed = if same_params {
        // Of two layers of the head that meet here, the earlier one grew or shrank.
        let now = layer(&new).filter(|now| *now <= Layer::Summary);
        layer(&old).map(|was| now.map_or(was, |now| was.min(now)))
    } else {
        Some(Layer::Params)
    };
    Comparison {
        common_segments,
        common_tokens: tokens(old.get(..common_segments).unwrap_or_default()),
        lost_tokens: tokens(lost),
        total_tokens: tokens(&new),
        first_changed,
    }
}

/// The part of the body that a layer stands in.
fn part(layer: Layer) -> u8 {
    match layer {
        Layer::Params => 0,
        Layer::Tools => 1,
        Layer::StaticSystem | Layer::DynamicSystem => 2,
        Layer::Instructions | Layer::Summary | Layer::History | Layer::Turn | Layer::Injection => 3,
    }
}

impl<'a> Wire<'a> {
    /// Every segment with its layer, in order.
    pub fn layers(&self) -> Vec<(Layer, &'a Segment)> {
        let turn = self.messages.iter().rposition(|message| is_prompt(&message.text)).unwrap_or(self.messages.len());
        let tools = self.tools.iter().map(|segment| (Layer::Tools, segment));
        let system = self
            .system
            .iter()
            .enumerate()
            .map(|(at, segment)| (if at == 0 { Layer::StaticSystem } else { Layer::DynamicSystem }, segment));
        let messages = self.messages.iter().enumerate().map(|(at, segment)| {
            let layer = match at {
                _ if at < self.preamble && segment.text.contains(SUMMARY) => Layer::Summary,
                _ if at < self.preamble => Layer::Instructions,
                _ if is_injection(&segment.text) => Layer::Injection,
                _ if at >= turn => Layer::Turn,
                _ => Layer::History,
            };
            (layer, segment)
        });
        tools.chain(system).chain(messages).collect()
    }
}

/// Data cannot write these tags, and the model's own messages have another role.
fn is_prompt(text: &str) -> bool {
    is_users(text) && text.contains("<user_query>")
}

fn is_injection(text: &str) -> bool {
    is_users(text) && text.contains("\"<system-reminder>")
}

fn is_users(text: &str) -> bool {
    text.starts_with("{\"role\":\"user\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> Params {
        Params { model: "m".into(), max_output: 10, temperature: None }
    }

    fn segments(texts: &[&str]) -> Vec<Segment> {
        texts.iter().map(|text| Segment::new(*text)).collect()
    }

    const PROMPT: &str = r#"{"role":"user","content":"<user_query>\ngo\n</user_query>"}"#;
    const ANSWER: &str = r#"{"role":"assistant","content":"<user_query> is a tag"}"#;
    const REMINDER: &str = r#"{"role":"user","content":"<system-reminder>\nx\n</system-reminder>"}"#;
    const RULES: &str = r#"{"role":"user","content":"<system-reminder>\nrules\n</system-reminder>"}"#;

    struct Request(Params, Vec<Segment>, Vec<Segment>, Vec<Segment>);

    impl Request {
        fn new(tools: &[&str], system: &[&str], messages: &[&str]) -> Self {
            Self(params(), segments(tools), segments(system), segments(messages))
        }

        fn wire(&self) -> Wire<'_> {
            let preamble = usize::from(self.3.first().is_some_and(|first| first.text.contains("rules")));
            Wire { params: &self.0, tools: &self.1, system: &self.2, preamble, messages: &self.3 }
        }
    }

    fn changed(before: &Request, after: &Request) -> Option<Layer> {
        compare(&before.wire(), &after.wire()).first_changed
    }

    #[test]
    fn a_request_that_goes_on_shares_all_of_the_one_before() {
        let before = Request::new(&["t"], &["s", "d"], &[RULES, PROMPT]);
        let after = Request::new(&["t"], &["s", "d"], &[RULES, PROMPT, ANSWER, REMINDER, PROMPT]);
        let compared = compare(&before.wire(), &after.wire());
        assert_eq!((compared.common_segments, compared.lost_tokens, compared.first_changed), (5, 0, None));
        assert!(compared.common_tokens > 0 && compared.total_tokens > compared.common_tokens);
    }

    #[test]
    fn the_first_layer_that_changed_is_named() {
        let before = Request::new(&["t"], &["s", "d"], &[RULES, PROMPT, ANSWER, REMINDER, PROMPT]);
        let with = |at: usize, text: &str| {
            let mut messages = vec![RULES, PROMPT, ANSWER, REMINDER, PROMPT];
            messages[at] = text;
            Request::new(&["t"], &["s", "d"], &messages)
        };
        let cases = [
            (Request::new(&["t", "u"], &["s", "d"], &[RULES, PROMPT]), Layer::Tools),
            (Request::new(&[], &["s", "d"], &[RULES, PROMPT]), Layer::Tools),
            (Request::new(&["t"], &["S", "d"], &[RULES, PROMPT]), Layer::StaticSystem),
            (Request::new(&["t"], &["s", "D"], &[RULES, PROMPT]), Layer::DynamicSystem),
            (with(0, "other rules"), Layer::Instructions),
            (with(1, "{}"), Layer::History),
            (with(3, "{}"), Layer::Injection),
            (with(4, "{}"), Layer::Turn),
            (Request::new(&["t"], &["s", "d"], &[PROMPT, ANSWER]), Layer::Instructions),
            (Request::new(&["t"], &["s"], &[RULES, PROMPT, ANSWER]), Layer::DynamicSystem),
            (Request::new(&["t"], &["s", "d"], &[RULES, PROMPT, ANSWER]), Layer::Injection),
        ];
        for (after, layer) in &cases {
            assert_eq!(changed(&before, after), Some(*layer), "{layer:?}");
            if layer.number() < 6 && after.3.len() > 2 {
                assert_eq!(changed(after, &before), Some(*layer), "{layer:?}");
            }
        }
        let other =
            Request(Params { max_output: 11, ..params() }, before.1.clone(), before.2.clone(), before.3.clone());
        let compared = compare(&before.wire(), &other.wire());
        assert_eq!((compared.common_tokens, compared.first_changed), (0, Some(Layer::Params)));
        assert_eq!(compared.lost_tokens, compared.total_tokens);
    }

    #[test]
    fn layers_have_the_numbers_of_their_order() {
        let all = [Layer::Params, Layer::Tools, Layer::StaticSystem, Layer::DynamicSystem, Layer::Instructions];
        assert_eq!(all.map(Layer::number), [0, 1, 2, 3, 4]);
        assert_eq!((Layer::Injection.number(), Layer::Turn.name()), (8, "current turn"));
    }
}
