//! The class of an error, read from its text.
//!
//! The line that names the error, without what changes from call to call. Two
//! texts of one class are the same complaint about different values.

/// How much of an error text is looked at, from each end.
const LINES_LOOKED_AT: usize = 200;
/// The longest class.
const CLASS_CHARS_MAX: usize = 80;

/// Words of a line that names an error.
const TELLING: [&str; 14] = [
    "error",
    "exception",
    "fatal",
    "failed",
    "failure",
    "denied",
    "not found",
    "no such",
    "timed out",
    "timeout",
    "refused",
    "panicked",
    "invalid",
    "cannot",
];

/// The class of an error text: lower case, volatile parts replaced.
#[must_use]
pub fn error_class(text: &str) -> String {
    without_values(telling_line(text))
}

/// The last line like `ValueError: …` (where a traceback names its error), else
/// the first that speaks of an error, else the first that says anything.
fn telling_line(text: &str) -> &str {
    let lines = || text.lines().take(LINES_LOOKED_AT).map(str::trim).filter(|line| !line.is_empty());
    let tail = text.lines().rev().take(LINES_LOOKED_AT).map(str::trim);
    let named = tail.into_iter().find(|line| opens_with_error_name(line));
    let spoken = || {
        lines().find(|line| {
            let lower = line.to_lowercase();
            TELLING.iter().any(|word| lower.contains(word))
        })
    };
    named.or_else(spoken).or_else(|| lines().next()).unwrap_or_default()
}

fn opens_with_error_name(line: &str) -> bool {
    let name = line.split([':', ' ', '(']).next().unwrap_or_default();
    let plain = name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '.' | '_'));
    let camel = name.chars().any(char::is_uppercase);
    plain && camel && ["Error", "Exception", "Warning", "Fault"].iter().any(|ending| name.ends_with(ending))
}

/// Quoted values, numbers and paths become signs.
fn without_values(line: &str) -> String {
    let mut class = String::new();
    let mut letters = line.chars().peekable();
    let mut word = String::new();
    while let Some(letter) = letters.next() {
        if matches!(letter, '"' | '`') || (letter == '\'' && word.is_empty()) {
            push_word(&mut class, &mut word);
            let closes = letters.clone().take(200).any(|next| next == letter);
            if closes {
                letters.by_ref().find(|next| *next == letter);
                class.push('\u{2026}');
            }
        } else if letter.is_whitespace() || matches!(letter, ',' | ';' | '(' | ')' | '[' | ']' | '=') {
            push_word(&mut class, &mut word);
            if !class.ends_with(' ') {
                class.push(' ');
            }
        } else {
            word.push(letter);
        }
        if class.chars().count() > CLASS_CHARS_MAX {
            break;
        }
    }
    push_word(&mut class, &mut word);
    class.trim().chars().take(CLASS_CHARS_MAX).collect()
}

fn push_word(class: &mut String, word: &mut String) {
    let bare = word.trim_end_matches([':', '.', '!']);
    let is_path = bare.contains('/') || bare.contains('\\') || bare.contains("::");
    if is_path {
        class.push('/');
    } else {
        push_without_digits(class, &bare.to_lowercase());
    }
    word.clear();
}

/// Each row of digits is one `#`; a code such as `E0308` names the error and stays.
fn push_without_digits(class: &mut String, word: &str) {
    let code = word.len() <= 8
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().skip(1).all(|c| c.is_ascii_digit());
    if code {
        class.push_str(word);
        return;
    }
    let hex = word.starts_with("0x") || (word.len() >= 8 && word.chars().all(|c| c.is_ascii_hexdigit()));
    if hex {
        class.push('#');
        return;
    }
    let mut in_number = false;
    for letter in word.chars() {
        if letter.is_ascii_digit() {
            if !in_number {
                class.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            class.push(letter);
        }
    }
}
