//! One run for every boundary of a few kinds of work.

use crate::boundaries::{Named, boundaries, table};
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
    let all = boundaries(&ran.passed, &ran.data, &ran.workspace);
    let one = async |named: Named| {
        println!("{}", named.at);
        let died = run(&stopper, &work, &Death::At(named.at.clone())).await.died;
        (named, died)
    };
    let ends: Vec<(Named, bool)> = futures_util::stream::iter(all).map(one).buffer_unordered(TOGETHER).collect().await;
    println!("{}", table(&ends));
    let missed: Vec<String> = ends.iter().filter(|(_, died)| !died).map(|(named, _)| named.at.to_string()).collect();
    assert!(missed.is_empty(), "boundaries that did not come again: {missed:#?}");
    for no in 0..answers(&work) {
        for death in [Death::Waiting(no), Death::Streaming(no)] {
            assert!(run(&stopper, &work, &death).await.died);
        }
    }
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
