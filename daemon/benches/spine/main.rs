//! The spine's budgets, in process: a service over a real store and a real workspace, a model server on the loopback
//! interface that answers at once. Prints a table of medians beside their budgets; nothing fails on a slow machine.
//!
//! `cargo bench -p plimsoll --bench spine` (a released build; the figures of a busy machine say little).

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement that cannot go on has nothing better to do than to end"
)]

mod long;
mod server;
mod world;

use server::Reply;
use std::time::{Duration, Instant};
use world::World;

/// Turns before the measured ones.
const HISTORY: usize = 100;
/// Measured turns or steps.
const ROUNDS: usize = 40;
/// Deltas in a burst.
const BURST: usize = 5_000;

struct Row {
    what: String,
    samples: Vec<Duration>,
    budget_ms: Option<f64>,
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    line("| what | best ms | median ms | p90 ms | budget ms |\n|---|---:|---:|---:|---:|");
    for files in [2_000, 50_000] {
        runtime.block_on(turns(files));
    }
    runtime.block_on(steps());
    runtime.block_on(deltas());
    runtime.block_on(long::sessions());
    processes();
}

/// Prompt received to model request on the wire, warm, with a history.
async fn turns(files: usize) {
    let world = World::new(files).await;
    for turn in 0..HISTORY {
        world.turn(&format!("turn {turn}"), Reply::text("ok, done")).await;
    }
    let mut samples = Vec::new();
    for turn in 0..ROUNDS {
        let begun = Instant::now();
        let arrived = world.turn(&format!("measured {turn}"), Reply::text("ok, done")).await;
        samples.push(arrived.duration_since(begun));
    }
    show(&Row {
        what: format!("prompt to request on the wire, {HISTORY} turns before, {files} files"),
        samples,
        budget_ms: Some(3.5),
    });
    world.end().await;
}

/// A step's answer ended to the next request on the wire.
async fn steps() {
    let world = World::new(200).await;
    world.turn("warm", Reply::text("ok")).await;
    for (what, call, budget_ms) in [
        ("whole step that reads a small file", ("read_file", r#"{"target_file":"src/f@.rs"}"#), Some(6.0)),
        ("whole step that runs `echo hi`", ("run_terminal_cmd", r#"{"command":"echo hi @"}"#), None),
    ] {
        // Each another one: the same call again and again would be asked about.
        let call = |no: usize| Reply::call(call.0, &call.1.replace('@', &no.to_string()));
        let replies = (0..ROUNDS).map(call).chain([Reply::text("done")]).collect();
        let exchanges = world.exchanges("loop", replies).await;
        let samples = exchanges.windows(2).map(|pair| pair[1].arrived.duration_since(pair[0].answered)).collect();
        show(&Row { what: what.to_owned(), samples, budget_ms });
    }
    world.end().await;
}

/// Provider delta to client, one by one and in a burst.
async fn deltas() {
    let world = World::new(20).await;
    world.turn("warm", Reply::text("ok")).await;
    let samples = world.delta_latency(60, Duration::from_millis(5)).await;
    show(&Row { what: "provider delta to client".to_owned(), samples, budget_ms: Some(0.5) });
    let mut samples = Vec::new();
    for _ in 0..5 {
        samples.push(world.burst(BURST).await);
    }
    show(&Row {
        what: format!("{BURST} deltas in a burst: client has all, after the provider"),
        samples,
        budget_ms: Some(150.0),
    });
    world.end().await;
}

/// Real processes: a daemon that starts, a bridge to one that runs.
fn processes() {
    let machine = world::Processes::new();
    let cold = (0..10).map(|_| machine.initialize(true)).collect();
    show(&Row { what: "cold start to answered initialize".to_owned(), samples: cold, budget_ms: Some(30.0) });
    let warm = (0..20).map(|_| machine.initialize(false)).collect();
    show(&Row {
        what: "bridge to a running daemon, initialize answered".to_owned(),
        samples: warm,
        budget_ms: Some(8.0),
    });
}

/// Prints a row at once: the next one may take its time.
fn show(row: &Row) {
    let mut sorted = row.samples.clone();
    sorted.sort_unstable();
    let at = |share: f64| {
        let place = ((sorted.len() as f64 - 1.0) * share).round() as usize;
        sorted.get(place).map_or(f64::NAN, |sample| sample.as_secs_f64() * 1e3)
    };
    let budget = row.budget_ms.map_or("-".to_owned(), |budget| budget.to_string());
    line(&format!("| {} | {:.2} | {:.2} | {:.2} | {budget} |", row.what, at(0.0), at(0.5), at(0.9)));
}

fn line(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
}
