//! Every request of a session: what it shared with the one before, and what it cost.

use super::value::{Break, Kept, Listed, Total};
use crate::store::{AllSent, DamagedRequest, RequestEntry, SentRequest};
use plimsoll_core::context::cache::{entries, readable, scaled};
use plimsoll_core::context::compare::{Comparison, Wire, compare};
use plimsoll_core::id::{EpochNo, RequestNo};
use plimsoll_core::model::catalog::ModelProfile;
use plimsoll_core::model::usage::Usage;
use plimsoll_core::transcript::epoch::{Epoch, RequestRow, Segment};
use plimsoll_core::transcript::side::SideRow;
use std::collections::BTreeMap;

/// What the list is made from: the epochs and the requests of a session, each oldest first.
pub(super) struct Sent(pub(super) AllSent);

/// The request before, as far as it is compared.
struct Before<'a> {
    epoch: &'a Epoch,
    messages: Vec<Segment>,
    row: &'a RequestRow,
    usage: Option<Usage>,
    tokens: u64,
}

impl Sent {
    /// The epoch of this number.
    pub(super) fn epoch(&self, no: EpochNo) -> Option<&Epoch> {
        self.0.epochs.iter().find(|epoch| epoch.no == no)
    }

    /// The numbers of all requests, ascending.
    pub(super) fn numbers(&self) -> impl DoubleEndedIterator<Item = RequestNo> {
        self.0.requests.iter().map(|sent| match sent {
            SentRequest::Whole(entry) => entry.request.no,
            SentRequest::Damaged(damaged) => damaged.no,
        })
    }

    /// Requests of an epoch that are not after `last`, oldest first.
    pub(super) fn of_epoch<'a>(&'a self, last: &'a RequestRow) -> impl Iterator<Item = &'a RequestRow> {
        let rows = self.0.requests.iter().filter_map(|sent| match sent {
            SentRequest::Whole(entry) => Some(&entry.request),
            SentRequest::Damaged(_) => None,
        });
        rows.filter(move |row| row.epoch == last.epoch && row.no <= last.no)
    }

    /// The list, oldest first. `profile` says what is known of an epoch's model. One whose texts are not all as they were sent
    /// is damaged, and so are those that go on from it. Requests of an epoch that damage took whole are left out.
    pub(super) fn list(&self, profile: impl Fn(&Epoch) -> ModelProfile) -> Vec<Listed> {
        let mut listed = Vec::with_capacity(self.0.requests.len());
        let mut damage = self.0.damaged.clone();
        let mut before: Option<Before<'_>> = None;
        let mut known: Option<(EpochNo, ModelProfile)> = None;
        for sent in &self.0.requests {
            let entry = match whole(sent, &mut damage) {
                Ok(entry) => entry,
                Err(damaged) => {
                    listed.push(without_texts(&damaged, self.epoch(damaged.epoch), &profile));
                    before = None;
                    continue;
                }
            };
            let row = &entry.request;
            let Some(epoch) = self.epoch(row.epoch) else { continue };
            let profile = match known.take() {
                Some((no, profile)) if no == epoch.no => profile,
                Some(_) | None => profile(epoch),
            };
            let usage = entry.end.as_ref().and_then(|end| end.usage);
            let same = before.as_ref().is_some_and(|before| before.epoch.no == epoch.no);
            let (messages, tokens, compared, cached_expected, kept) = match before.take() {
                Some(before) if same => {
                    let (expected, kept) = goes_on(&before, row, &profile);
                    let tokens = before.tokens + row.tail.iter().map(|segment| segment.tokens).sum::<u64>();
                    let mut messages = before.messages;
                    messages.extend(row.tail.iter().cloned());
                    (messages, tokens, None, expected, Some(kept))
                }
                before => {
                    let messages: Vec<Segment> = epoch.preamble.iter().chain(&row.tail).cloned().collect();
                    let now = wire(epoch, row, &messages);
                    let tokens = now.layers().iter().map(|(_, segment)| segment.tokens).sum();
                    let compared = before.as_ref().map(|before| compare(&wire_of(before), &now));
                    let kept = before.as_ref().zip(compared).map(|(before, compared)| kept(before, compared));
                    let read = before.as_ref().zip(compared).map(|(before, compared)| {
                        if before.epoch.api == epoch.api {
                            expected(before, row, &profile, compared.common_segments)
                        } else {
                            0
                        }
                    });
                    (messages, tokens, compared, read.unwrap_or_default(), kept)
                }
            };
            let broke = compared.and_then(|compared| {
                let layer = compared.first_changed?;
                Some(Break { layer, cause: epoch.cause, lost_tokens: compared.lost_tokens })
            });
            let price = profile.price.as_ref().zip(usage);
            listed.push(Listed {
                no: row.no,
                turn: row.turn,
                step: row.step,
                at: row.at,
                epoch: row.epoch,
                model: row.params.model.clone(),
                last_item: row.last_item,
                bytes: row.bytes,
                tokens,
                usage,
                cached_expected,
                kept,
                broke,
                cost: price.map(|(price, usage)| (price.cost(usage), price.as_of.clone())),
                error: entry.end.as_ref().and_then(|end| end.error.clone()),
                damaged: None,
            });
            known = Some((epoch.no, profile));
            before = Some(Before { epoch, messages, row, usage, tokens });
        }
        listed
    }
}

