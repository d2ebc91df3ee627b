//! Requests beside the conversation: on its prefix, or alone.

use super::{View, params};
use crate::id::{EpochNo, RequestNo, SideNo};
use crate::model::catalog::ModelProfile;
use crate::model::codec;
use crate::model::request::Message;
use crate::time::Timestamp;
use crate::transcript::epoch::{Segment, request_hash};
use crate::transcript::side::{Purpose, SideRow};
use std::sync::Arc;

/// What a request beside the conversation begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The request of the conversation that it goes on from; none: it stands alone.
    pub base: Option<RequestNo>,
    tools: Vec<Segment>,
    system: Vec<Segment>,
    messages: Vec<Segment>,
    marks: Vec<u32>,
    epoch: EpochNo,
}

impl View {
    /// A start with everything that the last request had, byte for byte: its provider has that in its cache. `last` is the
    /// number of that request. None before the first.
    pub fn fork(&self, last: RequestNo) -> Option<Start> {
        let epoch = self.epoch.as_ref()?;
        // What a compaction left and no request has sent yet is nobody's prefix.
        self.last.as_ref().filter(|_| self.carried == 0)?;
        Some(Start {
            base: Some(last),
            tools: epoch.tools.clone(),
            system: epoch.system.clone(),
            messages: self.messages.clone(),
            marks: self.marks.clone(),
            epoch: epoch.no,
        })
    }

    /// A start with this system text alone.
    pub fn alone(&self, system: &str, model: &ModelProfile) -> Start {
        let system = codec::encode_system(model.api, &[system.to_owned()]);
        Start {
            base: None,
            tools: Vec::new(),
            system: system.into_iter().map(Segment::new).collect(),
            messages: Vec::new(),
            marks: Vec::new(),
            epoch: self.epoch.as_ref().map(|epoch| epoch.no).unwrap_or_default(),
        }
    }

    /// The request that begins so and goes on with these messages, as it is stored and as it is sent.
    pub fn side(
        &self,
        start: &Start,
        more: &[Message],
        no: SideNo,
        at: Timestamp,
        model: &ModelProfile,
    ) -> (SideRow, Vec<u8>) {
        let more = more.iter().flat_map(|message| codec::encode_message(model.api, message)).map(Segment::new);
        let messages: Vec<Segment> = start.messages.iter().cloned().chain(more).collect();
        let params = match &self.epoch {
            Some(epoch) if start.base.is_some() => epoch.params.clone().unwrap_or_else(|| params(model)),
            Some(_) | None => params(model),
        };
        let texts = |segments: &[Segment]| segments.iter().map(|segment| Arc::clone(&segment.text)).collect::<Vec<_>>();
        let body = codec::body(
            model.api,
            &params,
            &texts(&start.tools),
            &texts(&start.system),
            &texts(&messages),
            &start.marks,
        );
        let all = start.tools.iter().chain(&start.system).chain(&messages);
        let row = SideRow {
            no,
            purpose: Purpose::Summary,
            at,
            epoch: start.epoch,
            last_item: self.last_item,
            base: start.base,
            api: model.api,
            hash: request_hash(&params, all),
            params,
            tools: start.tools.clone(),
            system: start.system.clone(),
            messages,
            marks: start.marks.clone(),
            bytes: body.len() as u64,
        };
        (row, body)
    }
}
