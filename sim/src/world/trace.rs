//! The trace of a seed: a running hash over everything that happened, and the
//! lines themselves when somebody wants to read them.

use bowline_core::provenance::Digest;

/// Longest trace that is kept to be read, in lines.
const LINES_MAX: usize = 20_000;

/// What happened, in order.
#[derive(Debug)]
pub(super) struct Trace {
    hash: Digest,
    lines: Option<Vec<String>>,
}

impl Trace {
    pub(super) fn new(keep_lines: bool) -> Self {
        Self { hash: Digest::ZERO, lines: keep_lines.then(Vec::new) }
    }

    pub(super) fn note(&mut self, what: &str, about: &str) {
        self.hash = Digest::of_parts(&[&self.hash.0, what.as_bytes(), about.as_bytes()]);
        if let Some(lines) = self.lines.as_mut().filter(|lines| lines.len() < LINES_MAX) {
            lines.push(format!("{what}: {about}"));
        }
    }

    /// Names the whole trace.
    #[must_use]
    pub(super) fn hash(&self) -> Digest {
        self.hash
    }

    /// The lines, if they were kept.
    #[must_use]
    pub(super) fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or_default()
    }
}
