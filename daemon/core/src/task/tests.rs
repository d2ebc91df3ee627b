//! Tasks: what is taken, what is not, and when they count as done.

use super::change::{Change, apply};
use super::deed::Deed;
use super::gate::{Facts, missing};
use super::update::{CONSTRAINTS, Claim, EVIDENCE, Found, Quoted, TEXT, Update, merge};
use super::{HypothesisStatus, Phase, Task};
use crate::id::{CallId, EvidenceId, ItemNo, Revision};
use crate::permission::policy::Shell;
use crate::time::Timestamp;
use crate::verification::Verification;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn id(text: &str) -> EvidenceId {
    text.parse().unwrap()
}

fn quoted(quote: &str) -> Quoted {
    Quoted { quote: quote.to_owned(), item: None }
}

fn claim(text: &str, status: Option<HypothesisStatus>, evidence: &[&str]) -> Claim {
    let evidence = evidence.iter().map(|id| (*id).to_owned()).collect();
    Claim { claim: text.to_owned(), status, evidence }
}

fn found(items: &[Option<u64>], unresolved: &[(&str, &str)]) -> Found {
    Found {
        items: items.iter().map(|item| item.map(ItemNo)).collect(),
        unresolved: unresolved.iter().map(|(id, why)| (id.parse().unwrap(), (*why).to_owned())).collect(),
    }
}

fn deed(item: u64, command: &str) -> Deed {
    Deed {
        item: ItemNo(item),
        call: CallId(item),
        tool: "run_terminal_cmd".to_owned(),
        command: Some(command.to_owned()),
        paths: Vec::new(),
        took_effect: true,
        changed: false,
    }
}

fn run(passed: bool, after: u64) -> Verification {
    Verification {
        call: CallId(9),
        command: "cargo test".to_owned(),
        passed,
        before: Revision(after),
        after: Revision(after),
        void: false,
        partial: false,
        at: Timestamp(0),
    }
}

#[test]
fn an_update_is_taken_entry_by_entry() {
    let update = Update {
        goal: Some("Fix the matcher".to_owned()),
        constraints: vec![quoted("do not commit"), quoted("be nice")],
        hypotheses: vec![
            claim("the root is cut off", Some(HypothesisStatus::Open), &["e/c1@r2"]),
            claim("it is the cache", Some(HypothesisStatus::Confirmed), &[]),
            claim("gone", None, &["e/c7@r9"]),
        ],
        confirmed: vec![claim("one test fails", None, &["e/c2@r2"]), claim("two", None, &["c2"])],
        phase: Some(Phase::Implement),
        next: Some("  ".to_owned()),
    };
    let merged = merge(&Task::default(), &update, &found(&[Some(1), None], &[("e/c7@r9", "there is none")]));
    let task = &merged.task;
    assert_eq!((task.goal.as_str(), task.phase, task.next.as_str()), ("Fix the matcher", Phase::Implement, ""));
    let constraints: Vec<_> = task.constraints.iter().map(|one| (one.id, one.quote.as_str(), one.item)).collect();
    assert_eq!(constraints, [(1, "do not commit", Some(ItemNo(1)))]);
    assert!(task.constraints[0].denies.contains(&"run_terminal_cmd(git commit *)".to_owned()));
    assert_eq!(task.hypotheses.len(), 1);
    assert_eq!(task.confirmed.len(), 1);
    assert_eq!(merged.taken.len(), 5, "{:?}", merged.taken);
    let refused = merged.refused.join("\n");
    for part in [
        "next: it is blank",
        "constraint \"be nice\": no message of the user holds these words exactly",
        "hypothesis \"it is the cache\": a confirmed one rests on at least one result",
        "hypothesis \"gone\": e/c7@r9 does not resolve: there is none",
        "confirmed \"two\": ",
    ] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
    assert_eq!(merged.refused.len(), 5);
}

#[test]
fn the_same_claim_again_changes_its_state_and_refuted_ones_stay() {
    let first = Update {
        hypotheses: vec![claim("a", Some(HypothesisStatus::Open), &["e/c1@r1"]), claim("b", None, &[])],
        confirmed: vec![claim("x", None, &["e/c1@r1"])],
        ..Update::default()
    };
    let task = merge(&Task::default(), &first, &Found::default()).task;
    let second = Update {
        hypotheses: vec![claim("a", Some(HypothesisStatus::Refuted), &["e/c2@r1", "e/c1@r1"])],
        confirmed: vec![claim("x", None, &["e/c3@r1"])],
        ..Update::default()
    };
    let task = merge(&task, &second, &Found::default()).task;
    assert_eq!(task.hypotheses.len(), 2);
    assert_eq!(task.hypotheses[0].status, HypothesisStatus::Refuted);
    assert_eq!(task.hypotheses[0].evidence, [id("e/c1@r1"), id("e/c2@r1")]);
    assert_eq!(task.confirmed[0].evidence, [id("e/c1@r1"), id("e/c3@r1")]);
}

