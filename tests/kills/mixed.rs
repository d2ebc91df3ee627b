//! Hundreds of runs over mixed work, each ended somewhere else.

use crate::boundaries::boundaries;
use crate::job::{Job, KINDS, Kind};
use crate::run::{Death, Ran, Work, answers, run};
use futures_util::StreamExt;
use plimsoll_core::model::request::Api;
use plimsoll_tests::boundary::Stopper;
use plimsoll_tests::random::{Random, seed};
use std::time::Duration;

/// Runs that are ended; each work is first run undisturbed.
const RUNS: u64 = 500;
/// Of one work.
const DEATHS: u64 = 20;
/// Works that go on at the same time.
const TOGETHER: usize = 2;
/// The longest time after which a daemon is killed, when it is killed by time.
const LONGEST_MS: u64 = 1_500;

fn work(random: &mut Random) -> Work {
    let mut no = 0;
    let mut message = |random: &mut Random| {
        let jobs = (0..=random.below(3)).map(|_| {
            no += 1;
            Job { no, kind: *random.pick(KINDS) }
        });
        jobs.collect()
    };
    let messages = (0..=random.below(3)).map(|_| message(random)).collect();
    Work { messages, api: *random.pick(&[Api::OpenaiChat, Api::AnthropicMessages]) }
}

fn death(random: &mut Random, work: &Work, ran: &Ran) -> Death {
    let answer = |random: &mut Random| usize::try_from(random.below(answers(work) as u64)).expect("a number");
    match random.below(10) {
        0 => Death::Waiting(answer(random)),
        1 => Death::Streaming(answer(random)),
        2 => Death::After(Duration::from_millis(random.below(LONGEST_MS))),
        _ => Death::At(random.pick(&boundaries(&ran.passed, &ran.data, &ran.workspace)).at.clone()),
    }
}

/// The deaths of one work; how many of them came.
async fn deaths(stopper: &Stopper, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let work = work(&mut random);
    let ran = run(stopper, &work, &Death::Never).await;
    let mut died = 0;
    for no in 0..DEATHS {
        let death = death(&mut random, &work, &ran);
        let kinds: Vec<Vec<Kind>> =
            work.messages.iter().map(|jobs| jobs.iter().map(|job| job.kind).collect()).collect();
        println!("seed {seed}, run {no}: {kinds:?}, {death}");
        died += u64::from(run(stopper, &work, &death).await.died);
    }
    died
}

#[tokio::test]
#[ignore = "runs for many minutes"]
async fn of_mixed_work() {
    let (stopper, seed) = (Stopper::new(), seed());
    let works = (0..RUNS / DEATHS).map(|no| deaths(&stopper, seed.wrapping_add(no)));
    let died: Vec<u64> = futures_util::stream::iter(works).buffer_unordered(TOGETHER).collect().await;
    let died: u64 = died.into_iter().sum();
    println!("{died} of {RUNS} runs died where they were to");
    assert!(died * 10 >= RUNS * 9, "too many boundaries did not come again");
}
