//! What a program is granted: decided here and nowhere else.
//!
//! Everything here looks at the disk and blocks.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bowline_cage::{Grant, Network};

use super::OURS;
use super::secrets::{FOUND_MAX, Nested, NoLook, which_at};
use crate::background::StopFlag;

/// Read-only for programs inside the workspace, also where it is not there yet.
const PROTECTED: [&str; 3] = [".git", ".agent", ".mcp.json"];

/// Secrets: there, but programs cannot open it.
const HIDDEN: &str = ".env";

/// Files of the user's home that run, or let others in, at the next login.
const LOGIN: [&str; 12] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".ssh",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/autostart",
];

/// Who wrote a command down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The task: the files it names are granted for reading.
    Task,
    /// The model: it names what it likes.
    Model,
}

/// What a program needs of a cage.
pub(crate) struct Wish {
    pub(crate) argv: Vec<String>,
    pub(crate) author: Author,
    pub(crate) folder: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    /// What it may also read, and also write.
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// Where in its folder it may write; `None`: anywhere.
    pub(crate) narrow: Option<Vec<String>>,
}

/// What a grant is made from, besides the wish.
pub(super) struct Surroundings<'a> {
    /// Folders of ours.
    pub(super) kept: &'a [PathBuf],
    /// The user's home.
    pub(super) home: Option<PathBuf>,
    /// The proxy, where the run may reach something.
    pub(super) proxy: Option<PathBuf>,
}

/// The grant of a wish. The error says why there can be none.
pub(super) fn grant(wish: &Wish, around: &Surroundings<'_>, stop: &StopFlag) -> Result<Grant, String> {
    let mut granted = own_folder(wish);
    granted.extend_from_slice(&wish.write);
    let (writable, roots) = (granted, writable(wish));
    let mut read = readable(wish, &writable);
    if wish.narrow.is_some() {
        read.push(wish.folder.clone());
    }

    let ours = PathBuf::from(OURS);
    let (mut protected, mut hidden): (Vec<PathBuf>, Vec<PathBuf>) =
        (PROTECTED.iter().map(PathBuf::from).collect(), vec![HIDDEN.into()]);
    if wish.folder.join(&ours).exists() { &mut hidden } else { &mut protected }.push(ours);
    for kept in around.kept.iter().filter_map(|folder| folder.canonicalize().ok()) {
        if is_below(&kept, &roots) {
            protected.push(kept.clone());
        }
        hidden.push(kept);
    }
    if let Some(home) = around.home.as_ref().map(|home| real(home)).filter(|home| is_below(home, &roots)) {
        // A linked one cannot be held; what it leads to can.
        let held = LOGIN.iter().map(|name| home.join(name)).map(|path| real(&path));
        protected.extend(held.filter(|path| is_below(path, &roots)));
    }
    let nested = looked_through(&roots, &read, stop)?;
    let kept: Vec<_> = around.kept.iter().filter_map(|folder| which_at(&real(folder))).collect();
    protected.extend(nested.repositories.into_iter().filter(|path| is_below(path, &roots)));
    hidden.splice(0..0, nested.closed);
    hidden.extend(nested.secrets);
    let homes = nested.homes.into_iter().filter(|(path, one)| !kept.contains(one) && !is_stand_in(path));
    hidden.extend(homes.map(|(path, _)| path));

    let env = wish.variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let network = around.proxy.clone().map_or(Network::None, Network::Proxy);
    Ok(Grant { read, write: writable, protected, hidden, network, env: env.collect(), ..Grant::default() })
}

/// The folders a wish may write, without links.
pub(super) fn writable(wish: &Wish) -> Vec<PathBuf> {
    own_folder(wish).iter().chain(&wish.write).map(|root| real(root)).collect()
}

/// Everything that must be kept from programs in these folders.
fn looked_through(roots: &[PathBuf], read: &[PathBuf], stop: &StopFlag) -> Result<Nested, String> {
    let mut nested = Nested::default();
    for root in roots {
        nested.extend(Nested::below(root, stop).map_err(|why| why.message())?);
    }
    for root in read.iter().map(|root| real(root)) {
        match Nested::below(&root, stop) {
            Ok(found) => nested.extend(found),
            // What we cannot look into, nobody gets to see.
            Err(NoLook::Closed(path, _)) if !roots.contains(&path) => nested.closed.push(path),
            Err(why) => return Err(why.message()),
        }
    }
    if nested.count() > FOUND_MAX {
        let example = nested.example().map(|path| path.display().to_string()).unwrap_or_default();
        return Err(format!(
            "more than {FOUND_MAX} files and folders must be kept from programs (.git, .env, .bowline and what cannot be \
             looked into below the granted folders), as {example}; remove those that a program made, or name a smaller \
             folder as the workspace"
        ));
    }
    Ok(nested)
}

/// What a cage puts in the place of something that is missing.
fn is_stand_in(path: &Path) -> bool {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder && std::fs::File::open(path).is_ok_and(bowline_cage::is_stand_in)
}

