//! Events and items as short lines, so that a test can compare whole sequences.

use serde_json::Value;

/// The durable events among `events`, one line each. They must begin after `after` and have no gap.
pub fn told(events: &[Value], after: u64) -> Vec<String> {
    let durable: Vec<&Value> = events.iter().filter(|event| !event["seq"].is_null()).collect();
    for (expected, event) in (after + 1..).zip(&durable) {
        assert_eq!(event["seq"], expected, "events have no gap: {event:#}");
        assert!(event["at"].as_i64().is_some_and(|at| at > 0), "{event:#}");
    }
    durable.into_iter().map(line).collect()
}

fn line(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    match event["type"].as_str().unwrap_or_default() {
        "turnStarted" => format!("turn {}", event["turn"]),
        "turnQueued" => format!("turn {} waits", event["turn"]),
        "itemAdded" => item(&event["item"]),
        "permissionAsked" => {
            format!("{} asked for {}", string(&event["ask"]["id"]), string(&event["ask"]["call"]))
        }
        "permissionResolved" => format!("{} {}", string(&event["ask"]["id"]), resolution(&event["ask"]["resolution"])),
        "toolStarted" => format!("{} runs", text("call")),
        "taskEnded" => format!("{} has ended", text("call")),
        "planChanged" => format!("plan by {}", text("call")),
        "operationChanged" => format!("operation {} changed", text("call")),
        "stepStarted" => format!("step {}", event["step"]),
        "stepCompleted" => format!("step {} answered", event["step"]),
        "turnCompleted" => format!("turn {} ends: {}", event["turn"], text("stopReason")),
        "sessionChanged" => "session changed".to_owned(),
        other => panic!("an event of type {other:?}: {event:#}"),
    }
}

fn resolution(resolution: &Value) -> String {
    match resolution["type"].as_str() {
        Some("answered") => string(&resolution["choice"]),
        other => other.unwrap_or("open").to_owned(),
    }
}

/// An item on one line.
pub fn item(item: &Value) -> String {
    match item["kind"].as_str().unwrap_or_default() {
        "user" if item["steering"] == true => format!("steering {}", item["text"]),
        "user" => format!("user {}", item["text"]),
        "meta" => format!("meta {}", string(&item["cause"])),
        "assistant" if item["cut"] == true => format!("cut {}", item["text"]),
        "assistant" => format!("text {}", item["text"]),
        "reasoning" => format!("reasoning {}", item["text"]),
        "toolCall" => format!("{} = {}", string(&item["call"]), string(&item["tool"])),
        "toolResult" => format!("{} {}", string(&item["call"]), string(&item["status"])),
        "notice" => format!("notice {}", string(&item["cause"])),
        other => panic!("an item of kind {other:?}: {item:#}"),
    }
}

/// The durable events among `events`, whole, but for the state of the session that some show: that is the present one,
/// whenever they are read.
pub fn durable(events: &[Value]) -> Vec<Value> {
    let mut durable: Vec<Value> = events.iter().filter(|event| !event["seq"].is_null()).cloned().collect();
    for event in &mut durable {
        if let Some(fields) = event.as_object_mut() {
            fields.remove("info");
        }
    }
    durable
}

/// The items of these events, whole, in order.
pub fn items(events: &[Value]) -> Vec<Value> {
    events.iter().filter(|event| event["type"] == "itemAdded").map(|event| event["item"].clone()).collect()
}

fn string(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
