//! What must not leave in the arguments of a call, whoever talked the model into
//! it: secrets in any common notation, and keys that only the runtime may make.

use serde_json::Value;

use crate::mask::Mask;

/// Shortest secret that is looked for: shorter ones are everywhere.
pub const SECRET_MIN: usize = 8;
/// Most secrets that are looked for.
pub const SECRETS_MAX: usize = 256;

/// Something that must stay inside.
#[derive(Clone, Copy)]
pub struct Secret<'a> {
    /// What people call it, which may be shown.
    pub name: &'a str,
    /// What must not be shown.
    pub value: &'a str,
}

impl std::fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How a secret was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As it is.
    Plain,
    /// By its name, to be filled in: `${NAME}`.
    Named,
    /// With percent signs.
    Percent,
    /// In hexadecimal.
    Hex,
    /// In Base64, at any offset.
    Base64,
    /// Backwards.
    Reversed,
    /// In another way that a mask finds: wrapped, spaced, escaped, listed.
    Disguised,
}

/// A secret that would leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The secret's name.
    pub name: String,
    /// How it was written.
    pub form: Form,
}

/// The secrets found in a call's arguments. A call with any goes to a person.
#[must_use]
pub fn leaks(args: &str, secrets: &[Secret<'_>]) -> Vec<Leak> {
    let texts = texts(args);
    let within = |needle: &str| texts.iter().any(|text| text.contains(needle));
    let lower: Vec<String> = texts.iter().map(|text| text.to_ascii_lowercase()).collect();
    let mut found = Vec::new();
    for secret in secrets.iter().filter(|secret| secret.value.len() >= SECRET_MIN).take(SECRETS_MAX) {
        let hex = hex(secret.value.as_bytes());
        let forms = [
            (Form::Plain, within(secret.value)),
            (
                Form::Named,
                [format!("${{{}}}", secret.name), format!("${}", secret.name)].iter().any(|n| within(n)),
            ),
            (Form::Percent, within(&percent(secret.value, true)) || within(&percent(secret.value, false))),
            (Form::Hex, lower.iter().any(|text| text.contains(&hex))),
            (Form::Base64, base64_cores(secret.value.as_bytes()).iter().any(|core| within(core))),
            (Form::Reversed, within(&secret.value.chars().rev().collect::<String>())),
            (Form::Disguised, is_disguised(&texts, *secret)),
        ];
        let first = forms.into_iter().find(|(_, is_there)| *is_there);
        found.extend(first.map(|(form, _)| Leak { name: secret.name.into(), form }));
    }
    found
}

fn is_disguised(texts: &[String], secret: Secret<'_>) -> bool {
    let mask = Mask::new([(secret.name, secret.value)]);
    texts.iter().any(|text| !mask.names_in(text).is_empty())
}

/// Members that the runtime makes and a model may not choose, as JSON pointers.
#[must_use]
pub fn chosen_keys(args: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str::<Value>(args) {
        keys_of(&value, &mut String::new(), &mut found);
    }
    found
}

/// Names of such members, in the form they are compared.
const RUNTIME_KEYS: [&str; 4] = ["idempotencykey", "xidempotencykey", "idempotencytoken", "dedupekey"];

fn keys_of(value: &Value, path: &mut String, found: &mut Vec<String>) {
    let len = path.len();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push_str(&format!("/{at}"));
                keys_of(item, path, found);
                path.truncate(len);
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let plain: String = super::scan::symbols(key).collect();
                if RUNTIME_KEYS.contains(&plain.as_str()) {
                    found.push(path.clone());
                }
                keys_of(item, path, found);
                path.truncate(len);
            }
        }
    }
}

/// The arguments as they are, and every string in them with its escapes undone.
fn texts(args: &str) -> Vec<String> {
    let mut texts = vec![args.to_owned()];
    if let Ok(value) = serde_json::from_str::<Value>(args) {
        strings(value, &mut texts);
    }
    texts
}

fn strings(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| strings(item, texts)),
        Value::Object(members) => {
            for (key, item) in members {
                texts.push(key);
                strings(item, texts);
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Percent signs for everything that is no letter or digit, with capitals or not.
fn percent(value: &str, capitals: bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else if capitals {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// What every Base64 of a text with this inside must contain: the digits that
/// depend on the secret alone, for each of the three offsets and both alphabets.
fn base64_cores(value: &[u8]) -> Vec<String> {
    let mut cores = Vec::new();
    for alphabet in [BASE64, BASE64_URL] {
        for offset in 0..3_usize {
            let padded: Vec<u8> = std::iter::repeat_n(0, offset).chain(value.iter().copied()).collect();
            let digits = base64(&padded, alphabet);
            // The first digits mix with what stands before, the last with what follows.
            let from = if offset == 0 { 0 } else { offset + 1 };
            let to = padded.len() / 3 * 4;
            cores.extend(digits.get(from..to).map(str::to_owned));
        }
    }
    cores
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let digit = |value: u32| alphabet.get((value & 63) as usize).copied().map_or('=', char::from);
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        out.extend([digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Secret<'_> = Secret { name: "API_KEY", value: "sk-live+9/fQ2!zz" };

    fn form(args: &str) -> Option<Form> {
        leaks(args, &[KEY]).first().map(|leak| leak.form)
    }

    #[test]
    fn a_secret_is_found_in_every_notation() {
        assert_eq!(form("{\"u\":\"x?d=sk-live+9/fQ2!zz\"}"), Some(Form::Plain));
        assert_eq!(
            form("{\"u\":\"sk-live+9\\/fQ2!\\u007az\"}"),
            Some(Form::Plain),
            "escapes of JSON are undone"
        );
        assert_eq!(form("{\"u\":\"x?d=${API_KEY}\"}"), Some(Form::Named));
        assert_eq!(form("{\"u\":\"x?d=sk-live%2B9%2FfQ2%21zz\"}"), Some(Form::Percent));
        assert_eq!(form("{\"u\":\"736B2d6c6976652b392f665132217a7a\"}"), Some(Form::Hex));
        assert_eq!(form("{\"u\":\"zz!2Qf/9+evil-ks\"}"), Some(Form::Reversed));
        assert_eq!(form("{\"u\":\"sk-live\\n+9/fQ2\\n!zz\"}"), Some(Form::Disguised));
        for before in ["", "a", "ab", "abc"] {
            for alphabet in [BASE64, BASE64_URL] {
                let sent = base64(format!("{before}{} and more", KEY.value).as_bytes(), alphabet);
                assert_eq!(form(&format!("{{\"u\":\"{sent}\"}}")), Some(Form::Base64), "{before:?}");
            }
        }
    }

    #[test]
    fn arguments_without_the_secret_are_no_leak() {
        assert_eq!(form("{\"u\":\"https://api.example.com/?d=sk-live\",\"n\":[1,null,true]}"), None);
        assert_eq!(leaks("{\"u\":\"short\"}", &[Secret { name: "S", value: "short" }]), []);
    }

    #[test]
    fn the_model_does_not_choose_keys_of_the_runtime() {
        assert_eq!(chosen_keys("{\"amount\":1,\"idempotency_key\":\"mine\"}"), ["/idempotency_key"]);
        assert_eq!(
            chosen_keys("{\"headers\":[{\"Idempotency-Key\":\"mine\"}]}"),
            ["/headers/0/Idempotency-Key"]
        );
        assert!(chosen_keys("{\"key\":\"a\"}").is_empty() && chosen_keys("not json").is_empty());
    }

    #[test]
    fn a_secret_does_not_show_itself() {
        assert!(!format!("{KEY:?}").contains("sk-live"));
    }
}
