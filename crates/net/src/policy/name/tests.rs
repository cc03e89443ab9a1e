//! Names: what is one, what is local, what deceives.

use super::*;

fn ascii(shown: &str) -> String {
    match url::Host::parse(shown).unwrap() {
        url::Host::Domain(ascii) => ascii,
        other => panic!("{other} is an address"),
    }
}

fn parse(shown: &str) -> Result<Name, NameFault> {
    Name::parse(&ascii(shown))
}

#[test]
fn one_dot_at_the_end_is_the_same_name_and_two_are_none() {
    assert_eq!(Name::parse("a.example."), Name::parse("a.example"));
    assert_eq!(Name::parse("a.example").unwrap().absolute(), "a.example.");
    for text in ["a.example..", ".", "", ".a.example", "a..example"] {
        assert_eq!(Name::parse(text), Err(NameFault::EmptyPart), "{text:?}");
    }
}

#[test]
fn lengths_are_those_of_dns() {
    let label = "a".repeat(63);
    let name = [label.as_str(); 4].join(".");
    let longest = &name[..253];
    assert!(Name::parse(longest).is_ok());
    assert!(Name::parse(&format!("{longest}.")).is_ok());
    assert_eq!(Name::parse(&name[..254]), Err(NameFault::TooLong));
    assert!(Name::parse(&format!("{label}.example")).is_ok());
    assert_eq!(Name::parse(&format!("{label}a.example")), Err(NameFault::TooLong));
}

#[test]
fn characters_are_those_of_dns() {
    for text in ["a_b.example", "_dmarc.example", "r3---x.example", "0x.example", "a1.example"] {
        assert!(Name::parse(text).is_ok(), "{text}");
    }
    for text in [
        "a!.example",
        "a b.example",
        "a,b.example",
        "*.example",
        "-a.example",
        "a-.example",
        "A.example",
        "é.example",
    ] {
        assert_eq!(Name::parse(text), Err(NameFault::Character), "{text}");
    }
}

#[test]
fn letters_of_one_language_are_fine() {
    for shown in [
        "bücher.example",
        "пример.example",
        "例え.example",
        "abc漢字かな.example",
        "한국어a.example",
        "ㄅ中a.example",
        "日本語.jp",
    ] {
        assert!(parse(shown).is_ok(), "{shown}");
    }
}

#[test]
fn letters_that_are_not_written_together_are_refused() {
    for shown in
        ["аpi.example", "pаypal.example", "gооgle.example", "αpi.example", "かα.example", "ㄅ한.example"]
    {
        assert_eq!(parse(shown), Err(NameFault::MixedScripts), "{shown}");
    }
    // Another script in another part is fine: the zone's language is not the host's.
    assert!(parse("пример.example.com").is_ok());
}

#[test]
fn a_part_that_is_no_idna_is_refused() {
    for text in ["xn--a.example", "xn---.example", "xn--a-ecp\u{0}.example", "xn--zca.xn--.example"] {
        assert!(Name::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn local_names_are_single_words_and_local_zones() {
    for text in [
        "localhost",
        "db.localhost",
        "printer",
        "nas.local",
        "metadata.google.internal",
        "a.intranet",
        "router.lan",
        "x.home.arpa",
        "home.arpa",
        "hidden.onion",
        "a.localdomain",
    ] {
        assert!(Name::parse(text).unwrap().is_local(), "{text}");
    }
    for text in
        ["local.example", "mylocalhost.example", "notlocal.com", "xlocal.com", "arpa.example", "a.arpa"]
    {
        assert!(!Name::parse(text).unwrap().is_local(), "{text}");
    }
    assert!(!Name::parse("a.notlan").unwrap().is_local());
    let this = |text: &str| Name::parse(text).unwrap().is_this_machine();
    assert!(this("localhost") && this("a.localhost") && !this("alocalhost") && !this("nas.local"));
}

#[test]
fn the_zones_above_a_name_come_nearest_first() {
    let name = Name::parse("a.b.example.com").unwrap();
    assert_eq!(name.parents().collect::<Vec<_>>(), ["b.example.com", "example.com", "com"]);
    assert_eq!(Name::parse("com").unwrap().parents().count(), 0);
}
