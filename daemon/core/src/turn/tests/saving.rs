//! Nothing is left out of the view that cannot be read back: long texts are saved first, pages come from what is saved.

use super::super::input::InputBody;
use super::behaviour::{call, collect, last_end, prepare, reply, text, world};
use super::world::{Pending, World};
use crate::id::{CallId, Revision};
use crate::model::event::StopReason;
use crate::model::request::Api;
use crate::tool::outcome::{Body, Entries, Entry, EntryKind, Matches, Outcome, Status};
use crate::transcript::batch::StoredProjection;
use crate::transcript::item::ItemBody;

fn rows(count: usize) -> String {
    (1..=count).map(|no| format!("row {no} of the result\n")).collect::<Vec<_>>().concat()
}

/// A world in which the call `c1` has just given a long text.
fn given(text: &str) -> World {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![call("read_file", r#"{"target_file":"a"}"#)], StopReason::ToolCalls);
    prepare(&mut world, None);
    world.pending.retain(|pending| !matches!(pending, Pending::Run(_)));
    let outcome = Outcome { status: Status::Ok, body: Body::Text(text.to_owned()) };
    world.input(InputBody::ToolFinished { call: CallId(1), outcome, revision: Revision(2) });
    world
}

fn saved(world: &mut World, result: Result<&str, &str>) {
    world.pending.retain(|pending| !matches!(pending, Pending::Save(_)));
    let result = result.map(str::to_owned).map_err(str::to_owned);
    world.input(InputBody::TextSaved { call: CallId(1), result });
}

fn shown(world: &World, call: u64) -> &StoredProjection {
    world.stored.projections.get(&CallId(call)).expect("a projection")
}

#[test]
fn a_long_text_is_saved_before_its_result_is_written() {
    let mut world = given(&rows(2_500));
    assert!(matches!(world.pending[..], [Pending::Save(CallId(1))]), "{:?}", world.pending);
    assert_eq!((world.stored.projections.len(), world.bodies.len()), (0, 1));
    saved(&mut world, Ok("/data/s/artifacts/c1.txt"));
    let projection = shown(&world, 1);
    assert!(projection.partial && projection.tokens <= 8_000, "{}", projection.tokens);
    assert_eq!(projection.saved, rows(2_500).len() as u64);
    assert!(projection.text.contains(r#"not shown: read_file {"target_file":"/data/s/artifacts/c1.txt","offset":"#));
    assert_eq!(world.bodies.len(), 2);
    assert!(String::from_utf8_lossy(&world.bodies[1]).contains("artifacts/c1.txt"));
}

#[test]
fn what_cannot_be_saved_enters_the_view_whole() {
    let mut world = given(&rows(2_500));
    saved(&mut world, Err("the disk is full"));
    let projection = shown(&world, 1);
    assert_eq!((projection.partial, projection.saved), (false, 0));
    assert!(projection.text.ends_with(&rows(2_500)));
}

#[test]
fn what_cannot_be_saved_and_has_no_room_is_an_error_that_says_so() {
    let long = rows(60_000);
    let mut world = given(&long);
    saved(&mut world, Err("the disk is full"));
    let projection = shown(&world, 1);
    assert!(projection.is_error && projection.tokens < 200, "{}", projection.text);
    assert!(projection.text.contains("could not be saved as a file: the disk is full. It ended as `ok`"));
    let kept = world.stored.items.iter().find_map(|item| match &item.body {
        ItemBody::ToolResult(result) => Some(&result.outcome.body),
        _ => None,
    });
    assert_eq!(kept, Some(&Body::Text(long)));
    assert_eq!(world.bodies.len(), 2, "the turn goes on");
}

#[test]
fn an_interrupt_waits_for_what_is_being_saved() {
    let mut world = given(&rows(2_500));
    world.input(InputBody::Cancel);
    assert_eq!(last_end(&world), None);
    saved(&mut world, Ok("/data/s/artifacts/c1.txt"));
    assert!(shown(&world, 1).partial && last_end(&world).is_some());
    world.check_settled();
}

#[test]
fn a_death_while_saving_leaves_no_result() {
    let mut world = given(&rows(2_500));
    world.crash(Api::OpenaiChat);
    assert!(shown(&world, 1).text.contains("Not observed"), "{}", shown(&world, 1).text);
    world.check_settled();
}

/// What a call with a cursor gives when the store has this.
fn page(tool: &str, arguments: &str, stored: Result<Body, &str>) -> (String, bool) {
    let mut world = world();
    world.prompt("go");
    collect(&mut world);
    reply(&mut world, vec![call(tool, arguments)], StopReason::ToolCalls);
    if let Some(at) = world.pending.iter().position(|pending| matches!(pending, Pending::Load(_))) {
        world.pending.remove(at);
        let result = stored.map(|body| Box::new(Outcome { status: Status::Ok, body })).map_err(str::to_owned);
        world.input(InputBody::ResultLoaded { call: CallId(1), result });
    }
    reply(&mut world, vec![text("done")], StopReason::EndTurn);
    let failed = world
        .stored
        .items
        .iter()
        .any(|item| matches!(&item.body, ItemBody::ToolResult(result) if result.outcome.status == Status::Failed));
    let projection = shown(&world, 1);
    assert_eq!(failed, projection.is_error);
    (projection.text.clone(), failed)
}

#[test]
fn a_dead_cursor_gives_the_first_call() {
    let entry = |no| Entry { path: format!("f{no}"), kind: EntryKind::File, size: Some(no) };
    let listing = || Entries { base: "src".into(), entries: (0..9).map(entry).collect(), ..Entries::default() };
    let fresh = r#"Start afresh: list_dir {"target_directory":"src"}"#;
    let check = |cursor: &str, stored, why: &str| {
        let arguments = format!(r#"{{"target_directory":"src","cursor":"{cursor}"}}"#);
        let (text, is_error) = page("list_dir", &arguments, stored);
        assert!(is_error && text.contains(why) && text.ends_with(fresh), "{text}");
    };
    check("here", Ok(Body::Entries(listing())), "`here` is not a cursor");
    check("c9:5", Err("there is no result of c9 in this session"), "there is no result of c9");
    check("c9:5", Ok(Body::Matches(Matches::default())), "the result of c9 is one of grep");
    check("c9:9", Ok(Body::Entries(listing())), "the result of c9 ends with entry 9");
    let (text, is_error) =
        page("list_dir", r#"{"target_directory":"src","cursor":"c9:7"}"#, Ok(Body::Entries(listing())));
    assert!(!is_error && text.ends_with("entries 8-9 of 9 · e/c1@r0 approx.]\nf7\t7 bytes\nf8\t8 bytes"), "{text}");
}
