//! The resources of a command, in every mode: enough for any build, little enough that a mistake does not take the
//! machine along. The helper takes them on itself, and the command has them from it.
//!
//! Nothing here bounds memory, time or the size of files: builds, models and disk images have no size that would be too
//! large. Time has its own limit; output is bounded by what is kept of it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files open at once in one process, before it asks for more. Some systems give a thousand million, and programs that
/// close all they could have open then take minutes to start.
const OPEN_FILES: u64 = 64 * 1024;

/// The most that it can ask for: what systems give at most by default.
const MOST_OPEN_FILES: u64 = 1024 * 1024;

/// Processes and threads of the user in all, not of the command alone, which is how the kernel counts: far above what a
/// desktop and a parallel build have together, below what makes a machine unusable. Not for root, whom it does not hold.
const PROCESSES: u64 = 16 * 1024;

/// Sets them. A limit that cannot be set is left as it is: these are lowered only, which is always allowed.
pub fn limit() {
    // No dumps of memory in the project; a command that wants them can ask for them.
    lower(Resource::Core, Some(0), None);
    lower(Resource::Nofile, Some(OPEN_FILES), Some(MOST_OPEN_FILES));
    lower(Resource::Nproc, Some(PROCESSES), Some(PROCESSES));
}

fn lower(resource: Resource, current: Option<u64>, maximum: Option<u64>) {
    let held = getrlimit(resource);
    let lower = |held: Option<u64>, wanted: Option<u64>| match (held, wanted) {
        (Some(held), Some(wanted)) => Some(held.min(wanted)),
        (one, None) | (None, one) => one,
    };
    let _ =
        setrlimit(resource, Rlimit { current: lower(held.current, current), maximum: lower(held.maximum, maximum) });
}
