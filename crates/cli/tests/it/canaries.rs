//! A program prints its secret in every notation it can think of, and a model repeats it:
//! nothing that is stored, exported or shown has it.

use std::path::Path;

use super::*;

const KEY: &str = "k7Qw/Zr9+mP2xT5vB8nJ";

/// Prints the secret in many ways; what must not be anywhere follows.
const LEAK: &str = r#"
cat > /dev/null
k="$PAY_TOKEN"
printf 'plain: %s\n' "$k"
printf 'x%s' "$k" | base64 -w 8
printf '%s' "$k" | base64 | tr -d '='
printf 'x%s' "$k" | base32 -w 8
printf '%s' "$k" | od
printf 'ab%s' "$k" | od -c
printf 'ab%s' "$k" | od -x
printf '%s' "$k" | od -An -tx1
printf 'ab%s' "$k" | od -tx1z
printf '%s' "$k" | od -An -tu1
printf '%s' "$k" | fold -w 1
printf '%s' "$k" | fold -w 7
printf '%s' "$k" | fold -w 1 | tr '\n' '\0'
printf '\n%s' "$k" | sed 's,/,%2F,;s,+,%2b,'
printf '\n%s' "$k" | fold -w 1 | sed 's/.*/"&",/'
printf '\n%s' "$k" | tr a-z A-Z
printf '\n%s' "$k" >&2
printf '\377\n'
"#;

const PARTS: [&str; 20] = [
    "k7Qw",
    "vB8n", // plain, and the columns of listings
    "MnhUNXZC",
    "azdRdy9a", // Base64 at two offsets
    "PBVTOULX",
    "GV3EEODO", // Base32
    "033553",
    "034102", // od
    "Q   w   /",
    "v   B   8", // od -c
    "376b 7751",
    "7635 3842", // od -x
    "51 77 2f",
    "35 76 42",   // od -tx1
    "81 119  47", // od -tu1
    "Q\nw\n/",
    "\"v\",\n\"B\",", // one a line
    "Q\0w\0/",
    "K7QW",
    "VB8N",
];

fn nowhere(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // In the store line ends are escaped.
    for part in PARTS.iter().flat_map(|part| [(*part).to_owned(), serde_json::to_string(part).unwrap()]) {
        let part = part.trim_matches('"');
        assert!(!text.contains(part), "{part:?} is in {what}");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn a_secret_in_any_notation_is_in_nothing_that_is_stored_exported_or_shown() {
    let place = Place::new();
    let manifest = r#"
name = "payer"
model = "scripted:model.yaml"
sandbox = "none"
tools = ["write_file"]
[capabilities]
file_read = ["."]
file_write = ["."]
[secrets]
PAY_TOKEN = { file = "token.txt" }
[[tool]]
name = "pay"
command = ["sh", "./pay.sh"]
description = "Pays."
schema = { type = "object" }
consent = "not-needed"
secrets = ["PAY_TOKEN"]
"#;
    let replies = "  main:\n    - calls: [{tool: pay, args: {}}]\n    \
         - expect: {last_contains: [\"plain: [secret PAY_TOKEN]\"]}\n      \
         say: \"It is\\nazdRdy9a\\ncjkrbVAyeFQ1dkI4bko or 6b 37 51 77 2f 5a 72 39 2b 6d 50 32 78 54 35 76 42 38 6e 4a\"\n";
    place.write("task/agent.toml", manifest).write("task/token.txt", KEY).write("task/pay.sh", LEAK);
    place.write("task/model.yaml", &format!("script: 1\nconversations:\n{replies}"));
    let task =
        "goal = \"Pay\"\nagent = \"agent.toml\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n";
    place.write("task/task.toml", task).write("task/project/x", "");
    let ran = place.bowline(&["run", "task", "--json"]).ends(0);
    assert!(ran.out.contains("[secret PAY_TOKEN]"), "{}", ran.out);
    nowhere("run --json", ran.out.as_bytes());
    nowhere("the complaints of run", ran.err.as_bytes());
    for words in [
        &["show", "last"][..],
        &["show", "last", "--json"],
        &["show", "last", "--events"],
        &["watch", "last"],
        &["watch", "last", "--json"],
        &["runs", "--json"],
        &["export", "last", "--json"],
        &["export", "last", "--out", "exported"],
    ] {
        let ran = place.bowline(words).ends(0);
        nowhere(&words.join(" "), ran.out.as_bytes());
    }
    let mut files = files_below(&place.path("home"));
    files.extend(files_below(&place.path("exported")));
    assert!(files.iter().any(|file| file.ends_with("store.db")), "{files:?}");
    for file in files {
        nowhere(&file.display().to_string(), &fs::read(&file).unwrap());
    }
}
