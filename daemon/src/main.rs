//! The binary: hands over to what its first argument names.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == "__exec") {
        return plimsoll::process::exec::main(args);
    }
    ExitCode::SUCCESS
}
