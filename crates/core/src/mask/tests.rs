//! Secrets are found however they are written, and nothing else is.

mod written;

use proptest::prelude::*;
use written::{KEY, WRITTEN};

use super::*;

const VALUE: &str = "s3cr3t/\"value\"+x";

fn mask() -> Mask {
    Mask::new([("TOKEN", VALUE), ("PIN", "1234")])
}

#[test]
fn a_secret_is_replaced_in_every_notation_it_turns_up_in_by_accident() {
    for written in [
        VALUE.to_owned(),
        r#"{"a":"s3cr3t/\"value\"+x"}"#.to_owned(),
        "q=s3cr3t%2F%22value%22%2Bx&b=1".to_owned(),
        "7333637233742f2276616c7565222b78".to_owned(),
        "czNjcjN0LyJ2YWx1ZSIreA==".to_owned(),
    ] {
        let masked = mask().hide(format!("before {written} after"));
        assert!(masked.text.contains("[secret TOKEN]"), "{written} stays in {}", masked.text);
        assert!(masked.text.starts_with("before ") && masked.text.ends_with(" after"));
        assert_eq!(masked.names, ["TOKEN"]);
    }
}

#[test]
fn a_text_without_a_secret_stays_as_it_is_and_a_short_value_is_not_looked_for() {
    let text = "nothing here but 1234".to_owned();
    assert_eq!(mask().hide(text.clone()), Masked { text, names: Vec::new() });
    assert!(Mask::new([("PIN", "1234")]).is_empty());
}

#[test]
fn bytes_that_are_no_text_are_looked_at_too() {
    let mut bytes = b"\xff\xfe ".to_vec();
    assert_eq!(mask().hide_bytes(bytes.clone()), bytes);
    bytes.extend_from_slice(VALUE.as_bytes());
    let hidden = mask().hide_bytes(bytes);
    assert!(String::from_utf8_lossy(&hidden).contains("[secret TOKEN]"));
    assert!(!String::from_utf8_lossy(&hidden).contains("s3cr3t"));
}

#[test]
fn a_secret_within_another_is_part_of_the_longer_one() {
    let mask = Mask::new([("SHORT", "abcdefgh"), ("LONG", "abcdefghijkl")]);
    assert_eq!(mask.hide("x abcdefghijkl y abcdefgh".into()).text, "x [secret LONG] y [secret SHORT]");
}

#[test]
fn a_secret_of_many_lines_is_hidden_line_by_line() {
    let mask = Mask::new([("KEY", "-----BEGIN-----\nabcdefghijkl\n-----END-------\n")]);
    assert_eq!(mask.hide("3: abcdefghijkl".into()).text, "3: [secret KEY]");
}

#[test]
fn nobody_sees_a_value_by_printing_a_mask() {
    assert!(!format!("{:?}", mask()).contains("s3cr3t"));
}

fn keyed() -> Mask {
    Mask::new([("KEY", KEY)])
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(size).map(|part| part.iter().collect()).collect()
}

fn streamed(mask: &Mask, text: &str, size: usize) -> String {
    let mut stream = MaskedStream::new(mask);
    let shown: String = pieces(text, size).iter().map(|piece| stream.piece(piece)).collect();
    shown + &stream.rest()
}

#[test]
fn a_secret_is_hidden_in_every_notation_that_programs_write() {
    for (text, parts) in WRITTEN {
        let masked = keyed().hide((*text).to_owned()).text;
        assert!(masked.contains("[secret KEY]"), "not found in {text:?}");
        for part in *parts {
            assert!(
                text.contains(part) && !masked.contains(part),
                "{part:?} is left of {text:?}: {masked:?}"
            );
        }
        let bytes = keyed().hide_bytes([b"\xff\xfe\n", text.as_bytes()].concat());
        assert_eq!(&bytes[3..], masked.as_bytes(), "among bytes that are no text");
    }
}

