//! One run for every boundary of a few kinds of work.

use crate::boundaries::{Named, boundaries, table};
use crate::job::{Job, Kind};
use crate::run::{Death, Ran, Work, answers, run};
use futures_util::StreamExt;
use plimsoll_core::model::request::Api;
use plimsoll_tests::boundary::Stopper;

/// Runs that go on at the same time.
const TOGETHER: usize = 3;

fn work(messages: &[&[Kind]], api: Api) -> Work {
    let mut no = 0;
    let mut job = |kind: &Kind| {
        no += 1;
        Job { no, kind: *kind }
    };
    Work { messages: messages.iter().map(|kinds| kinds.iter().map(&mut job).collect()).collect(), api }
}

/// Runs all of these, a table of which is printed. All must come.
async fn deaths(stopper: &Stopper, work: &Work, all: Vec<(&'static str, Death)>) -> Vec<(Death, Ran)> {
    let one = async |(kind, death): (&'static str, Death)| {
        // When one fails, it is among the last that stand here.
        println!("{death}");
        let ran = run(stopper, work, &death).await;
        (kind, death, ran)
    };
    let ends: Vec<_> = futures_util::stream::iter(all).map(one).buffer_unordered(TOGETHER).collect().await;
    println!("{}", table(&ends.iter().map(|(kind, _, ran)| (*kind, ran.died)).collect::<Vec<_>>()));
    let missed: Vec<String> = ends.iter().filter(|end| !end.2.died).map(|end| end.1.to_string()).collect();
    assert!(missed.is_empty(), "boundaries that did not come again: {missed:#?}");
    ends.into_iter().map(|(_, death, ran)| (death, ran)).collect()
}

async fn every(work: Work) {
    let stopper = Stopper::new();
    let ran = run(&stopper, &work, &Death::Never).await;
    assert!(!ran.died);
    let named = boundaries(&ran.passed, &ran.data, &ran.workspace);
    let mut all: Vec<(&'static str, Death)> =
        named.into_iter().map(|named| (named.kind, Death::At(named.at))).collect();
    for no in 0..answers(&work) {
        all.push(("before an answer", Death::Waiting(no)));
        all.push(("while an answer streams", Death::Streaming(no)));
    }
    deaths(&stopper, &work, all).await;
}

/// The daemon dies while it changes files, and again at every boundary of what the next one does about that.
async fn every_again(work: Work) {
    let stopper = Stopper::new();
    let ran = run(&stopper, &work, &Death::Never).await;
    let in_files = |named: &Named| named.at.call == "rename" || named.at.call == "pwrite64";
    let first = boundaries(&ran.passed, &ran.data, &ran.workspace).into_iter().filter(in_files);
    let first = first.map(|named| (named.kind, Death::At(named.at))).collect();
    let mut second = Vec::new();
    for (death, ran) in deaths(&stopper, &work, first).await {
        let Death::At(first) = death else { continue };
        // What it does with the files, and the first of its records; later ones may wait for a client.
        let recorded = ran.recovered.iter().position(|passed| passed.call == "commit").unwrap_or_default();
        let all = boundaries(&ran.recovered, &ran.data, &ran.workspace);
        let early = boundaries(&ran.recovered[..recorded], &ran.data, &ran.workspace);
        for named in all.into_iter().filter(|named| !named.at.glob.ends_with("-wal") || early.contains(named)) {
            second.push((named.kind, Death::Twice(first.clone(), named.at)));
        }
    }
    deaths(&stopper, &work, second).await;
}

#[tokio::test]
async fn of_edits_and_a_command() {
    every(work(&[&[Kind::Replace, Kind::Make], &[Kind::Command]], Api::OpenaiChat)).await;
}

#[tokio::test]
async fn of_edits_of_several_places() {
    every(work(&[&[Kind::Multi], &[Kind::Over, Kind::Read, Kind::Delete]], Api::AnthropicMessages)).await;
}

#[tokio::test]
async fn of_a_patch_and_the_plan() {
    every(work(&[&[Kind::Todo, Kind::Patch], &[Kind::Replace]], Api::OpenaiChat)).await;
}

#[tokio::test]
async fn of_files_with_two_names() {
    every(work(&[&[Kind::Linked, Kind::Command]], Api::AnthropicMessages)).await;
}

#[tokio::test]
async fn of_the_recovery_of_a_patch() {
    every_again(work(&[&[Kind::Patch]], Api::OpenaiChat)).await;
}

#[tokio::test]
async fn of_the_recovery_of_a_file_with_two_names() {
    every_again(work(&[&[Kind::Linked]], Api::AnthropicMessages)).await;
}
