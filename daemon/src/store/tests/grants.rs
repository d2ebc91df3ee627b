//! What a user decided for a project survives restarts, and is each project's own.

use super::*;

fn rules(grants: &[LastingGrant]) -> Vec<&str> {
    grants.iter().map(|grant| grant.rule.as_str()).collect()
}

#[tokio::test]
async fn grants_are_kept_once_per_project_and_forgotten_by_number() {
    let mut place = Place::new().await;
    let other = place.temp.path().join("work/other");
    std::fs::create_dir_all(&other).unwrap();
    let project = place.stores.project_for(&[place.root()], NOW).await.unwrap().key;
    let other = place.stores.project_for(&[other], NOW).await.unwrap().key;
    let session: SessionId = "s1".parse().unwrap();
    let keep = async |stores: &Stores, project: &_, rules: &[&str], at| {
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        stores.keep_grants(project, rules, Timestamp(at), &session, CallId(3)).await.unwrap();
    };
    keep(&place.stores, &project, &["grep", "run_terminal_cmd(make *)"], 1).await;
    keep(&place.stores, &project, &["grep"], 2).await;
    keep(&place.stores, &other, &["grep"], 3).await;
    place.restart().await;
    let grants = place.stores.lasting_grants(&project).await.unwrap();
    let expected = |no, rule: &str, at| LastingGrant {
        no,
        rule: rule.to_owned(),
        at: Timestamp(at),
        session: session.clone(),
        call: CallId(3),
    };
    assert_eq!(grants, [expected(1, "grep", 1), expected(2, "run_terminal_cmd(make *)", 1)]);
    let elsewhere = place.stores.lasting_grants(&other).await.unwrap();
    assert_eq!(rules(&elsewhere), ["grep"]);

    let no = elsewhere[0].no;
    place.stores.forget_grant(&project, no).await.unwrap();
    assert_eq!(rules(&place.stores.lasting_grants(&other).await.unwrap()), ["grep"], "another project's number");
    place.stores.forget_grant(&project, 2).await.unwrap();
    place.stores.forget_grant(&project, 2).await.unwrap();
    assert_eq!(rules(&place.stores.lasting_grants(&project).await.unwrap()), ["grep"]);
    place.stores.forget_grant(&other, no).await.unwrap();
    keep(&place.stores, &other, &["grep"], 9).await;
    assert!(place.stores.lasting_grants(&other).await.unwrap()[0].no > no, "a number is used once");
}

#[tokio::test]
async fn a_project_is_not_trusted_until_the_user_says_so() {
    let mut place = Place::new().await;
    let project = place.stores.project_for(&[place.root()], NOW).await.unwrap().key;
    assert!(!place.stores.is_trusted(&project).await.unwrap());
    assert!(!place.stores.is_trusted(&"p0".parse().unwrap()).await.unwrap());
    place.stores.set_trusted(&project, true).await.unwrap();
    place.restart().await;
    assert!(place.stores.is_trusted(&project).await.unwrap());
    place.stores.set_trusted(&project, false).await.unwrap();
    assert!(!place.stores.is_trusted(&project).await.unwrap());
}