#[test]
fn bounds_are_told() {
    let long = Update { goal: Some("x".repeat(TEXT + 1)), ..Update::default() };
    let merged = merge(&Task::default(), &long, &Found::default());
    assert_eq!(
        merged.refused,
        [format!("goal: it has {} bytes, and at most {TEXT} are kept; say it shorter", TEXT + 1)]
    );
    let many: Vec<String> = (0..=CONSTRAINTS).map(|no| format!("demand {no}")).collect();
    let update = Update { constraints: many.iter().map(|quote| quoted(quote)).collect(), ..Update::default() };
    let merged = merge(&Task::default(), &update, &found(&vec![Some(1); CONSTRAINTS + 1], &[]));
    assert_eq!((merged.task.constraints.len(), merged.refused.len()), (CONSTRAINTS, 1));
    let ids: Vec<String> = (0..=EVIDENCE).map(|no| format!("e/c{no}@r1")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let merged = merge(
        &Task::default(),
        &Update { confirmed: vec![claim("x", None, &ids)], ..Update::default() },
        &Found::default(),
    );
    assert!(merged.refused[0].contains("rests on at most"), "{:?}", merged.refused);
}

#[test]
fn a_client_sets_rules_and_takes_constraints_away_for_good() {
    let update = Update { constraints: vec![quoted("do not commit")], ..Update::default() };
    let task = merge(&Task::default(), &update, &found(&[Some(3)], &[])).task;
    let change = Change {
        goal: Some("g".to_owned()),
        add: vec![
            ("stay local".to_owned(), Some(vec!["run_terminal_cmd(curl *)".to_owned()])),
            ("don't push".to_owned(), None),
        ],
        remove: vec![1],
        waive: Some(true),
        ..Change::default()
    };
    let task = apply(&task, &change).unwrap();
    let ids: Vec<u32> = task.constraints.iter().map(|constraint| constraint.id).collect();
    assert_eq!((ids.as_slice(), task.waived), (&[2, 3][..], true));
    assert_eq!(task.constraints[0].denies, ["run_terminal_cmd(curl *)"]);
    assert!(task.constraints[1].denies.contains(&"run_terminal_cmd(git push *)".to_owned()));
    let again = merge(&task, &update, &found(&[Some(3)], &[]));
    assert_eq!(again.refused, ["constraint \"do not commit\": the user took this constraint away"]);
    // Said anew, it counts anew, under a number of its own.
    let anew = merge(&task, &update, &found(&[Some(8)], &[]));
    assert_eq!(anew.task.constraints.last().map(|constraint| constraint.id), Some(4));
    for (change, part) in [
        (Change { remove: vec![7], ..Change::default() }, "has no constraint 7"),
        (Change { add: vec![("x".to_owned(), Some(vec!["sh(x)".to_owned()]))], ..Change::default() }, "no tool `sh`"),
        (Change { add: vec![(" ".to_owned(), None)], ..Change::default() }, "a quote has 1 to"),
        (Change { next: Some("x".repeat(TEXT + 1)), ..Change::default() }, "`next` has"),
    ] {
        let why = apply(&task, &change).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn the_gate_names_everything_that_is_missing() {
    let update = Update { constraints: vec![quoted("do not commit")], ..Update::default() };
    let task = merge(&Task::default(), &update, &found(&[Some(3)], &[])).task;
    let waived = Task { waived: true, ..task.clone() };
    let roots = ["/w".to_owned()];
    let edit = Deed { command: None, paths: vec!["/w/a".into()], changed: true, tool: "write".into(), ..deed(4, "") };
    let commit = deed(5, "cd x && git -C y commit -m done");
    let check = |task: &Task, unsettled: &[&str], run: Option<&Verification>, deeds: &[Deed], parts: &[&str]| {
        let unsettled: Vec<String> = unsettled.iter().map(|call| (*call).to_owned()).collect();
        let facts = Facts {
            unsettled: &unsettled,
            verification: run,
            revision: Revision(7),
            deeds,
            roots: &roots,
            shell: Shell::Bash,
        };
        let found = missing(task, &facts);
        assert_eq!(found.len(), parts.len(), "{found:?}");
        for (found, part) in found.iter().zip(parts) {
            assert!(found.contains(part), "{found} / {part}");
        }
    };
    let edits = [edit.clone()];
    check(&task, &[], None, &[], &[]);
    check(&task, &[], None, &[deed(4, "ls")], &[]);
    check(&task, &[], None, &edits, &["no tests ran"]);
    check(&task, &[], Some(&run(true, 6)), &edits, &["passed at r6, and the files are at r7 now"]);
    check(&task, &[], Some(&run(false, 7)), &edits, &["failed at r7"]);
    check(&task, &[], Some(&Verification { void: true, ..run(true, 7) }), &edits, &["say nothing"]);
    let part = Verification { partial: true, ..run(true, 7) };
    check(&task, &[], Some(&part), &edits, &["call run_tests again without `target`"]);
    check(&waived, &[], Some(&part), &edits, &[]);
    check(&task, &[], Some(&run(true, 7)), &edits, &[]);
    check(&waived, &[], None, &edits, &[]);
    check(&waived, &["c2"], None, &edits, &["c2"]);
    check(&waived, &[], None, std::slice::from_ref(&commit), &["constraint 1 (\"do not commit\") was broken: c5 ran"]);
    // What came before the words broke nothing, nor did what took no effect.
    check(&waived, &[], None, &[Deed { item: ItemNo(2), ..commit.clone() }], &[]);
    check(&waived, &[], None, &[Deed { took_effect: false, ..commit.clone() }], &[]);
    check(&task, &["c1", "c2"], None, &[edit, commit], &["c1, c2", "no tests ran", "was broken"]);
}

#[test]
fn files_that_must_not_change_are_seen_in_what_was_done() {
    let update = Update { constraints: vec![quoted("never touch vendor/")], ..Update::default() };
    let task = merge(&Task::default(), &update, &found(&[Some(1)], &[])).task;
    let roots = ["/w".to_owned()];
    let broken = |deed: Deed| !super::deed::breaches(&task, &[deed], &roots, Shell::Bash).is_empty();
    let wrote = |path: &str| Deed { command: None, paths: vec![path.into()], tool: "write".into(), ..deed(2, "") };
    assert!(broken(wrote("/w/vendor/a.c")));
    assert!(!broken(wrote("/w/src/a.c")));
    assert!(!broken(wrote("/other/vendor/a.c")));
    assert!(broken(deed(2, "rm -r vendor")));
    assert!(broken(deed(2, "echo x > vendor/a")));
    assert!(broken(deed(2, "cd vendor && sed -i s/a/b/ x.c")));
    assert!(!broken(deed(2, "cat vendor/a && ls vendor")));
}

#[test]
fn a_fork_keeps_what_rests_on_what_it_shares() {
    let update = Update {
        constraints: vec![quoted("do not commit"), quoted("don't push")],
        hypotheses: vec![claim("a", None, &["e/c1@r1"]), claim("b", None, &["e/c5@r1"]), claim("c", None, &[])],
        confirmed: vec![claim("x", None, &["e/c1@r1"]), claim("y", None, &["e/c1@r1", "e/c5@r1"])],
        ..Update::default()
    };
    let task = merge(&Task::default(), &update, &found(&[Some(1), Some(9)], &[])).task;
    let shared = task.shared(ItemNo(5), &BTreeSet::from([CallId(1)]));
    let claims: Vec<&str> = shared.hypotheses.iter().map(|hypothesis| hypothesis.claim.as_str()).collect();
    assert_eq!((claims.as_slice(), shared.confirmed.len()), (&["a", "c"][..], 1));
    let items: Vec<Option<ItemNo>> = shared.constraints.iter().map(|constraint| constraint.item).collect();
    assert_eq!(items, [Some(ItemNo(1)), None]);
    assert_eq!(shared.rules().len(), task.rules().len());
}

#[test]
fn a_task_is_shown_in_few_lines() {
    let update = Update {
        goal: Some("Fix\nit".to_owned()),
        constraints: vec![quoted("do not commit")],
        hypotheses: vec![claim("a", Some(HypothesisStatus::Refuted), &["e/c1@r1"])],
        confirmed: vec![claim("x", None, &["e/c1@r1"])],
        phase: Some(Phase::Verify),
        ..Update::default()
    };
    let task = merge(&Task::default(), &update, &found(&[Some(1)], &[])).task;
    assert_eq!(
        task.to_string(),
        "phase: verify\ngoal: Fix it\nconstraint 1: \"do not commit\", enforced: run_terminal_cmd(git commit *), \
         run_terminal_cmd(git commit-tree *) and 9 more are denied\nrefuted: a [e/c1@r1]\nestablished: x [e/c1@r1]"
    );
}

fn claims() -> impl Strategy<Value = Claim> {
    let status = prop_oneof![
        Just(None),
        Just(Some(HypothesisStatus::Open)),
        Just(Some(HypothesisStatus::Confirmed)),
        Just(Some(HypothesisStatus::Refuted)),
    ];
    let evidence = proptest::collection::vec("(e/c[1-4]@r[12]|c1|)", 0..3);
    ("[abc]{0,2}", status, evidence).prop_map(|(claim, status, evidence)| Claim { claim, status, evidence })
}

fn updates() -> impl Strategy<Value = (Update, Found)> {
    let quotes =
        proptest::collection::vec(("(do not commit|don't push|be nice|x{0,1})", prop::option::of(1_u64..9)), 0..4);
    let phase = prop::option::of(prop_oneof![Just(Phase::Investigate), Just(Phase::Verify), Just(Phase::Done)]);
    let claims = || proptest::collection::vec(claims(), 0..4);
    (quotes, claims(), claims(), phase, any::<bool>()).prop_map(|(quotes, hypotheses, confirmed, phase, all)| {
        let unresolved =
            if all { vec![] } else { vec![(id("e/c3@r1"), "no".to_owned()), (id("e/c4@r2"), "no".to_owned())] };
        let items = quotes.iter().map(|(_, item)| item.map(ItemNo)).collect();
        let constraints = quotes.into_iter().map(|(quote, _)| Quoted { quote, item: None }).collect();
        (Update { constraints, hypotheses, confirmed, phase, ..Update::default() }, Found { unresolved, items })
    })
}

proptest! {
    #[test]
    fn lists_never_shrink_and_hold_only_what_resolves(steps in proptest::collection::vec(updates(), 1..8)) {
        let mut task = Task::default();
        for (update, found) in steps {
            let before = task.clone();
            let merged = merge(&before, &update, &found);
            task = merged.task;
            prop_assert!(task.constraints.starts_with(&before.constraints));
            for known in &before.hypotheses {
                prop_assert!(task.hypotheses.iter().any(|now| now.claim == known.claim && now.evidence.starts_with(&known.evidence)));
            }
            for known in &before.confirmed {
                prop_assert!(task.confirmed.iter().any(|now| now.claim == known.claim && now.evidence.starts_with(&known.evidence)));
            }
            for new in task.constraints.iter().skip(before.constraints.len()) {
                let at = update.constraints.iter().position(|quoted| quoted.quote == new.quote).unwrap();
                prop_assert!(new.item.is_some() && found.items[at..].contains(&new.item));
            }
            let cited = task.hypotheses.iter().flat_map(|one| &one.evidence).chain(task.confirmed.iter().flat_map(|one| &one.evidence));
            let known: Vec<EvidenceId> = before.hypotheses.iter().flat_map(|one| one.evidence.clone())
                .chain(before.confirmed.iter().flat_map(|one| one.evidence.clone())).collect();
            for id in cited {
                prop_assert!(known.contains(id) || !found.unresolved.iter().any(|(bad, _)| bad == id));
            }
            prop_assert!(task.confirmed.iter().all(|one| !one.evidence.is_empty()));
            // Whether it is done is the gate's word, never the update's own.
            prop_assert!(task.phase != Phase::Done);
            let given = update.constraints.len() + update.hypotheses.len() + update.confirmed.len()
                + usize::from(update.phase.is_some_and(|phase| phase != Phase::Done));
            prop_assert_eq!(merged.taken.len() + merged.refused.len(), given);
        }
    }

    #[test]
    fn the_gate_never_opens_with_something_missing(
        unsettled in any::<bool>(), changed in any::<bool>(), waived in any::<bool>(),
        run_at in prop::option::of((any::<bool>(), any::<bool>(), any::<bool>(), 5_u64..9)), broke in any::<bool>(),
    ) {
        let update = Update { constraints: vec![quoted("do not commit")], ..Update::default() };
        let task = Task { waived, ..merge(&Task::default(), &update, &found(&[Some(1)], &[])).task };
        let mut deeds = vec![Deed { changed, ..deed(2, "make") }];
        if broke {
            deeds.push(deed(3, "git commit -m x"));
        }
        let run = run_at.map(|(passed, void, partial, at)| Verification { void, partial, ..run(passed, at) });
        let names = if unsettled { vec!["c1".to_owned()] } else { vec![] };
        let facts = Facts {
            unsettled: &names, verification: run.as_ref(), revision: Revision(7), deeds: &deeds, roots: &[], shell: Shell::Bash,
        };
        let tested = run_at.is_some_and(|(passed, void, partial, at)| passed && !void && !partial && at == 7);
        let opens = !unsettled && !broke && (!changed || waived || tested);
        prop_assert_eq!(missing(&task, &facts).is_empty(), opens);
    }
}
