//! Random interleavings of everything that can happen.

use super::super::effect::Consult;
use super::super::input::{Consulted, InputBody, Prompt};
use super::world::{Pending, World, check_strict, open_end};
use crate::event::{AskChoice, TurnEnd};
use crate::id::Revision;
use crate::ledger::{FoundBy, Resolution};
use crate::media::Image;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::event::{BlockContent, ModelEvent, StopReason};
use crate::model::request::Api;
use crate::path::WorkspacePath;
use crate::permission::policy::Mode;
use crate::tool::call::{Call, Prepared, Target, Zone};
use crate::tool::outcome::{Body, CommandRun, Exit, Outcome, Output, Status, TaskEnd, TaskState};
use crate::workspace::{AttachedFile, InstructionSource, MemoryEntry, Rule};
use proptest::prelude::*;

/// One random decision: what happens next, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dice(pub(super) u8, pub(super) u8, pub(super) u8);

pub(super) fn dice() -> impl Strategy<Value = Dice> {
    (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(a, b, c)| Dice(a, b, c))
}

/// A world with rules about what its calls touch, memories and skills.
fn world() -> World {
    let mut world = World::new(Api::OpenaiChat);
    world.environment.user_info.roots = vec!["/w".into()];
    let rule = |name: &str, globs: &[&str]| Rule {
        name: name.into(),
        path: format!("/w/.plimsoll/rules/{name}.md"),
        root: Some(0),
        description: None,
        globs: globs.iter().map(|glob| (*glob).into()).collect(),
        text: format!("Rule {name}."),
    };
    world.environment.rules = vec![rule("all", &["*"]), rule("asked", &[])];
    world.environment.memories = vec![MemoryEntry { id: "m1".into(), title: "One".into(), path: "/d/m1.md".into() }];
    world
}

fn prepared(world: &World, call: &Call, dice: Dice) -> Result<Prepared, String> {
    let command = call.tool == "run_terminal_cmd";
    let zone = match dice.1 % 8 {
        0 => return Err("no such file".into()),
        1 => Zone::Outside,
        2 => Zone::Protected,
        _ => Zone::Root(WorkspacePath::new(0, "a")),
    };
    let mut targets = vec![Target { path: "/w/a".into(), zone }];
    let mut changes = Vec::new();
    if call.tool == "apply_patch" {
        let version = format!("v{}-{}", call.id, world.stored.events.len());
        let paths = ["/w/f1", "/w/f2"];
        changes =
            paths.iter().take(usize::from(dice.2 % 2) + 1).map(|path| world.disk.change(path, &version)).collect();
        targets =
            changes.iter().map(|change| Target { path: change.path.clone(), zone: targets[0].zone.clone() }).collect();
    }
    let nested = InstructionSource { path: "/w/sub/AGENTS.md".into(), text: format!("Nested {}.", dice.2 % 2) };
    Ok(Prepared {
        targets,
        command: command.then(|| "make".to_owned()),
        title: "do it".into(),
        changes,
        nested: if dice.2.is_multiple_of(3) { vec![nested] } else { vec![] },
    })
}

/// A command that goes on in the background.
pub(super) fn in_background(id: crate::id::CallId) -> Body {
    let run = CommandRun {
        command: "make".into(),
        cwd: ".".into(),
        exit: Exit::Running,
        duration_ms: 300,
        output: Output::default(),
        stderr: Output::default(),
        log: None,
        left_running: vec![],
        limits: None,
    };
    Body::Task(TaskState { id, run, from: 0, gap: None })
}

fn picture(name: &str) -> Image {
    let (mime, version) = ("image/png".to_owned(), "0".repeat(32));
    Image { name: name.to_owned(), mime, width: 20, height: 30, bytes: 4, version, data: "AAECAw==".into() }
}

