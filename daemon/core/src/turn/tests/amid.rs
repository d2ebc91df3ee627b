//! Compactions amid everything else that happens to a session: deaths in the middle of a summary, interrupts, refusals as too
//! long, going back to an earlier turn, forks. What the user demanded and did not take back stands in every request.

use super::super::input::InputBody;
use super::behaviour::{collect, reply, text};
use super::compaction::{RULE, answer_badly, good, in_window, refuse, settle, side_answers, turn, world};
use super::world::{Pending, World, check_strict, open_end};
use crate::id::{ItemNo, SideNo, TurnNo};
use crate::model::calibration::Calibration;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::StopReason;
use crate::transcript::epoch::EpochCause;
use proptest::prelude::*;

/// What happens in the place of a plain turn.
#[derive(Debug, Clone, Copy)]
enum Amid {
    Nothing,
    /// The daemon dies between turns.
    Death,
    /// It dies in a turn in which no summary that is asked for comes.
    DeathInSummary,
    /// The user interrupts such a turn.
    Interrupt,
    /// The turn's first request is refused as too long.
    Refusal,
    /// And so is what follows on that.
    Refusals,
    /// The user asks for it, between turns.
    Manual,
    /// The conversation goes back so many turns.
    Back(u64),
    /// The session is forked so many items back, and the fork goes on.
    Fork(u64),
}

#[derive(Debug, Clone)]
struct Run {
    window: u64,
    prepare: bool,
    /// Tokens that the provider counts for one estimated, times ten.
    factor: u64,
    /// Of each turn: what happens, its steps, the lines of each result, and what its summariser does.
    turns: Vec<(Amid, usize, usize, u64)>,
}

fn runs() -> impl Strategy<Value = Run> {
    let amid = prop_oneof![
        8 => Just(Amid::Nothing),
        1 => Just(Amid::Death),
        1 => Just(Amid::DeathInSummary),
        1 => Just(Amid::Interrupt),
        1 => Just(Amid::Refusal),
        1 => Just(Amid::Refusals),
        1 => Just(Amid::Manual),
        1 => (1_u64..9).prop_map(Amid::Back),
        1 => (0_u64..40).prop_map(Amid::Fork),
    ];
    let turns = prop::collection::vec((amid, 1_usize..4, 0_usize..90, any::<u64>()), 10..45);
    (20_000_u64..50_000, prop::bool::weighted(0.7), 7_u64..16, turns).prop_map(|(window, prepare, factor, turns)| Run {
        window,
        prepare,
        factor,
        turns,
    })
}

/// A demand: the turn that made it, and the first request that has it.
struct Demand {
    turn: TurnNo,
    from: usize,
    text: String,
}

fn last_turn(world: &World) -> TurnNo {
    world.stored.load().counters.turn
}

/// A request that was sent holds what is demanded, is well formed, and goes on from the one before unless the view was
/// switched in between.
fn check(world: &World, demands: &[Demand], checked: &mut usize) {
    for (no, body) in world.bodies.iter().enumerate().skip(*checked) {
        check_strict(body);
        let text = String::from_utf8_lossy(body);
        for demand in demands.iter().filter(|demand| demand.from <= no) {
            assert!(
                text.contains(&demand.text),
                "request {no} has what turn {} demanded: {}",
                demand.turn,
                demand.text
            );
        }
        let epoch =
            |no: usize| world.stored.requests.iter().find(|row| row.no == world.numbers[no]).map(|row| row.epoch);
        if no > 0 && epoch(no) == epoch(no - 1) {
            assert!(body.starts_with(open_end(&world.bodies[no - 1])), "request {no} goes on");
        }
    }
    *checked = world.bodies.len();
}

