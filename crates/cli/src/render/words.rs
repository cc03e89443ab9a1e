//! Amounts as people read them.

use bowline_core::id::Millis;

/// `12,345`
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 step`, `12 steps`
pub(crate) fn several(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {one}s", count(number)) }
}

/// Micro-dollars as `$1.25`, with as many decimals as it takes.
pub(crate) fn money(micros: u64) -> String {
    let (dollars, rest) = (micros / 1_000_000, micros % 1_000_000);
    let decimals = format!("{rest:06}");
    let kept = decimals.trim_end_matches('0').len().max(2);
    format!("${}.{}", count(dollars), decimals.get(..kept).unwrap_or(&decimals))
}

/// `850 ms`, `12.3 s`, `4 min 5 s`, `3 h 2 min`, `5 d 1 h`
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{seconds}.{} s", ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// `now`, `5 min`, `3 h`, `12 d`
pub(crate) fn age(ms: u64) -> String {
    match ms / 60_000 {
        0 => "now".into(),
        minutes @ 1..60 => format!("{minutes} min"),
        minutes @ 60..1440 => format!("{} h", minutes / 60),
        minutes => format!("{} d", minutes / 1440),
    }
}

/// `2026-03-01 12:30:05 UTC`
pub(crate) fn utc(at: Millis) -> String {
    let (days, rest) = (at.0 / 86_400_000, at.0 % 86_400_000 / 1000);
    // Counted from 1 March of year 0, so that a leap day ends its year.
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era.saturating_mul(400) + year_of_era + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_well_at_every_size() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0, 1, 2_500_000, 1_234_000_001].map(money),
            ["$0.00", "$0.000001", "$2.50", "$1,234.000001"]
        );
        assert_eq!(
            [12, 1234, 61_000, 7_260_000, 90_000_000].map(duration),
            ["12 ms", "1.2 s", "1 min 1 s", "2 h 1 min", "1 d 1 h"]
        );
        assert_eq!([0, 60_000, 3_600_000, 172_800_000].map(age), ["now", "1 min", "1 h", "2 d"]);
        assert_eq!((several(1, "step"), several(2, "step")), ("1 step".into(), "2 steps".into()));
    }

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(utc(Millis(0)), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(Millis(951_782_400_000)), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(Millis(1_772_366_405_123)), "2026-03-01 12:00:05 UTC");
    }
}
