//! JSON compared to the digit, without regard to white space and the order of keys.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::Value;
use serde_json::value::RawValue;

/// Digits that a floating number holds for certain.
const FLOAT_DIGITS: usize = 15;

/// Whether the tools ran with these arguments, the calls of one reply in any order; with
/// all of them, or with the first so many.
pub(crate) fn same(want: &[Box<RawValue>], ran: &[(u32, Value)], all: bool) -> Result<()> {
    ensure!(ran.len() <= want.len() && (!all || ran.len() == want.len()), "{} runs", ran.len());
    let mut at = 0;
    for reply in ran.chunk_by(|(step, _), (next, _)| step == next) {
        let mut ran: Vec<String> = reply.iter().map(|(_, args)| canonical(&args.to_string())).collect();
        let here = want.get(at..).unwrap_or_default().iter();
        let mut want: Vec<String> = here.take(reply.len()).map(|args| canonical(args.get())).collect();
        ran.sort();
        want.sort();
        ensure!(ran == want, "it ran with {ran:?}");
        at += reply.len();
    }
    Ok(())
}

/// One text for all that is the same.
fn canonical(json: &str) -> String {
    let json = json.trim();
    if let Ok(members) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(json) {
        let members = members.iter().map(|(key, value)| format!("{key:?}:{}", canonical(value.get())));
        return format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    }
    if let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(json) {
        let items = items.iter().map(|item| canonical(item.get()));
        return format!("[{}]", items.collect::<Vec<_>>().join(","));
    }
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return format!("{text:?}");
    }
    let digits = json.bytes().filter(u8::is_ascii_digit).count();
    let is_float = json.contains(['.', 'e', 'E']) && digits <= FLOAT_DIGITS;
    match json.parse::<f64>() {
        Ok(number) if is_float => format!("{number}"),
        _ => json.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(want: &[&str], ran: &[(u32, &str)], all: bool) -> bool {
        let want: Vec<Box<RawValue>> = want.iter().map(|args| serde_json::from_str(args).unwrap()).collect();
        let ran: Vec<(u32, Value)> =
            ran.iter().map(|(step, args)| (*step, serde_json::from_str(args).unwrap())).collect();
        same(&want, &ran, all).is_ok()
    }

    #[test]
    fn digits_and_replies_count_and_white_space_and_order_do_not() {
        assert!(holds(&[r#"{"a": 1, "b": [1, "x"]}"#], &[(1, r#"{"b":[1,"x"],"a":1}"#)], true));
        assert!(!holds(&["{\"n\": 9007199254740993}"], &[(1, "{\"n\": 9007199254740992}")], true));
        assert!(!holds(&["{\"n\": 18446744073709551617}"], &[(1, "{\"n\": 1.8446744073709552e19}")], true));
        assert!(holds(&["[1]", "[2]", "[3]"], &[(1, "[2]"), (1, "[1]"), (2, "[3]")], true));
        assert!(!holds(&["[1]", "[2]"], &[(1, "[2]"), (2, "[1]")], true));
        assert!(!holds(&["[1]", "[2]"], &[(1, "[1]")], true));
        assert!(holds(&["[1]", "[2]"], &[(1, "[1]")], false));
        assert!(!holds(&["[1]"], &[(1, "[1]"), (2, "[1]")], false));
    }
}
