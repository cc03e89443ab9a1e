//! Decimal numbers as they are written: exact, never rounded on the way in.
//!
//! Owns the number grammar of JSON and the number format of RFC 8785. A double
//! is made only to find the shortest digits of a number that is no integer;
//! integers are never rounded.

use std::borrow::Cow;

/// From this many digits before the point on, ECMAScript writes an exponent.
const POSITIONAL_MAX: i64 = 21;

/// An exponent beyond this is as good as infinite; sums of two still fit `i64`.
const EXPONENT_MAX: i64 = i64::MAX / 4;

/// Digits behind the first that write any double without rounding.
const EXACT: usize = 766;

/// A number as `digits × 10^exponent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// Whether a minus was written; zero is never negative.
    pub(crate) negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    exponent: i64,
}

/// Why a decimal is no whole number of the unit asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotWhole {
    /// Something is left behind the point.
    Fraction,
    /// It does not fit 64 bits.
    TooLarge,
}

impl Decimal {
    /// Reads the number grammar of JSON, and nothing else.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        if !is_whole(whole) {
            return None;
        }
        let written = [whole, fraction].concat();
        let kept = written.trim_end_matches('0');
        let dropped = i64::try_from(written.len() - kept.len()).unwrap_or(EXPONENT_MAX);
        let behind = i64::try_from(fraction.len()).unwrap_or(EXPONENT_MAX);
        let digits = kept.trim_start_matches('0').to_owned();
        let is_zero = digits.is_empty();
        let exponent = if is_zero { 0 } else { exponent - behind + dropped };
        Some(Self { negative: negative && !is_zero, digits, exponent })
    }

    /// True for zero, however it was written.
    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// The magnitude times `10^places`, if that is a whole number.
    pub(crate) fn magnitude(&self, places: u8) -> Result<u64, NotWhole> {
        if self.is_zero() {
            return Ok(0);
        }
        let zeros = self.exponent + i64::from(places);
        let zeros = u32::try_from(zeros)
            .map_err(|_| if zeros < 0 { NotWhole::Fraction } else { NotWhole::TooLarge })?;
        let digits: u64 = self.digits.parse().map_err(|_| NotWhole::TooLarge)?;
        let scale = 10_u64.checked_pow(zeros).ok_or(NotWhole::TooLarge)?;
        digits.checked_mul(scale).ok_or(NotWhole::TooLarge)
    }

    fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// How many digits stand before the point; below one for small fractions.
    fn point(&self) -> i64 {
        i64::try_from(self.digits.len()).unwrap_or(EXPONENT_MAX).saturating_add(self.exponent)
    }

    fn to_f64(&self) -> f64 {
        // Through the reduced form: the standard library stops counting exponent
        // digits early, which would misread `0.000…1e700001`.
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::INFINITY)
    }

    /// Every digit, no exponent. For integers.
    fn positional(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}{}", self.digits, zeros(self.exponent))
    }

    /// `Number.prototype.toString` of ECMAScript, given the shortest digits.
    fn es6(&self) -> String {
        let point = self.point();
        if self.is_integer() && point <= POSITIONAL_MAX {
            return self.positional();
        }
        let sign = if self.negative { "-" } else { "" };
        if (1..=POSITIONAL_MAX).contains(&point) {
            let (whole, fraction) = self.split(point);
            return format!("{sign}{whole}.{fraction}");
        }
        if (-5..=0).contains(&point) {
            return format!("{sign}0.{}{}", zeros(-point), self.digits);
        }
        let (first, rest) = self.split(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
    }

    fn split(&self, at: i64) -> (&str, &str) {
        usize::try_from(at).ok().and_then(|at| self.digits.split_at_checked(at)).unwrap_or((&self.digits, ""))
    }
}

/// The RFC 8785 form of a JSON number; `None` if it is none.
///
/// Where RFC 8785 would round an integer to a double, all digits are kept. What
/// is too large for a double keeps its text.
pub(super) fn canonical(token: &str) -> Option<Cow<'_, str>> {
    if is_plain_integer(token) {
        return Some(Cow::Borrowed(if token == "-0" { "0" } else { token }));
    }
    let exact = Decimal::read(token)?;
    if exact.is_zero() || (exact.is_integer() && exact.point() <= POSITIONAL_MAX) {
        return Some(Cow::Owned(if exact.is_zero() { "0".into() } else { exact.positional() }));
    }
    let double = exact.to_f64();
    if double.is_infinite() {
        return Some(Cow::Borrowed(token));
    }
    let shortest = shortest(double)?;
    Some(Cow::Owned(if shortest.is_zero() {
        "0".into()
    } else if exact.is_integer() && shortest != exact {
        exact.positional()
    } else {
        shortest.es6()
    }))
}

/// The fewest digits that read back as this double; of two equally near, the even
/// one, where the standard library takes the larger.
fn shortest(double: f64) -> Option<Decimal> {
    let found = Decimal::read(&format!("{double:e}"))?;
    // Two texts are equally near only if the double has exactly one digit more,
    // which takes all the precision there is: fewer digits are never a tie.
    let may_tie = found.digits.len() >= 15 && found.digits.ends_with(['1', '3', '5', '7', '9']);
    if !may_tie {
        return Some(found);
    }
    let mut even = Decimal::read(&format!("{double:.EXACT$e}"))?;
    let is_tie = even.digits.len() == found.digits.len() + 1 && even.digits.ends_with('5');
    even.digits.pop();
    even.exponent += 1;
    let reads_back = even.to_f64().to_bits() == double.to_bits();
    Some(if is_tie && even.digits.ends_with(['2', '4', '6', '8']) && reads_back { even } else { found })
}

/// An integer that is short enough to be in canonical form already.
fn is_plain_integer(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    digits.len() <= 21 && is_whole(digits)
}

fn is_whole(text: &str) -> bool {
    is_digits(text) && (text == "0" || !text.starts_with('0'))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !is_digits(digits) {
        return None;
    }
    let size = digits.parse::<i64>().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if negative { -size } else { size })
}

fn zeros(count: i64) -> String {
    "0".repeat(usize::try_from(count).unwrap_or_default())
}
