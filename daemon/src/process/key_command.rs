//! Runs the command that a configuration names as the source of a key. Not for tools: they go through the helper.

use super::children;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

/// How long such a command may take; it may have to unlock a key ring, but nobody sees it ask.
const TIME: Duration = Duration::from_secs(20);
/// Bytes that are read of its output; a key is far shorter.
const OUTPUT: u64 = 64 << 10;

/// The standard output of `command`, run by `sh` in the folder `/` without input; or why it gave none, without any of its
/// output, which may hold the key.
pub async fn standard_output(command: String) -> Result<String, String> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &command])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut child =
        children::start(|| shell.spawn(), Child::id).map_err(|error| format!("it cannot be started: {error}"))?;
    let mut output = Vec::new();
    let work = async {
        if let Some(stdout) = child.stdout.take() {
            stdout.take(OUTPUT).read_to_end(&mut output).await?;
        }
        child.wait().await
    };
    let status = tokio::time::timeout(TIME, work)
        .await
        .map_err(|_| format!("it took longer than {} s", TIME.as_secs()))?
        .map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(status.to_string());
    }
    String::from_utf8(output).map_err(|_| "its output is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_output_is_given_and_a_failure_says_how() {
        assert_eq!(standard_output("cat; echo key".to_owned()).await, Ok("key\n".to_owned()));
        assert_eq!(standard_output("echo key; exit 3".to_owned()).await, Err("exit status: 3".to_owned()));
    }
}
