//! What is refused before a parser sees it, and how the rest is cut.

use super::*;

fn cut(raw: &str) -> Result<(&str, &str, &str), Malformed> {
    let written = read(raw)?;
    let Authority { host, port } = written.authority()?;
    Ok((written.scheme, host, port))
}

#[test]
fn a_plain_url_is_cut_into_scheme_host_and_port() {
    assert_eq!(cut("http://a.example"), Ok(("http", "a.example", "")));
    assert_eq!(cut("HTTPS://A.example:8443/x?y#z"), Ok(("HTTPS", "A.example", "8443")));
    assert_eq!(cut("https://a.example?x=@b"), Ok(("https", "a.example", "")));
    assert_eq!(cut("https://a.example#@b:c"), Ok(("https", "a.example", "")));
    assert_eq!(cut("https://a.example:/"), Ok(("https", "a.example", "")));
    assert_eq!(cut("http://[::1]:80/"), Ok(("http", "[::1]", "80")));
    assert_eq!(cut("http://[::1]/"), Ok(("http", "[::1]", "")));
    assert_eq!(cut("http://a.example:0/"), Ok(("http", "a.example", "0")));
    assert_eq!(cut("http://0x.example/"), Ok(("http", "0x.example", "")));
}

#[test]
fn what_parsers_read_differently_is_refused() {
    for (raw, why) in [
        ("http://a.example/ x", Malformed::Character),
        ("http://a.example\\@b.example/", Malformed::Character),
        ("http://a.example/\\x", Malformed::Character),
        ("ht\ttp://a.example/", Malformed::Character),
        ("http://a.example/\r\nX: y", Malformed::Character),
        (" http://a.example/", Malformed::Character),
        ("http://a.example/\u{85}", Malformed::Character),
        ("http://a.example/\u{2028}", Malformed::Character),
        ("http://a.example/\u{7f}", Malformed::Character),
        ("http://a\u{3000}b.example/", Malformed::Character),
        ("", Malformed::NoScheme),
        ("a.example", Malformed::NoScheme),
        ("//a.example/", Malformed::NoScheme),
        ("/path", Malformed::NoScheme),
        ("1http://a.example", Malformed::NoScheme),
        ("ht_tp://a.example", Malformed::NoScheme),
        ("://a.example", Malformed::NoScheme),
        ("http:a.example", Malformed::Slashes),
        ("http:/a.example", Malformed::Slashes),
        ("http:///a.example", Malformed::Slashes),
        ("http:////a.example", Malformed::Slashes),
        ("http://", Malformed::NoHost),
        ("http://?q", Malformed::NoHost),
        ("http://#f", Malformed::NoHost),
        ("http://:80/", Malformed::NoHost),
        ("http://@/", Malformed::UserInfo),
        ("http://@a.example/", Malformed::UserInfo),
        ("http://u:p@a.example/", Malformed::UserInfo),
        ("http://a.example@b.example@c.example/", Malformed::UserInfo),
        ("http://a.example:80:443/", Malformed::Port),
        ("http://a.example:-1/", Malformed::Port),
        ("http://a.example:+80/", Malformed::Port),
        ("http://a.example:0x50/", Malformed::Port),
        ("http://a.example:080/", Malformed::Port),
        ("http://a.example:００/", Malformed::Port),
        ("http://a.example:100000/", Malformed::Port),
        ("http://[::1]80/", Malformed::Port),
        ("http://[::1]x:80/", Malformed::Port),
        ("http://0x/", Malformed::DisguisedAddress),
        ("http://127.0.0X/", Malformed::DisguisedAddress),
        ("http://a\u{ad}b.example/", Malformed::AmbiguousLetter),
        ("http://a\u{200b}b.example/", Malformed::AmbiguousLetter),
        ("http://a\u{202e}b.example/", Malformed::AmbiguousLetter),
        ("http://a\u{fe0f}b.example/", Malformed::AmbiguousLetter),
        ("http://a\u{e0041}b.example/", Malformed::AmbiguousLetter),
        ("http://straße.example/", Malformed::AmbiguousLetter),
        ("http://βόλος.example/", Malformed::AmbiguousLetter),
    ] {
        assert_eq!(cut(raw), Err(why), "{raw:?}");
    }
    assert!(matches!(cut("http://[::1/"), Err(Malformed::Parser(_))));
}

#[test]
fn a_url_has_a_longest_length() {
    assert_eq!(URL_MAX, 8192);
    let head = "http://a.example/";
    let fits = format!("{head}{}", "a".repeat(URL_MAX - head.len()));
    assert!(cut(&fits).is_ok());
    assert_eq!(cut(&format!("{fits}a")), Err(Malformed::TooLong));
}

#[test]
fn letters_without_a_shape_are_known_at_the_edges_of_their_ranges() {
    for c in [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{1160}',
        '\u{17b4}',
        '\u{17b5}',
        '\u{180b}',
        '\u{180f}',
        '\u{200b}',
        '\u{200f}',
        '\u{202a}',
        '\u{202e}',
        '\u{2060}',
        '\u{206f}',
        '\u{3164}',
        '\u{fe00}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff0}',
        '\u{fffb}',
        '\u{1bca0}',
        '\u{1d173}',
        '\u{e0000}',
        '\u{e0fff}',
    ] {
        assert!(is_invisible(c), "{:x}", u32::from(c));
    }
    for c in ['a', 'é', '漢', '\u{ac}', '\u{ae}', '\u{2010}', '\u{2070}', '\u{fe10}', '\u{fffc}', '\u{1d17b}']
    {
        assert!(!is_invisible(c), "{:x}", u32::from(c));
    }
}
