//! The scripted model server as a program of its own, for `check.py`: prints its address, plays the same two steps for
//! each API, and ends when its input ends.

use plimsoll_tests::model_server::{Call, ModelServer, Script, Step, Usage};
use serde_json::json;
use std::io::Write;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let usage = Usage { input: 40, cached: 30, written: 0, output: 7 };
    let steps = [(); 2].into_iter().flat_map(|()| {
        let text = Step::empty().text_in(["gr\u{fc}n, ", "in ", "pieces"]).split_every(5).keep_alive();
        let calls = Step::empty()
            .reasoning("which files?")
            .text("reading")
            .call(Call::new("read_file", json!({"path": "a b.rs"})).fragments(5))
            .call(Call::new("read_file", json!({"path": "c.rs"})));
        [text.usage(usage), calls.usage(usage)]
    });
    let server = ModelServer::start(Script::new(steps)).await;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{}", server.addr())?;
    stdout.flush()?;
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await??;
    server.assert_clean();
    Ok(())
}
