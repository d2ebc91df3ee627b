//! After how long without client and work the daemon ends: what the configuration says at that moment, so that a change
//! counts for the daemon that runs.

use crate::config::{Config, Folders};
use std::collections::BTreeMap;
use std::time::Duration;

/// See the module's head.
#[derive(Debug)]
pub struct IdleStop {
    folders: Folders,
    /// Minutes as they were last read; 0: never.
    minutes: u32,
}

impl IdleStop {
    /// Reads it for the first time. Where the configuration is not valid the daemon stays: sessions will say so to their
    /// clients, and a daemon that is not there cannot.
    pub fn begin(folders: &Folders) -> Self {
        let mut idle = Self { folders: folders.clone(), minutes: 0 };
        idle.read();
        idle
    }

    /// How long it is now; none: never. Reads two small files. While they are not valid what was read last counts.
    pub fn now(&mut self) -> Option<Duration> {
        self.read();
        (self.minutes > 0).then(|| Duration::from_mins(u64::from(self.minutes)))
    }

    fn read(&mut self) {
        match Config::load(&self.folders, &BTreeMap::new()) {
            Ok(config) => self.minutes = config.idle_stop_minutes,
            Err(error) => tracing::warn!(%error, "the configuration is not valid"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::folders;

    #[test]
    fn a_change_counts_at_once_and_a_mistake_changes_nothing() {
        let (_root, folders) = folders();
        std::fs::create_dir(&folders.config).unwrap();
        let write = |text: &str| std::fs::write(folders.config_file(), text).unwrap();
        write("[daemon]\nidle_stop_minutes = ");
        let mut idle = IdleStop::begin(&folders);
        assert_eq!(idle.now(), None, "who made a mistake is told by a daemon that is there");
        write("[daemon]\nidle_stop_minutes = 7\n");
        assert_eq!(idle.now(), Some(Duration::from_mins(7)));
        write("[daemon]\nidle_stop_minutes = 0\n");
        assert_eq!(idle.now(), None);
        std::fs::remove_file(folders.config_file()).unwrap();
        assert_eq!(idle.now(), Some(Duration::from_mins(30)));
        write("[daemon]\nidle_stop_minutes = \"x\"\n");
        assert_eq!(idle.now(), Some(Duration::from_mins(30)));
    }
}