fn check_run(run: Run) {
    let mut settings = in_window(run.window);
    settings.compaction.prepare = run.prepare;
    let calibration = Calibration { factor: run.factor as f64 / 10.0, reports: 9 };
    let mut world = world(settings.clone());
    world.machine.calibrate(calibration);
    let mut demands = vec![Demand { turn: TurnNo(1), from: 0, text: RULE.to_owned() }];
    let mut checked = 0;
    turn(&mut world, RULE, 1, 10, &mut |_, _| {});
    let nobody = &mut |_: &mut World, _: SideNo| {};
    for (no, (amid, steps, lines, roll)) in run.turns.into_iter().enumerate() {
        let somebody = &mut |world: &mut World, side: SideNo| match roll % 3 {
            0 => answer_badly(world, side, roll / 3 + side.0),
            _ => side_answers(world, side, vec![text(&good(3))], StopReason::EndTurn),
        };
        let mut prompt = format!("Do the next thing, number {no}.");
        if no % 5 == 2 {
            let rule = format!("Never touch module_{no} again.");
            prompt = format!("{prompt} {rule}");
            demands.push(Demand { turn: last_turn(&world).next(), from: world.bodies.len(), text: rule });
        }
        match amid {
            Amid::Nothing => turn(&mut world, &prompt, steps, lines, somebody),
            Amid::Death => {
                turn(&mut world, &prompt, steps, lines, somebody);
                world.crash_into(settings.clone());
            }
            Amid::DeathInSummary => {
                turn(&mut world, &prompt, steps, lines, nobody);
                world.crash_into(settings.clone());
            }
            Amid::Interrupt => {
                turn(&mut world, &prompt, steps, lines, nobody);
                world.input(InputBody::Cancel);
                settle(&mut world, nobody);
                // One that nobody waited for goes on, and comes to nothing later.
                let no = world.stored.load().counters.side;
                let error = ModelError::new(ErrorClass::Unavailable, "500");
                world.input(InputBody::SideFailed { no, error });
            }
            Amid::Refusal | Amid::Refusals => {
                world.prompt(&prompt);
                collect(&mut world);
                settle(&mut world, somebody);
                let is_asked = |world: &World| world.pending.iter().any(|one| matches!(one, Pending::Model(..)));
                if is_asked(&world) {
                    refuse(&mut world);
                    settle(&mut world, somebody);
                }
                if is_asked(&world) && matches!(amid, Amid::Refusals) {
                    refuse(&mut world);
                    settle(&mut world, somebody);
                    assert!(!is_asked(&world), "nothing is sent after a second refusal");
                }
                if is_asked(&world) {
                    reply(&mut world, vec![text("Well.")], StopReason::EndTurn);
                    settle(&mut world, somebody);
                }
            }
            Amid::Manual => {
                turn(&mut world, &prompt, steps, lines, somebody);
                world.input(InputBody::Compact { focus: None });
                settle(&mut world, somebody);
            }
            Amid::Back(turns) => {
                turn(&mut world, &prompt, steps, lines, somebody);
                check(&world, &demands, &mut checked);
                let to = TurnNo(last_turn(&world).0.saturating_sub(turns).max(2));
                if world.rewind(to) {
                    demands.retain(|demand| demand.turn < to);
                }
            }
            Amid::Fork(items) => {
                turn(&mut world, &prompt, steps, lines, somebody);
                check(&world, &demands, &mut checked);
                let until = ItemNo((world.stored.items.len() as u64).saturating_sub(items).max(2));
                let (fork, last) = world.fork(until);
                world = fork;
                let shared = |turn: TurnNo| world.stored.items.iter().any(|item| item.turn == turn && item.no <= last);
                demands.retain(|demand| shared(demand.turn));
                for demand in &mut demands {
                    demand.from = demand.from.min(world.bodies.len());
                }
                checked = world.bodies.len();
            }
        }
        world.machine.calibrate(calibration);
        check(&world, &demands, &mut checked);
    }
    world.check_settled();
    let head =
        |epoch: &crate::transcript::epoch::Epoch| (epoch.tools.clone(), epoch.system.clone(), epoch.preamble.clone());
    for pair in world.stored.epochs.windows(2) {
        assert!(head(&pair[0]) == head(&pair[1]) || pair[1].cause == EpochCause::Fork, "the head is the same");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn what_was_demanded_stands_whatever_else_happens(run in runs()) {
        check_run(run);
    }
}
