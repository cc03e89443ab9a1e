//! Files of a workspace, byte by byte: what is there, and what differs from what must be.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Names below a folder, and bytes.
pub(super) type Bytes = BTreeMap<String, Vec<u8>>;

/// Names each file below the folder that is not as expected.
pub(super) fn compare(folder: &Path, expected: &Bytes, wrong: &mut Vec<String>) -> io::Result<()> {
    let mut found = BTreeMap::new();
    read_below(folder, "", &mut found)?;
    for (name, bytes) in expected {
        match found.remove(name) {
            Some(there) if there == *bytes => {}
            Some(there) => wrong.push(format!(
                "{} has {} bytes that are not the {} expected",
                folder.join(name).display(),
                there.len(),
                bytes.len()
            )),
            None => wrong.push(format!("{} is missing", folder.join(name).display())),
        }
    }
    wrong.extend(found.keys().map(|name| format!("{} should not be there", folder.join(name).display())));
    Ok(())
}

fn read_below(folder: &Path, prefix: &str, found: &mut Bytes) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            let files = found.len();
            read_below(&entry.path(), &format!("{name}/"), found)?;
            if found.len() == files {
                // Nobody expects an empty folder: it was left behind.
                found.insert(format!("{name}/"), Vec::new());
            }
        } else {
            found.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}
