//! GGUF files: whole ones, cut ones, wrong ones.

use super::*;
use crate::model::Loaded;
use crate::tiny::Tiny;

fn at(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn a_whole_file_tells_its_metadata_and_tensors() {
    let (_folder, path) = at(&Tiny::default().bytes());
    let file = Gguf::open(&path).unwrap();
    assert_eq!(file.text("general.architecture").unwrap(), "llama");
    assert_eq!(file.count("llama.block_count").unwrap(), 2);
    assert_eq!(file.entry("blk.1.ffn_down.weight").unwrap().columns, 96);
}

#[test]
fn a_file_cut_anywhere_is_an_error_and_never_a_panic() {
    let whole = Tiny::default().bytes();
    let (_folder, path) = at(&[]);
    for cut in (0..whole.len()).step_by(997).chain(0..64).chain([whole.len() - 1]) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let error = Loaded::read(&path, 1).err().unwrap_or_else(|| panic!("cut at {cut} was loaded"));
        assert!(matches!(error, LoadError::Corrupt { .. } | LoadError::NotGguf { .. }), "{cut}: {error}");
    }
}

#[test]
fn a_file_with_wrong_bytes_in_its_header_never_panics() {
    let whole = Tiny::default().bytes();
    let (_folder, path) = at(&[]);
    let mut refused = 0;
    for place in (4..1_500).step_by(7) {
        for wrong in [0x00, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[place] = wrong;
            std::fs::write(&path, &bytes).unwrap();
            refused += usize::from(Loaded::read(&path, 1).is_err());
        }
    }
    assert!(refused > 50, "only {refused} files were refused");
}

#[test]
fn what_is_not_gguf_is_told_apart_from_what_is_damaged() {
    let (_folder, path) = at(b"PK\x03\x04 and more of a zip file");
    assert!(matches!(Gguf::open(&path), Err(LoadError::NotGguf { .. })));
    let missing = path.with_file_name("missing.gguf");
    assert!(matches!(Gguf::open(&missing), Err(LoadError::Unreadable { .. })));
}

#[test]
fn an_unknown_architecture_or_quantisation_is_named() {
    let (_folder, path) = at(&Tiny { architecture: "mamba", ..Tiny::default() }.bytes());
    let error = Loaded::read(&path, 1).err().unwrap();
    assert!(matches!(&error, LoadError::Architecture { architecture, .. } if architecture == "mamba"));
    let mut bytes = Tiny::default().bytes();
    // The directory entry of the first tensor: name, two dimensions, then the code.
    let name = b"token_embd.weight";
    let place = bytes.windows(name.len()).position(|window| window == name).unwrap() + name.len() + 4 + 16;
    bytes[place] = 16;
    std::fs::write(&path, &bytes).unwrap();
    let error = Gguf::open(&path).unwrap_err();
    assert!(matches!(error, LoadError::Quantisation { code: 16, .. }));
    assert!(error.remedy().contains("Q4_K"));
}