/// Lets one pending thing be answered.
fn answer(world: &mut World, at: usize, dice: Dice) {
    let pending = world.pending.remove(at);
    match pending {
        Pending::Collect(turn) => {
            if dice.2.is_multiple_of(5) {
                world.environment.instructions[0].text.push('!');
            }
            if dice.1.is_multiple_of(5) {
                world.environment.rules.iter_mut().for_each(|rule| rule.text.push('!'));
                world.environment.memories.iter_mut().for_each(|memory| memory.title.push('!'));
            }
            // A turn that was taken up collects once more, and states nothing of it.
            world.collected.entry(turn).or_insert_with(|| world.environment.clone());
            let mut environment = Box::new(world.environment.clone());
            if dice.2.is_multiple_of(7) {
                environment.images.push(picture("shot"));
                let content = Err("it does not exist".to_owned());
                environment.attached.push(AttachedFile { path: "gone".to_owned(), content });
            }
            world.input(InputBody::Environment { turn, environment });
        }
        Pending::Prepare(call) => {
            let result = prepared(world, &call, dice);
            world.input(InputBody::Prepared { call: call.id, result });
        }
        Pending::Run(call) => {
            let stopped = world.stopping.contains(&call.id);
            let status = match dice.2 % 4 {
                _ if stopped => Status::Cancelled,
                0 => Status::Failed,
                _ => Status::Ok,
            };
            let goes_on = call.tool == "run_terminal_cmd" && status == Status::Ok && dice.1.is_multiple_of(3);
            let body = if call.tool == "read_file" && status == Status::Ok && dice.1.is_multiple_of(2) {
                Body::Image(picture(&call.id.to_string()))
            } else if goes_on {
                world.pending.push(Pending::Task(call.id));
                in_background(call.id)
            } else {
                // Some are longer than the general limit of lines.
                let lines = if dice.1 % 5 == 4 { 2_500 } else { 1 };
                Body::Text(format!("result of {}\n", call.id).repeat(lines))
            };
            if status == Status::Ok {
                world.disk.ends(call.id);
            }
            let outcome = Outcome { status, body };
            world.input(InputBody::ToolFinished { call: call.id, outcome, revision: Revision(u64::from(dice.2)) });
        }
        Pending::Load(call) => world.input(InputBody::ResultLoaded { call, result: Err("no such call".into()) }),
        Pending::Save(call) => {
            let full = dice.1.is_multiple_of(3);
            let result = if full { Err("disk full".to_owned()) } else { Ok(format!("/data/s/artifacts/{call}.txt")) };
            world.input(InputBody::TextSaved { call, result });
        }
        Pending::Plan(call) => {
            let plan = (!dice.2.is_multiple_of(3)).then(|| "1. look".to_owned());
            world.input(InputBody::PlanRead { call, result: Ok(plan) });
        }
        Pending::Consult(call, Consult::Citations { quotes, .. }) if !dice.2.is_multiple_of(5) => {
            let found = Consulted::Citations(world.citations(&quotes));
            world.input(InputBody::Consulted { call, result: Ok(found) });
        }
        Pending::Consult(call, Consult::Operation { of, .. }) if !dice.1.is_multiple_of(4) => {
            let operation = world.stored.operations.get(&of).cloned().map(Box::new);
            let files = operation.iter().flat_map(|operation| &operation.files);
            let seen = files.map(|file| world.disk.look(&file.path)).collect();
            let revision = Revision(u64::from(dice.2));
            let found = Consulted::Operation { operation, seen, target: None, lines: vec![], revision };
            world.input(InputBody::Consulted { call, result: Ok(found) });
        }
        Pending::Consult(call, _) => world.input(InputBody::Consulted { call, result: Err("no such call".into()) }),
        Pending::History(from) => {
            let history = if dice.2.is_multiple_of(11) {
                Err("the disk is gone".to_owned())
            } else {
                Ok(world.stored.history(from))
            };
            world.input(InputBody::History(Box::new(history)));
        }
        Pending::Side(no, _) => super::compaction::answer_badly(world, no, u64::from(dice.1)),
        Pending::Timer(id) => world.input(InputBody::Timer(id)),
        Pending::Task(call) => {
            let exit = [Some(Exit::Code(0)), Some(Exit::Code(1)), Some(Exit::Cancelled), None][dice.1 as usize % 4];
            let end = TaskEnd { call, exit, duration_ms: 5, told: dice.2.is_multiple_of(4) };
            world.input(InputBody::TaskEnded(end));
        }
        Pending::Model(request, body) => model(world, dice, request, body),
    }
}

