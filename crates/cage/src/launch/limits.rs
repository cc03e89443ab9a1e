//! Resource limits the kernel keeps, put on the command before it starts.

use std::io;

use rustix::process::{
    Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit, setsid,
};

use crate::order::Bounds;

/// How far a command stands back for what watches it.
pub(super) const YIELD: i32 = 5;

/// The limits, ready to be set without allocating.
pub(super) struct Held([(Resource, u64); 6]);

impl From<&Bounds> for Held {
    fn from(bounds: &Bounds) -> Self {
        Self([
            (Resource::Nproc, bounds.processes),
            // Not address space: runtimes reserve far more of that than they use.
            (Resource::Data, bounds.memory_bytes),
            (Resource::Cpu, bounds.cpu_seconds),
            (Resource::Fsize, bounds.file_bytes),
            (Resource::Nofile, bounds.open_files),
            (Resource::Core, 0),
        ])
    }
}

impl Held {
    /// Sets them, never above what holds already.
    pub(super) fn hold(&self) -> io::Result<()> {
        // However many processes it starts, the watch inside and the runtime outside
        // must get the processor: it stands back, in a session of its own, which
        // many kernels schedule as one.
        let stands = getpriority_process(None)?;
        setpriority_process(None, stands.max(YIELD))?;
        setsid()?;
        for (resource, wanted) in self.0 {
            let held = getrlimit(resource).maximum.map_or(wanted, |maximum| maximum.min(wanted));
            setrlimit(resource, Rlimit { current: Some(held), maximum: Some(held) })?;
        }
        Ok(())
    }
}
