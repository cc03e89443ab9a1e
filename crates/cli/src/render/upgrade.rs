//! What is said while a store of an earlier version is brought to today's: on standard error,
//! since it is no part of any command's result.

use std::sync::atomic::{AtomicBool, Ordering};

use bowline_store::Progress;
use bowline_store::migrations::VERSION;

use super::bar::Bar;
use super::screen::complain;
use super::words;

/// Says how a migration goes.
pub(crate) struct Upgrading {
    bar: Bar,
    began: AtomicBool,
}

impl Upgrading {
    /// Nothing was said yet.
    pub(crate) fn new() -> Self {
        Self { bar: Bar::new(), began: AtomicBool::new(false) }
    }

    /// It got so far.
    pub(crate) fn tell(&self, progress: Progress<'_>) {
        match progress {
            Progress::Copying { to, done, of } => {
                if !self.began.swap(true, Ordering::Relaxed) {
                    let size = words::count(of.div_ceil(1 << 20));
                    complain(&format!(
                        "this store is of an earlier version. It is copied to {} ({size} MiB), then brought to version {VERSION}\n",
                        to.display()
                    ));
                }
                self.bar.at(done, of, "copying the store");
            }
            Progress::Step(step) => {
                self.bar.clear();
                complain(&format!("  version {}, {}: {}\n", step.number, step.name, step.what));
            }
            Progress::Done { from, copy } => {
                let kept = copy.map_or_else(String::new, |copy| {
                    format!("; what it was is in {}, to be removed when you do not need it", copy.display())
                });
                complain(&format!("the store was of version {from} and is of version {VERSION} now{kept}\n"));
            }
        }
    }
}