/// The request, or why it is damaged: `damage` has what is wrong with texts that it shares with others of its epoch.
fn whole<'a>(
    sent: &'a SentRequest,
    damage: &mut BTreeMap<EpochNo, String>,
) -> Result<&'a RequestEntry, Box<DamagedRequest>> {
    match sent {
        SentRequest::Damaged(damaged) => {
            damage.entry(damaged.epoch).or_insert_with(|| damaged.why.clone());
            Err(Box::new(damaged.clone()))
        }
        SentRequest::Whole(entry) => match damage.get(&entry.request.epoch) {
            None => Ok(entry),
            Some(why) => {
                let RequestRow { no, epoch, turn, step, at, last_item, bytes, .. } = entry.request;
                let (end, why) = (entry.end.clone(), why.clone());
                Err(Box::new(DamagedRequest { no, epoch, turn, step, at, last_item, bytes, end, why }))
            }
        },
    }
}

/// What is listed of a damaged request; `epoch` is its own where that can be read.
fn without_texts(damaged: &DamagedRequest, epoch: Option<&Epoch>, profile: impl Fn(&Epoch) -> ModelProfile) -> Listed {
    let usage = damaged.end.as_ref().and_then(|end| end.usage);
    let price = epoch.and_then(|epoch| profile(epoch).price).zip(usage);
    Listed {
        no: damaged.no,
        turn: damaged.turn,
        step: damaged.step,
        at: damaged.at,
        epoch: damaged.epoch,
        model: epoch.map(|epoch| epoch.model.clone()).unwrap_or_default(),
        last_item: damaged.last_item,
        bytes: damaged.bytes,
        tokens: 0,
        usage,
        cached_expected: 0,
        kept: None,
        broke: None,
        cost: price.map(|(price, usage)| (price.cost(usage), price.as_of)),
        error: damaged.end.as_ref().and_then(|end| end.error.clone()),
        damaged: Some(damaged.why.clone()),
    }
}

/// What all of a list come to.
pub(super) fn total(listed: &[Listed]) -> Total {
    listed.iter().fold(Total::default(), |mut total, one| {
        total.requests += 1;
        total.bytes = total.bytes.saturating_add(one.bytes);
        total.usage = total.usage.plus(one.usage.unwrap_or_default());
        total.cached_expected = total.cached_expected.saturating_add(one.cached_expected);
        total.breaks += u64::from(one.broke.is_some());
        if let Some((cost, as_of)) = &one.cost {
            let before = total.cost.map_or(0.0, |(before, _)| before);
            total.cost = Some((before + cost, as_of.clone()));
        }
        total
    })
}

/// A request in its segments; `messages` are those of its head and all tails up to its own.
pub(super) fn wire<'a>(epoch: &'a Epoch, row: &'a RequestRow, messages: &'a [Segment]) -> Wire<'a> {
    let Epoch { tools, system, preamble, .. } = epoch;
    Wire { params: &row.params, tools, system, preamble: preamble.len(), messages }
}

/// A request beside the conversation in its segments.
pub(super) fn side_wire(row: &SideRow) -> Wire<'_> {
    let SideRow { params, tools, system, messages, .. } = row;
    Wire { params, tools, system, preamble: 0, messages }
}

fn wire_of<'a>(before: &'a Before<'_>) -> Wire<'a> {
    wire(before.epoch, before.row, &before.messages)
}

/// A request of the same epoch holds all of the one before: nothing has to be compared.
fn goes_on(before: &Before<'_>, row: &RequestRow, profile: &ModelProfile) -> (u64, Kept) {
    let all = before.epoch.tools.iter().chain(&before.epoch.system).chain(&before.messages);
    let kept = Kept {
        segments: all.clone().count(),
        bytes: all.map(|segment| segment.text.len() as u64).sum(),
        tokens: before.tokens,
        of_tokens: before.tokens,
    };
    (expected(before, row, profile, kept.segments), kept)
}

fn kept(before: &Before<'_>, compared: Comparison) -> Kept {
    let all = before.epoch.tools.iter().chain(&before.epoch.system).chain(&before.messages);
    Kept {
        segments: compared.common_segments,
        bytes: all.take(compared.common_segments).map(|segment| segment.text.len() as u64).sum(),
        tokens: compared.common_tokens,
        of_tokens: before.tokens,
    }
}

/// Tokens read from the cache, by the rule of `core::context::cache`.
fn expected(before: &Before<'_>, row: &RequestRow, profile: &ModelProfile, common: usize) -> u64 {
    let lifetime = i64::try_from(profile.cache_lifetime_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
    if row.at.0.saturating_sub(before.row.at.0) > lifetime {
        return 0;
    }
    let read = readable(before.epoch.api, &entries(&wire_of(before), &before.row.marks), common);
    let all = before.epoch.tools.iter().chain(&before.epoch.system).chain(&before.messages);
    let tokens = all.take(read).map(|segment| segment.tokens).sum();
    scaled(tokens, before.tokens, before.usage.map(|usage| usage.input))
}
