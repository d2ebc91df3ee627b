//! One run for every boundary of a few kinds of work.

use crate::boundaries::{boundaries, table};
use crate::job::{Job, Kind};
use crate::run::{Death, Work, answers, run};
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

async fn every(work: Work) {
    let stopper = Stopper::new();
    let ran = run(&stopper, &work, &Death::Never).await;
    assert!(!ran.died);
    let mut all: Vec<(&'static str, Death)> = boundaries(&ran.passed, &ran.data, &ran.workspace)
        .into_iter()
        .map(|named| (named.kind, Death::At(named.at)))
        .collect();
    for no in 0..answers(&work) {
        all.push(("before an answer", Death::Waiting(no)));
        all.push(("while an answer streams", Death::Streaming(no)));
    }
    let one = async |(kind, death): (&'static str, Death)| {
        // Of the last one that stands here and has not ended, a failure tells.
        println!("{death}");
        (kind, run(&stopper, &work, &death).await.died, death)
    };
    let ends: Vec<(&'static str, bool, Death)> =
        futures_util::stream::iter(all).map(one).buffer_unordered(TOGETHER).collect().await;
    println!("{}", table(&ends.iter().map(|(kind, died, _)| (*kind, *died)).collect::<Vec<_>>()));
    let missed: Vec<String> = ends.iter().filter(|(_, died, _)| !died).map(|(_, _, death)| death.to_string()).collect();
    assert!(missed.is_empty(), "boundaries that did not come again: {missed:#?}");
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
