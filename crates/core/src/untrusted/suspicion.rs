//! Texts that talk to the model instead of about the world.
//!
//! A text is flagged when two families of signs stand near each other, or one
//! sign is strong enough by itself. Being flagged changes no byte: it labels the
//! text, raises what its values are worth to [`super::taint`], and tells people why.
//!
//! What never happens here: a text is never cleared. An unflagged text is as
//! untrusted as before, and a plain request without any sign cannot be seen here.

mod encoded;
mod hidden;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(super) use self::encoded::each as decoded;
pub(super) use self::hidden::spans as hidden_spans;
use super::scan::{Found, scan};

/// Most findings a report keeps.
pub const FINDINGS_MAX: usize = 64;
/// How near two families must stand to support each other, in bytes.
pub const NEAR: usize = 800;

/// A kind of sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Imitates the marks of a model's own format.
    Template,
    /// Orders to ignore orders.
    Override,
    /// Speaks to the model.
    Addressed,
    /// Wants something done before, or instead of, the task.
    BeforeTask,
    /// Announces orders.
    DoFollowing,
    /// A tag that looks like somebody's authority.
    PseudoTag,
    /// Wants the user kept in the dark.
    Secrecy,
    /// Wants the work to stop.
    Halt,
    /// Shouts.
    Urgency,
    /// Claims to be the user or the maker.
    Impersonation,
    /// Wants secrets sent somewhere.
    Exfiltration,
    /// Wants rights.
    SelfGrant,
    /// Holds text nobody can see.
    Hidden,
    /// Holds such a text in another notation.
    Encoded,
    /// Holds orders to a terminal.
    Terminal,
}

impl Family {
    /// What it is, for people and models.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Template => "imitates a model's own marks",
            Self::Override => "says to ignore instructions",
            Self::Addressed => "speaks to the model",
            Self::BeforeTask => "wants something done before the task",
            Self::DoFollowing => "announces orders",
            Self::PseudoTag => "bears a tag of authority",
            Self::Secrecy => "wants the user kept in the dark",
            Self::Halt => "wants the work to stop",
            Self::Urgency => "shouts",
            Self::Impersonation => "claims to be the user or the maker",
            Self::Exfiltration => "wants secrets sent",
            Self::SelfGrant => "claims rights",
            Self::Hidden => "holds hidden text",
            Self::Encoded => "holds encoded text",
            Self::Terminal => "holds orders to a terminal",
        }
    }

    /// Several in one line.
    #[must_use]
    pub fn list(families: &[Self]) -> String {
        families.iter().map(|family| family.words()).collect::<Vec<_>>().join("; ")
    }
}

/// How much a sign says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Counts beside a sign of another family.
    Weak,
    /// Enough alone.
    Strong,
}

/// One sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub family: Family,
    /// What it says alone.
    pub weight: Weight,
    /// Name of the rule that found it.
    pub rule: &'static str,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
}

/// What was found in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// True when the text is suspicious.
    pub flagged: bool,
    /// The signs, by place; the first [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
}

impl Report {
    /// The kinds of signs, each once; none where the text is not suspicious.
    #[must_use]
    pub fn families(&self) -> Vec<Family> {
        let found = self.findings.iter().filter(|_| self.flagged).map(|finding| finding.family);
        found.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Looks for signs of an attack.
#[must_use]
pub fn suspicion(text: &str) -> Report {
    let mut gathered = Gathered::default();
    plain(text, &mut gathered);
    encoded::find(text, |finding| gathered.take(finding));
    gathered.report()
}

/// The rule: one strong sign, or two families near each other.
#[must_use]
pub fn is_flagged(findings: &[Finding]) -> bool {
    let mut gathered = Gathered::default();
    for finding in findings {
        gathered.take(finding.clone());
    }
    gathered.flagged
}

fn plain(text: &str, gathered: &mut Gathered) {
    scan(text, None, |Found { span, rule, family, weight, .. }| {
        gathered.take(Finding { family, weight, rule, span });
    });
    hidden::find(text, |finding| gathered.take(finding));
}

/// Only what stands in the text as it is; decoded texts are read with this.
fn speaks_strongly(text: &str) -> bool {
    let mut gathered = Gathered::default();
    plain(text, &mut gathered);
    gathered.flagged
}

/// Findings so far. The verdict is kept beside them, so the bound on what is
/// kept never changes it.
#[derive(Default)]
struct Gathered {
    flagged: bool,
    findings: Vec<Finding>,
    /// Where each family was last seen; at most one entry a family.
    last: Vec<(Family, usize)>,
}

impl Gathered {
    fn take(&mut self, finding: Finding) {
        let decides = finding.weight == Weight::Strong || self.stands_near_another(&finding);
        match self.last.iter_mut().find(|(family, _)| *family == finding.family) {
            Some((_, at)) => *at = (*at).max(finding.span.end),
            None => self.last.push((finding.family, finding.span.end)),
        }
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        } else if decides && !self.flagged {
            // The sign that decides is always shown.
            self.findings.pop();
            self.findings.push(finding);
        }
        self.flagged |= decides;
    }

    fn stands_near_another(&self, finding: &Finding) -> bool {
        let near = |at: usize| {
            at.saturating_add(NEAR) >= finding.span.start && at <= finding.span.end.saturating_add(NEAR)
        };
        self.last.iter().any(|(family, at)| *family != finding.family && near(*at))
    }

    fn report(mut self) -> Report {
        self.findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
        Report { flagged: self.flagged, findings: self.findings }
    }
}
