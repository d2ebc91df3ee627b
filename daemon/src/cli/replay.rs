//! `plimsoll replay`: the exact body of a request that was sent, from the store alone.

use super::connect::{self, CommandError};
use super::inspect;
use super::reach::Spawn;
use super::{args, out};
use crate::rpc::client::RpcClient;
use plimsoll_protocol::request::{Check, RequestApiClient};
use std::process::ExitCode;

/// Runs the command. Standard output has the body and nothing else.
pub fn main(arguments: &args::Replay) -> ExitCode {
    connect::with_client(Spawn::WhenNone, async |client, _| {
        let args::Replay { session, request, side, check } = arguments;
        let which = if *side { (None, Some(*request)) } else { (Some(*request), None) };
        print(&client, session, which).await?;
        if !*check {
            return Ok(ExitCode::SUCCESS);
        }
        let found = RequestApiClient::get(&client, session.clone(), Some(*request), None, Some(true)).await?;
        let Some(check) = found.check else { return Ok(ExitCode::FAILURE) };
        out::note(&told(&check));
        Ok(if check.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

async fn print(
    client: &RpcClient,
    session: &str,
    (request, side): (Option<u64>, Option<u64>),
) -> Result<(), CommandError> {
    let mut offset = None;
    loop {
        let page = client.replay(session.to_owned(), request, side, offset, None).await?;
        out::print(&page.text)?;
        offset = page.next_offset;
        if offset.is_none() {
            return Ok(());
        }
    }
}

fn told(check: &Check) -> String {
    let mut lines = vec![match check.differences.len() {
        0 => format!("{} messages made anew from their items are as they were sent", check.messages),
        count => format!("{count} of {} messages made anew from their items are not as they were sent", check.messages),
    }];
    if check.older > 0 {
        lines.push(format!("{} more were written by an older version and are not compared", check.older));
    }
    for difference in &check.differences {
        let from = inspect::items(&difference.items);
        lines.push(format!("message {} ({from}): {}", difference.message, out::short(&difference.what, 60)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::context::ItemRange;
    use plimsoll_protocol::request::Difference;

    #[test]
    fn a_check_names_each_message_that_differs() {
        let mut check = Check { messages: 3, older: 0, differences: Vec::new() };
        assert_eq!(told(&check), "3 messages made anew from their items are as they were sent");
        check.older = 2;
        check.differences.push(Difference {
            message: 2,
            items: vec![ItemRange { first: 4, last: 5 }],
            what: "from its byte 7 on it would be another".into(),
        });
        assert_eq!(
            told(&check),
            "1 of 3 messages made anew from their items are not as they were sent\n\
             2 more were written by an older version and are not compared\n\
             message 2 (#4–#5): from its byte 7 on it would be another"
        );
    }
}
