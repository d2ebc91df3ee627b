//! What a provider is expected to read from its cache, from what was sent before.
//!
//! The rule. A request can read what it shares with the request before it, from the first byte on. Where the cache is kept
//! by marks (Anthropic), that ends at the last of the earlier request's marks inside what both share: only there an entry
//! was written. Where it is kept by itself (Chat Completions and what speaks it), all that both share can be read. Once the
//! earlier request is older than the cache's lifetime, nothing is read. The built-in offline model has no cache.
//!
//! Tokens are estimates, scaled by what the provider reported for the request before where it did: of a request that goes
//! on from the one before, the expectation is then exactly the input that was reported for that one, or the part of it up
//! to its last mark.

use super::compare::{Wire, compare};
use crate::model::request::Api;
use crate::transcript::epoch::Segment;

/// A request that was sent before.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// Its wire.
    pub api: Api,
    /// Its segments.
    pub wire: Wire<'a>,
    /// Its cache marks on messages.
    pub marks: &'a [u32],
    /// All its tokens as the provider reported them.
    pub reported: Option<u64>,
    /// Milliseconds since it was sent.
    pub age_ms: i64,
    /// Seconds for which an unused entry is kept.
    pub lifetime_s: u64,
}

/// See the module's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expected {
    /// Segments, from the first on, that are read from the cache.
    pub segments: usize,
    /// Their tokens.
    pub tokens: u64,
}

/// What `after` reads from the cache that `before` left.
pub fn expected(before: &Before<'_>, api: Api, after: &Wire<'_>) -> Expected {
    let lifetime = i64::try_from(before.lifetime_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
    if before.api != api || before.age_ms > lifetime {
        return Expected::default();
    }
    let common = compare(&before.wire, after).common_segments;
    let segments = readable(api, &entries(&before.wire, before.marks), common);
    let all = before.wire.layers();
    let tokens =
        |part: &[(super::compare::Layer, &Segment)]| part.iter().map(|(_, segment)| segment.tokens).sum::<u64>();
    let (read, total) = (tokens(all.get(..segments).unwrap_or_default()), tokens(&all));
    Expected { segments, tokens: scaled(read, total, before.reported) }
}

/// Segments that are read, of `common` that two requests share, where the earlier one wrote these [`entries`].
pub fn readable(api: Api, entries: &[usize], common: usize) -> usize {
    match api {
        Api::Offline => 0,
        Api::OpenaiChat => common,
        Api::AnthropicMessages => entries.iter().copied().filter(|end| *end <= common).max().unwrap_or(0),
    }
}

/// `part` of `total` estimated tokens, of which the provider reported so many.
pub fn scaled(part: u64, total: u64, reported: Option<u64>) -> u64 {
    let Some(reported) = reported else { return part };
    u64::try_from(u128::from(part) * u128::from(reported) / u128::from(total.max(1))).unwrap_or(u64::MAX)
}

/// Segments up to where a request writes an entry into the cache of a provider that goes by marks: after the tools, after
/// the first block of system text, after each marked message.
pub fn entries(wire: &Wire<'_>, marks: &[u32]) -> Vec<usize> {
    let head = wire.tools.len() + wire.system.len();
    let tools = (!wire.tools.is_empty()).then_some(wire.tools.len());
    let system = (!wire.system.is_empty()).then_some(wire.tools.len() + 1);
    let messages = marks.iter().filter_map(|mark| usize::try_from(*mark).ok());
    let messages = messages.filter(|mark| *mark < wire.messages.len()).map(|mark| head + mark + 1);
    tools.into_iter().chain(system).chain(messages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::request::Params;

    fn segments(texts: &[&str]) -> Vec<Segment> {
        texts.iter().map(|text| Segment::new(*text)).collect()
    }

    /// What a request with these messages reads after one with `before`, which was marked and reported so.
    fn check(api: Api, before: &[&str], marks: &[u32], reported: Option<u64>, age_ms: i64, after: &[&str]) -> Expected {
        let params = Params { model: "m".into(), max_output: 1, temperature: None };
        let (tools, system) = (segments(&["tttt"]), segments(&["ssss", "dddd"]));
        let (old, new) = (segments(before), segments(after));
        let wire = |messages| Wire { params: &params, tools: &tools, system: &system, preamble: 0, messages };
        let before = Before { api, wire: wire(&old), marks, reported, age_ms, lifetime_s: 300 };
        expected(&before, api, &wire(&new))
    }

    #[test]
    fn automatic_caches_read_all_that_both_share() {
        let read = |before: &[&str], after: &[&str]| check(Api::OpenaiChat, before, &[], None, 0, after).segments;
        assert_eq!(read(&["a", "b"], &["a", "b", "c"]), 5);
        assert_eq!(read(&["a", "b"], &["a", "x", "c"]), 4);
        assert_eq!(check(Api::Offline, &["a"], &[], None, 0, &["a", "b"]), Expected::default());
    }

    #[test]
    fn caches_with_marks_read_up_to_the_last_mark_inside_what_both_share() {
        let read = |marks: &[u32], after: &[&str]| {
            check(Api::AnthropicMessages, &["a", "b", "c"], marks, None, 0, after).segments
        };
        assert_eq!(read(&[0, 2], &["a", "b", "c", "d"]), 6);
        assert_eq!(read(&[0, 2], &["a", "b", "x", "d"]), 4);
        assert_eq!(read(&[2], &["x"]), 2);
        assert_eq!(read(&[9], &["a"]), 2);
    }

    #[test]
    fn a_cold_cache_reads_nothing() {
        let read = |age| check(Api::OpenaiChat, &["a"], &[], None, age, &["a", "b"]).segments;
        assert_eq!((read(300_000), read(300_001)), (4, 0));
    }

    #[test]
    fn what_was_reported_scales_the_estimate() {
        let all = check(Api::OpenaiChat, &["aaaa"], &[], Some(1_000), 0, &["aaaa", "b"]);
        assert_eq!(all.tokens, 1_000);
        let half = check(Api::OpenaiChat, &["aaaa", "bbbb", "cccc", "dddd", "eeee"], &[], Some(800), 0, &["aaaa", "x"]);
        assert_eq!(half.tokens, 400);
    }
}
