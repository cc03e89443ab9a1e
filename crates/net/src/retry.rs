//! How long a server asks us to wait, from the head of its answer.
//!
//! No clock is read: a date is held against the date of the same answer.

use http::HeaderMap;

/// Milliseconds, if the answer names a time.
#[must_use]
pub fn after_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|text| millis(text, 1.0)) {
        return Some(wait);
    }
    let asked = text("retry-after")?;
    millis(asked, 1000.0).or_else(|| {
        let until = httpdate::parse_http_date(asked).ok()?;
        let now = httpdate::parse_http_date(text("date")?).ok()?;
        let wait = until.duration_since(now).unwrap_or_default();
        u64::try_from(wait.as_millis()).ok()
    })
}

/// A number with a unit, as in `34s` or `1.5s`.
#[must_use]
pub fn duration_ms(text: &str) -> Option<u64> {
    millis(text.trim().strip_suffix('s')?, 1000.0)
}

fn millis(text: &str, scale: f64) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    if number.is_nan() || number < 0.0 {
        return None;
    }
    // Longer than anybody waits is as good as any such time.
    format!("{:.0}", (number * scale).ceil()).parse().ok().or(Some(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pairs: &[(&'static str, &'static str)]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        after_ms(&headers)
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        assert_eq!(after(&[("retry-after", "20")]), Some(20_000));
        assert_eq!(after(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(after(&[("retry-after", "20"), ("retry-after-ms", "1250")]), Some(1250));
        assert_eq!(after(&[("retry-after", "31536000")]), Some(31_536_000_000));
        let date = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(after(&[date, ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")]), Some(30_000));
        assert_eq!(after(&[date, ("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]), Some(0));
        assert_eq!(duration_ms("34s"), Some(34_000));
    }

    #[test]
    fn what_is_no_time_asks_for_none() {
        for odd in ["soon", "-5", "NaN", "", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(after(&[("retry-after", odd)]), None, "{odd}");
        }
        assert_eq!(after(&[("retry-after", "1e99")]), Some(u64::MAX));
    }
}
