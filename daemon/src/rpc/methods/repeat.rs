//! Calls that were already done, for methods whose repetition the service can't see. It lives as long as the daemon:
//! what such a call adds to, a running turn, does not outlive it either.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Calls that are remembered; the oldest is forgotten first. A client repeats a call within seconds or not at all.
const REMEMBERED: usize = 1024;

/// See the module's head.
#[derive(Debug, Default)]
pub struct Repeats {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    order: VecDeque<(String, String)>,
    all: HashSet<(String, String)>,
}

impl Repeats {
    /// Whether this call is new; it is remembered from now on.
    pub fn is_new(&self, session: &str, key: &str) -> bool {
        let call = (session.to_owned(), key.to_owned());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.all.insert(call.clone()) {
            return false;
        }
        seen.order.push_back(call);
        if seen.order.len() > REMEMBERED
            && let Some(oldest) = seen.order.pop_front()
        {
            seen.all.remove(&oldest);
        }
        true
    }

    /// Forgets a call that failed: it may be tried again.
    pub fn forget(&self, session: &str, key: &str) {
        let call = (session.to_owned(), key.to_owned());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.all.remove(&call) {
            seen.order.retain(|other| *other != call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_new_once_until_it_failed_or_is_long_ago() {
        let repeats = Repeats::default();
        assert_eq!((repeats.is_new("s", "a"), repeats.is_new("s", "a"), repeats.is_new("t", "a")), (true, false, true));
        repeats.forget("s", "a");
        assert!(repeats.is_new("s", "a"));
        for number in 0..REMEMBERED {
            assert!(repeats.is_new("u", &number.to_string()));
        }
        assert!(repeats.is_new("s", "a"));
    }
}
