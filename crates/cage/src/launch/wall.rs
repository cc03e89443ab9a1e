//! Landlock: the same grant once more, held by the kernel for each process, not
//! by what is mounted where. Signals and abstract sockets stay inside as well,
//! where the kernel can hold them; the namespaces hold them everywhere.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use crate::order::Access;

/// The newest rights we know. Older kernels hold those they know, the first
/// version's at least.
const NEWEST: ABI = ABI::V6;

/// A ruleset, not yet enforced.
pub(super) struct Wall(RulesetCreated);

/// Builds the wall.
pub(super) fn build(rules: &[(Access, PathBuf)]) -> Result<Wall, String> {
    let words = |error: RulesetError| error.to_string();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .map_err(words)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(words)?
        .scope(Scope::from_all(NEWEST))
        .map_err(words)?
        .create()
        .map_err(words)?;
    for (access, path) in rules {
        let file = PathFd::new(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let rights =
            if path.is_dir() { rights(*access) } else { rights(*access) & AccessFs::from_file(NEWEST) };
        ruleset = ruleset.add_rule(PathBeneath::new(file, rights)).map_err(words)?;
    }
    Ok(Wall(ruleset))
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    match access {
        Access::Read => AccessFs::from_read(NEWEST),
        Access::Write => {
            AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
        }
        Access::Devices => {
            AccessFs::ReadFile
                | AccessFs::WriteFile
                | AccessFs::ReadDir
                | AccessFs::Truncate
                | AccessFs::IoctlDev
        }
    }
}

impl Wall {
    /// Puts the calling process and all it will start behind the wall, for ever.
    pub(super) fn stand(self) -> io::Result<()> {
        let status = self.0.restrict_self().map_err(|error| io::Error::other(error.to_string()))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if status.no_new_privs => Ok(()),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
