//! Sums that a text does in plain sight.

use super::{Cause, RootCause, Rule};
use crate::defect::cause::text::number;

/// Digits behind the point that are kept.
const SCALE: i128 = 1_000_000;

/// The first `a + b = c` that is wrong.
pub(super) fn judge(text: &str) -> Option<RootCause> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    tokens.windows(5).find_map(|window| {
        let [left, operator, right, equals, result] = window else { return None };
        let (left, right, result) = (scaled(left)?, scaled(right)?, scaled(result)?);
        if *equals != "=" {
            return None;
        }
        let right_result = match *operator {
            "+" => left.checked_add(right)?,
            "-" | "−" => left.checked_sub(right)?,
            "*" | "×" => left.checked_mul(right)? / SCALE,
            "/" | "÷" if right != 0 => left.checked_mul(SCALE)? / right,
            _ => return None,
        };
        // A rounded result is not a wrong one.
        let near = (right_result - result).abs() <= SCALE / 100;
        (!near).then(|| RootCause::sure(Cause::LogicError, Rule::WrongArithmetic, window.join(" ")))
    })
}

fn scaled(token: &str) -> Option<i128> {
    let text = number(token)?;
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let whole: i128 = whole.parse().ok()?;
    let digits: String = part.chars().chain("000000".chars()).take(6).collect();
    whole.checked_mul(SCALE)?.checked_add(digits.parse().ok()?)
}