/// What makes the cage must not lie where programs write: the next cage would be of their making.
pub(super) fn out_of_reach(bubblewrap: &Path, writable: &[PathBuf]) -> Result<(), String> {
    if !is_below(bubblewrap, writable) && !is_below(&real(bubblewrap), writable) {
        return Ok(());
    }
    Err(format!(
        "the bubblewrap that was found, {}, lies where the programs of the task may write; take its folder out of \
         PATH, or install bubblewrap for the system",
        bubblewrap.display()
    ))
}

/// What a program may write of the folder it runs in. A part that is not there, or
/// leads elsewhere, cannot be written.
fn own_folder(wish: &Wish) -> Vec<PathBuf> {
    let Some(parts) = &wish.narrow else { return vec![wish.folder.clone()] };
    let folder = real(&wish.folder);
    // Joined anew, so that `./a/` is `a`.
    let parts = parts.iter().map(|part| folder.join(part).components().collect::<PathBuf>());
    parts.filter(|part| part.canonicalize().is_ok_and(|real| real == *part)).collect()
}

/// What may be read besides what may be written.
fn readable(wish: &Wish, writable: &[PathBuf]) -> Vec<PathBuf> {
    let mut read = wish.read.clone();
    if wish.author == Author::Task {
        let named = wish.argv.iter().map(Path::new).filter(|word| word.is_absolute() && word.is_file());
        // A program of the system is there anyway.
        let own = named.filter(|word| !word.starts_with("/usr") && !word.starts_with("/bin"));
        read.extend(own.filter_map(|word| pinned(word, writable)));
    }
    // What lies where programs write they see anyway, and could replace by a link.
    read.retain(|path| !is_below(path, writable));
    read
}

/// The real path of a file, unless it, or a link to it, lies where programs write.
fn pinned(word: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    let lies_in = word.parent()?.canonicalize().ok()?;
    if is_below(&lies_in, writable) {
        return None;
    }
    word.canonicalize().ok()
}

fn is_below(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root) || path.starts_with(real(root)))
}

/// Where a path really leads; itself, if nothing is there.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn wish(folder: &Path) -> Wish {
        Wish {
            argv: vec!["true".to_owned()],
            author: Author::Model,
            folder: folder.to_owned(),
            variables: Vec::new(),
            narrow: None,
            read: Vec::new(),
            write: Vec::new(),
        }
    }

    fn granted(folder: &Path, home: Option<&Path>, kept: &[PathBuf]) -> Grant {
        let around = Surroundings { kept, home: home.map(Path::to_owned), proxy: None };
        grant(&wish(folder), &around, &StopFlag::default()).unwrap()
    }

    #[test]
    fn login_files_of_a_home_that_programs_may_write_are_protected() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let home = root.join("me");
        fs::create_dir_all(home.join("dotfiles")).unwrap();
        fs::write(home.join("dotfiles/zshrc"), "").unwrap();
        std::os::unix::fs::symlink("dotfiles/zshrc", home.join(".zshrc")).unwrap();
        let grant = granted(&root, Some(&home), &[]);
        for path in [".bashrc", ".ssh", "dotfiles/zshrc", ".config/fish"] {
            assert!(grant.protected.contains(&home.join(path)), "{path}: {:?}", grant.protected);
        }
        let elsewhere = granted(&home.join("dotfiles"), Some(&home), &[]);
        assert!(!elsewhere.protected.contains(&home.join(".bashrc")), "it cannot be seen there");
    }

    #[test]
    fn a_bubblewrap_that_programs_could_replace_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let planted = root.join("venv/bin/bwrap");
        fs::create_dir_all(planted.parent().unwrap()).unwrap();
        fs::write(&planted, "").unwrap();
        let why = out_of_reach(&planted, std::slice::from_ref(&root)).unwrap_err();
        assert!(why.contains("take its folder out of PATH"), "{why}");
        assert!(out_of_reach(Path::new("/usr/bin/bwrap"), &[root]).is_ok());
    }

    #[test]
    fn a_part_of_the_folder_that_leads_elsewhere_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("drafts")).unwrap();
        fs::create_dir_all(root.join("plans")).unwrap();
        std::os::unix::fs::symlink("plans", root.join("out")).unwrap();
        std::os::unix::fs::symlink("/", root.join("away")).unwrap();
        let parts = ["./drafts/", "out", "away", "gone", "drafts/../plans"].map(str::to_owned).to_vec();
        let narrow = Wish { narrow: Some(parts), ..wish(&root) };
        assert_eq!(own_folder(&narrow), [root.join("drafts")]);
    }

    #[test]
    fn our_own_folder_is_kept_whatever_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let kept = root.join("deep/store");
        fs::create_dir_all(&kept).unwrap();
        let grant = granted(&root, None, std::slice::from_ref(&kept));
        assert!(grant.protected.contains(&kept) && grant.hidden.contains(&kept));
        // A workspace inside it, as a copy has it, is not taken away with it.
        let copy = kept.join("workspaces/run");
        fs::create_dir_all(&copy).unwrap();
        assert!(!granted(&copy, None, std::slice::from_ref(&kept)).protected.contains(&kept));
    }
}
