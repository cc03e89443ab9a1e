//! Which homes inside projects are this user's own: an id in the home, matched in the
//! user's data folder, where no agent's workspace reaches.
//!
//! A home that was copied, moved, cloned or made by somebody else has no match. The
//! register lies in a folder with our own name, so that the cage and the path guard
//! keep it from agents even where somebody makes the whole home folder a workspace.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::owner::{self, Distrust};

/// The file of a home that holds its id.
const ID: &str = "home-id";
/// Bytes of an id, before they are written as text.
const ID_BYTES: usize = 16;
/// Longest path that is compared.
const PATH_MAX: u64 = 64 * 1024;

/// The homes that a user has made or adopted.
#[derive(Clone, Debug)]
pub(super) struct Register {
    folder: PathBuf,
}

impl Register {
    /// The register in a data folder.
    pub(super) fn below(data: &Path) -> Self {
        Self { folder: data.join("bowline").join(super::FOLDER).join("homes") }
    }

    /// Whether a folder is where the register itself lies.
    pub(super) fn lies_in(&self, folder: &Path) -> bool {
        self.folder.starts_with(folder)
    }

    /// Whether a home is known, as what it is and where it is.
    pub(super) fn knows(&self, home: &Path) -> bool {
        let is_own = owner::examine(&self.folder).is_ok();
        let known = || -> Option<bool> {
            let id = read_id(home)?;
            let file = fs::File::open(self.folder.join(id)).ok()?;
            let mut path = Vec::new();
            io::Read::read_to_end(&mut io::Read::take(file, PATH_MAX), &mut path).ok()?;
            Some(path == real(home).ok()?.as_os_str().as_bytes())
        };
        is_own && known() == Some(true)
    }

    /// Makes a home that is known from its first moment: it appears whole, or not at all.
    /// If somebody else made one meanwhile, that one stays.
    pub(super) fn make(&self, home: &Path) -> io::Result<()> {
        let project = home.parent().ok_or(io::ErrorKind::NotFound)?;
        let id = fresh_id()?;
        let scratch = project.join(format!("{}-{id}.new", super::FOLDER));
        private_folder(&scratch)?;
        let whole = self.fill(&scratch, &id, &real(project)?.join(super::FOLDER));
        let made = whole.and_then(|()| fs::rename(&scratch, home));
        if let Err(error) = made {
            let _ = fs::remove_dir_all(&scratch);
            let _ = fs::remove_file(self.folder.join(&id));
            let is_there =
                matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty);
            return if is_there { Ok(()) } else { Err(error) };
        }
        Ok(())
    }

    /// Takes a home as it is, under a new id: what it was copied from keeps the old one.
    pub(super) fn adopt(&self, home: &Path) -> io::Result<()> {
        let id = fresh_id()?;
        self.note(&id, &real(home)?)?;
        write_private(&home.join(format!("{ID}.new")), id.as_bytes())?;
        fs::rename(home.join(format!("{ID}.new")), home.join(ID))
    }

    fn fill(&self, scratch: &Path, id: &str, path: &Path) -> io::Result<()> {
        write_private(&scratch.join(".gitignore"), b"*\n")?;
        write_private(&scratch.join(ID), id.as_bytes())?;
        self.note(id, path)
    }

    fn note(&self, id: &str, path: &Path) -> io::Result<()> {
        private_folder(&self.folder)?;
        owner::examine(&self.folder).map_err(|distrust| told(&distrust, &self.folder))?;
        write_private(&self.folder.join(id), path.as_os_str().as_bytes())
    }
}

fn told(distrust: &Distrust, folder: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, distrust.what(folder))
}

/// The id of a home, if it has one that is an id.
fn read_id(home: &Path) -> Option<String> {
    let file = home.join(ID);
    let found = file.symlink_metadata().ok()?;
    let is_right = found.is_file() && found.len() == 2 * ID_BYTES as u64;
    let id = is_right.then(|| fs::read_to_string(&file).ok()).flatten()?;
    id.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(id)
}

fn fresh_id() -> io::Result<String> {
    let mut bytes = [0_u8; ID_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn real(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// A folder for this user alone, and those above it that are missing.
fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_known_where_it_was_made_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let register = Register::below(&dir.path().join("data"));
        let home = dir.path().join(".bowline");
        register.make(&home).unwrap();
        assert!(register.knows(&home));
        // Made again by somebody at the same moment: the first one stays.
        let id = fs::read(home.join(ID)).unwrap();
        register.make(&home).unwrap();
        assert_eq!(fs::read(home.join(ID)).unwrap(), id);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left over");

        let copy = dir.path().join("copy");
        fs::create_dir(&copy).unwrap();
        fs::copy(home.join(ID), copy.join(ID)).unwrap();
        assert!(!register.knows(&copy), "a copy");
        let moved = dir.path().join("moved");
        fs::rename(&home, &moved).unwrap();
        assert!(!register.knows(&moved), "it was moved");
        register.adopt(&moved).unwrap();
        assert!(register.knows(&moved));
        assert!(!Register::below(&dir.path().join("other")).knows(&moved), "another user's data folder");
    }

    #[test]
    fn an_id_that_is_a_path_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let register = Register::below(&dir.path().join("data"));
        for id in ["../../../../../../../../etc/passwd", "", "zz"] {
            fs::write(dir.path().join(ID), id).unwrap();
            assert!(!register.knows(dir.path()), "{id}");
        }
    }
}