fn model(world: &mut World, dice: Dice, request: crate::id::RequestNo, body: Vec<u8>) {
    let event = |world: &mut World, event| world.input(InputBody::Model { request, event });
    let fail = |class| InputBody::ModelFailed { request, error: ModelError::new(class, "it broke") };
    let call = |name: &str, arguments: &str| BlockContent::Call {
        provider_id: Some("call_0".into()),
        name: name.into(),
        arguments: arguments.into(),
    };
    match dice.1 % 10 {
        0 => world.input(fail(ErrorClass::Connection)),
        1 => world.input(fail(ErrorClass::Auth)),
        2 => {
            event(world, ModelEvent::TextDelta { block: 0, text: "half an ans".into() });
            world.input(fail(ErrorClass::Connection));
        }
        3 => {
            // The rest comes later, perhaps after an interrupt.
            event(world, ModelEvent::TextDelta { block: 0, text: "slow ".into() });
            world.pending.push(Pending::Model(request, body));
        }
        4 => event(world, ModelEvent::Finished(StopReason::EndTurn)),
        5 | 6 => {
            event(world, ModelEvent::BlockDone { block: 0, content: BlockContent::Text("done".into()) });
            let stop = if dice.2.is_multiple_of(7) { StopReason::MaxTokens } else { StopReason::EndTurn };
            event(world, ModelEvent::Finished(stop));
        }
        _ => {
            event(world, ModelEvent::BlockDone { block: 0, content: BlockContent::Text("working".into()) });
            let last = world.stored.operations.keys().next_back().copied().unwrap_or_default();
            for block in 1..=u32::from(dice.2 % 4) + 1 {
                let content = match (u32::from(dice.2) + block) % 11 {
                    9 => call("apply_patch", r#"{"patch":"x"}"#),
                    10 => call("inspect_operation", &format!(r#"{{"operation_id":"{last}"}}"#)),
                    0 => call("read_file", "{broken"),
                    1 => call("no_such_tool", "{}"),
                    2 | 3 => call("run_terminal_cmd", r#"{"command":"make"}"#),
                    4 => call("todo_write", r#"{"merge":false,"todos":[{"id":"1","content":"x","status":"pending"}]}"#),
                    5 if dice.1 & 1 == 0 => call("fetch_rules", r#"{"rule_names":["asked"]}"#),
                    7 => call("enter_plan_mode", "{}"),
                    8 => call("exit_plan_mode", if dice.1 < 128 { "{}" } else { r#"{"plan":"1. look"}"# }),
                    6 if dice.1 & 2 == 0 => call(
                        "update_task",
                        r#"{"goal":"g","constraints":[{"quote":"o"}],"hypotheses":[{"claim":"h","status":"open"}],"phase":"done"}"#,
                    ),
                    5 => call("grep", r#"{"pattern":"x","cursor":"c1:5"}"#),
                    _ => call("read_file", r#"{"target_file":"a"}"#),
                };
                event(world, ModelEvent::BlockDone { block, content });
            }
            event(world, ModelEvent::Finished(StopReason::ToolCalls));
        }
    }
}

pub(super) fn act(world: &mut World, dice: Dice, crashes: bool) {
    match dice.0 % 24 {
        0 => world.prompt("do something"),
        1 => world.input(InputBody::Steer("and this".into())),
        2 if dice.1.is_multiple_of(3) => world.input(InputBody::Cancel),
        2 if dice.1 % 30 == 1 => world.input(InputBody::Close),
        3..=6 => {
            if let Some(ask) = world.open_asks().first().copied() {
                let choice = [AskChoice::AllowOnce, AskChoice::AllowSession, AskChoice::Reject][dice.1 as usize % 3];
                world.input(InputBody::Answer { ask, choice, advice: None });
            }
        }
        7 if crashes && dice.1.is_multiple_of(2) => world.crash(world.machine.settings.model.api),
        8 if dice.1.is_multiple_of(3) => world.input(InputBody::SessionChanged),
        10 if dice.1.is_multiple_of(2) => {
            let mode = [Mode::Plan, Mode::Ask, Mode::Plan, Mode::AcceptEdits][dice.2 as usize % 4];
            world.set_mode(mode);
        }
        9 => world.machine.set_attended(dice.1.is_multiple_of(2)),
        11 if dice.1.is_multiple_of(8) => {
            let goes_on = Some(TurnEnd::Cancelled);
            world.input(InputBody::Prompt(Prompt { text: String::new(), key: None, attachments: vec![], goes_on }));
        }
        12 if dice.1.is_multiple_of(2) => {
            if let Some(operation) = world.machine.unsettled().first().cloned() {
                let seen: Vec<_> = operation.files.iter().map(|file| world.disk.look(&file.path)).collect();
                let found = if dice.2.is_multiple_of(3) {
                    operation.resolved(Resolution::Accepted, None, world.now(), Revision(1))
                } else {
                    operation.found(FoundBy::Inspection, &seen, world.now(), Revision(1))
                };
                world.input(InputBody::Found(Box::new(found)));
            }
        }
        _ if !world.pending.is_empty() => {
            let at = dice.0 as usize % world.pending.len();
            answer(world, at, dice);
        }
        _ => {}
    }
}

/// Nobody asks for anything any more: all that is pending is answered, well, until nothing is.
pub(super) fn run_down(world: &mut World) {
    for round in 0..4_000 {
        if let Some(ask) = world.open_asks().first().copied() {
            world.input(InputBody::Answer { ask, choice: AskChoice::Reject, advice: None });
        } else if !world.pending.is_empty() {
            let roll = if matches!(world.pending[0], Pending::Model(..)) { 5 } else { 3 };
            answer(world, 0, Dice(0, roll, 1));
        } else {
            assert!(world.machine.is_idle(), "nothing is pending and the turn has not ended");
            return;
        }
        assert!(round < 3_999, "the turn does not end: {:?} {:?}", world.pending, world.open_asks());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_keeps_calls_and_results_paired_and_ends(rolls in proptest::collection::vec(dice(), 1..160), crashes: bool) {
        let mut world = world();
        world.prompt("begin");
        for roll in rolls {
            act(&mut world, roll, crashes);
        }
        run_down(&mut world);
        world.prompt("what happened?");
        run_down(&mut world);
        world.check_settled();
        for body in &world.bodies {
            check_strict(body);
        }
        for pair in world.bodies.windows(2) {
            prop_assert!(pair[1].starts_with(open_end(&pair[0])), "each request is a prefix of the next");
        }
    }

    #[test]
    fn a_session_taken_up_again_sends_the_same_bytes(rolls in proptest::collection::vec(dice(), 1..120)) {
        let mut world = world();
        world.prompt("begin");
        for roll in rolls {
            act(&mut world, roll, false);
        }
        run_down(&mut world);
        let stored = world.stored.clone();
        let next = |world: &mut World| {
            world.environment = self::world().environment;
            world.pending.clear();
            world.bodies.clear();
            world.prompt("go on");
            let environment = Box::new(world.environment.clone());
            let turn = world.machine.running_turn().unwrap();
            world.input(InputBody::Environment { turn, environment });
            world.bodies.iter().map(|body| String::from_utf8_lossy(body).into_owned()).collect::<Vec<_>>()
        };
        let live = next(&mut world);
        world.stored = stored;
        world.crash(Api::OpenaiChat);
        prop_assert_eq!(next(&mut world), live);
    }
}