#[test]
fn a_secret_in_any_notation_is_never_shown_however_a_stream_is_cut() {
    for (text, parts) in WRITTEN {
        for size in (1..24).chain([40, 64, 100]) {
            let shown = streamed(&keyed(), text, size);
            let left = parts.iter().find(|part| shown.contains(**part));
            assert!(shown.contains("[secret KEY]"), "{text:?} in pieces of {size}: {shown:?}");
            assert_eq!(left, None, "{text:?} in pieces of {size}: {shown:?}");
        }
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Digits of so many bits, without padding.
fn digits(bytes: &[u8], alphabet: &[u8]) -> String {
    let bits = alphabet.len().ilog2() as usize;
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let digit = |index: usize| (0..bits).fold(0, |digit, at| digit << 1 | bit(index * bits + at));
    (0..(bytes.len() * 8).div_ceil(bits))
        .map(|index| char::from(alphabet[usize::from(digit(index))]))
        .collect()
}

fn wrapped(text: &str, width: usize, end: &str) -> String {
    pieces(text, width).join(end)
}

#[test]
fn base64_and_base32_are_found_at_every_offset_length_and_wrapping_to_the_last_digit() {
    for len in 8..=20 {
        let value = &KEY[..len];
        let mask = Mask::new([("KEY", value)]);
        for (before, alphabet) in (0..5).flat_map(|n| [(n, &BASE64[..]), (n, &URL[..]), (n, &BASE32[..])]) {
            for after in ["", "\n", " and more"] {
                let text = digits(format!("{}{value}{after}", &"abcde"[..before]).as_bytes(), alphabet);
                let clear = digits("abcde".as_bytes(), alphabet);
                for (width, end) in [(4, "\n"), (7, "\r\n"), (64, "\n"), (3, "\\n"), (5, " "), (6, "\n> ")] {
                    let masked = mask.hide(wrapped(&text, width, end)).text;
                    let rest = masked.replace("[secret KEY]", "").replace(end, "");
                    assert!(masked.contains("[secret KEY]"), "{text} of {value} at {before}: {masked}");
                    let shown: String = rest.chars().filter(char::is_ascii_alphanumeric).collect();
                    let most = clear.len() + digits(after.as_bytes(), alphabet).len();
                    assert!(shown.len() <= most + 4, "{text} of {value} leaves {rest}");
                }
                if after.is_empty() && before == 0 {
                    assert_eq!(mask.hide(format!("{text}==")).text, "[secret KEY]");
                }
            }
        }
    }
}

#[test]
fn base64_is_found_though_json_or_a_url_escapes_it() {
    let text = digits(format!("?{KEY}>>??").as_bytes(), BASE64);
    for text in [text.replace('/', "\\/"), text.replace('+', "%2B").replace('/', "%2f"), format!("{text}=")] {
        assert!(keyed().hide(text.clone()).text.contains("[secret KEY]"), "{text}");
    }
    let wide: Vec<u8> = KEY.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(keyed().hide(digits(&wide, BASE64)).text, "[secret KEY]");
}

#[test]
fn ordinary_text_is_left_alone_by_short_and_simple_secrets() {
    let table: String = (0..400).map(|n| format!("{} {} {}\n", n % 7, n, n * 31)).collect();
    for (value, text) in [
        ("12345678", "1 2 3 4 5 6 7 8"),
        ("password1", "the pass-word, 1st"),
        ("--------------", "| - | - |\n- - - - - - - - - - - - - - - -"),
        ("00000000", table.as_str()),
        ("1234567890123", table.as_str()),
    ] {
        let masked = Mask::new([("S", value)]).hide(text.to_owned());
        assert_eq!(masked.text, text, "{value}");
    }
}

#[test]
fn a_long_secret_is_found_in_parts_and_costs_no_more() {
    let key: String =
        (0..4000_u32).map(|n| char::from(b'!' + (n.wrapping_mul(2_654_435_761) >> 20) as u8 % 90)).collect();
    let mask = Mask::new([("LONG", key.as_str())]);
    assert_eq!(mask.hide(format!("a {key} b")).text, "a [secret LONG] b");
    assert!(mask.hide(format!("a {} b", &key[64..200])).text.contains("[secret LONG]"));
    let same = "a".repeat(60_000);
    let mask = Mask::new([("SAME", same.as_str())]);
    assert_eq!(mask.hide(same.clone()).text, "[secret SAME]");
}

#[test]
fn what_a_stream_keeps_back_is_bounded() {
    let mask = keyed();
    let mut stream = MaskedStream::new(&mask);
    let mut shown = stream.piece("k7Qw").len();
    for _ in 0..200_000 {
        shown += stream.piece("\n").len();
    }
    assert!(shown > 100_000, "{shown}");
}

proptest! {
    #[test]
    fn a_text_without_a_secret_stays_as_it_is(text in "\\PC{0,200}|[ -~\n]{0,400}|[0-9a-f :\n]{0,300}") {
        prop_assert_eq!(keyed().hide(text.clone()).text, text);
    }

    #[test]
    fn pieces_of_any_size_show_what_one_piece_shows(
        before in "[ -~\n]{0,40}", after in "[ -~\n]{0,40}", size in 1_usize..30, row in 0..WRITTEN.len(),
    ) {
        let (text, parts) = WRITTEN[row];
        let text = format!("{before}\n{text}\n{after}");
        let (whole, shown) = (keyed().hide(text.clone()).text, streamed(&keyed(), &text, size));
        for part in parts {
            prop_assert!(whole.contains(part) || !shown.contains(part), "{:?}: {:?}", part, shown);
        }
    }
}
