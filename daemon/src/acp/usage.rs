//! The load of a session's window and what the session has cost, as an editor's gauge shows them.

use super::facade::Facade;
use crate::session::api::ApiError;
use agent_client_protocol_schema::v1::{Cost, SessionUpdate, UsageUpdate};
use plimsoll_core::id::{SessionId, StepNo, TurnNo};
use plimsoll_core::model::catalog::Price;
use plimsoll_core::model::usage::Usage;

/// The currency of all prices.
const CURRENCY: &str = "USD";

/// See the module's head.
#[derive(Debug, Default)]
pub struct Gauge {
    used: u64,
    size: u64,
    /// US dollars of all requests with a known price.
    cost: Option<f64>,
    /// The newest step whose cost is counted.
    counted: (TurnNo, StepNo),
    /// The price of the turn's model.
    price: Option<(TurnNo, Option<Price>)>,
}

impl Gauge {
    /// What is known of a session that has a past: its last answered step, what is in its window of this size, and what
    /// it has cost.
    pub fn of_past(counted: (TurnNo, StepNo), used: u64, size: u64, cost: Option<f64>) -> Self {
        Self { used, size, cost, counted, price: None }
    }

    /// A request with so many tokens is sent.
    pub fn sent(&mut self, tokens: u64, window: u64) {
        (self.used, self.size) = (tokens, window);
    }

    /// Whether the price of this turn's model has to be found out.
    pub fn needs_price(&self, turn: TurnNo) -> bool {
        self.price.as_ref().is_none_or(|(known, _)| *known != turn)
    }

    /// The price of a turn's model; none where it is not known.
    pub fn set_price(&mut self, turn: TurnNo, price: Option<Price>) {
        self.price = Some((turn, price));
    }

    /// A request was answered. The answer is part of what the next one holds.
    pub fn answered(&mut self, turn: TurnNo, step: StepNo, usage: Usage) {
        self.used = usage.input.saturating_add(usage.output);
        if (turn, step) <= self.counted {
            return;
        }
        self.counted = (turn, step);
        let price = self.price.as_ref().filter(|(of, _)| *of == turn).and_then(|(_, price)| price.as_ref());
        if let Some(price) = price {
            self.cost = Some(self.cost.unwrap_or_default() + price.cost(usage));
        }
    }

    /// What the client is told; nothing before the first request.
    pub fn update(&self) -> Option<SessionUpdate> {
        let cost = self.cost.map(|cost| Cost::new(cost, CURRENCY));
        (self.size > 0).then(|| SessionUpdate::UsageUpdate(UsageUpdate::new(self.used, self.size).cost(cost)))
    }
}

impl Facade {
    /// What a session has used up to now.
    pub(super) async fn past_usage(&self, id: &SessionId) -> Result<Gauge, ApiError> {
        let client = self.client();
        let page = self.service.requests(&client, id, None, 1).await?;
        let Some(last) = page.requests.last() else { return Ok(Gauge::default()) };
        let Some(model) = self.service.model_of(&client, id).await? else { return Ok(Gauge::default()) };
        let used = last.usage.map_or(last.tokens, |usage| usage.input.saturating_add(usage.output));
        // A request without an answer is still to be counted.
        let counted = if last.usage.is_some() { (last.turn, last.step) } else { (last.turn, StepNo(0)) };
        Ok(Gauge::of_past(counted, used, model.context_window, page.total.cost.map(|(cost, _)| cost)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_window_is_shown_with_each_request_and_the_cost_grows_by_each_answer_once() {
        let told = |gauge: &Gauge| serde_json::to_value(gauge.update()).unwrap();
        let mut gauge = Gauge::default();
        assert_eq!(told(&gauge), Value::Null);
        gauge.sent(900, 2_000);
        assert_eq!(told(&gauge), json!({"sessionUpdate": "usage_update", "used": 900, "size": 2_000}));
        let usage = Usage { input: 1_000, output: 100, ..Usage::default() };
        let price = Price { input: 1e6, cache_read: 0.0, cache_write: 0.0, output: 0.0, as_of: String::new() };
        assert!(gauge.needs_price(TurnNo(1)));
        gauge.set_price(TurnNo(1), Some(price));
        gauge.answered(TurnNo(1), StepNo(1), usage);
        let cost = |amount: f64| json!({"amount": amount, "currency": "USD"});
        assert_eq!(
            told(&gauge),
            json!({"sessionUpdate": "usage_update", "used": 1_100, "size": 2_000, "cost": cost(1_000.0)})
        );
        gauge.answered(TurnNo(1), StepNo(1), usage);
        gauge.answered(TurnNo(1), StepNo(2), usage);
        assert_eq!(told(&gauge)["cost"], cost(2_000.0));
        // The model of the next turn has no known price.
        gauge.set_price(TurnNo(2), None);
        gauge.answered(TurnNo(2), StepNo(1), usage);
        assert_eq!(told(&gauge)["cost"], cost(2_000.0));
        let mut past = Gauge::of_past((TurnNo(3), StepNo(2)), 10, 20, None);
        past.set_price(TurnNo(3), None);
        past.answered(TurnNo(3), StepNo(2), usage);
        assert_eq!(told(&past), json!({"sessionUpdate": "usage_update", "used": 1_100, "size": 20}));
    }
}
