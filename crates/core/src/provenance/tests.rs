//! Canonical JSON against RFC 8785, and the names of contents.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::*;

fn check(source: &str, expected: &str) {
    assert_eq!(canonical(source).as_deref(), Ok(expected), "{source}");
}

fn flaw(source: &str) -> Flaw {
    canonical(source).expect_err(source).flaw
}

#[test]
fn doubles_are_written_as_rfc_8785_appendix_b_lists_them() {
    let rows: [(u64, &str); 24] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, expected) in rows {
        let double = f64::from_bits(bits);
        check(&format!("{double:e}"), expected);
        assert_eq!(canonical_value(&json!(double)), expected);
    }
}

#[test]
fn the_whole_example_of_rfc_8785_comes_out_byte_for_byte() {
    check(
        r#"{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}"#,
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
         \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
    );
}

#[test]
fn keys_are_sorted_by_utf_16_code_units_as_rfc_8785_shows() {
    let source = r#"{
  "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
}"#;
    let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
        \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
        \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    check(source, expected);
    // Sorted by bytes, the last two would change places: here the value must not rely on its map.
    assert_eq!(canonical_value(&serde_json::from_str(source).unwrap()), expected);
}

#[test]
fn one_number_has_one_text() {
    for source in ["1", "1.0", "1e0", "10e-1", "0.1E+1", "100000e-5", "1.000000000000000000000000000000"] {
        check(source, "1");
    }
    for source in
        ["0", "-0", "0.0", "-0.0e5", "0e999999999999999999999", "1e-400", "-1e-99999999999999999999"]
    {
        check(source, "0");
    }
    check("1000000000000000000000000000000", "1e+30");
    check("100000000000000000000", "100000000000000000000");
    check("-1.50e1", "-15");
    check("0.00001", "0.00001");
    check("0.0000001", "1e-7");
}

#[test]
fn an_integer_a_double_cannot_hold_keeps_all_its_digits() {
    check("9007199254740993", "9007199254740993");
    check("-9007199254740993", "-9007199254740993");
    check("9007199254740993.0", "9007199254740993");
    check("900719925474099300e-2", "9007199254740993");
    check("18446744073709551615", "18446744073709551615");
    check("123456789012345678901234567890", "123456789012345678901234567890");
    check("1.2345678901234567890123456789e29", "123456789012345678901234567890");
    assert_eq!(canonical_value(&json!(u64::MAX)), "18446744073709551615");
    assert_eq!(canonical_value(&json!(i64::MIN)), "-9223372036854775808");
}

#[test]
fn a_number_too_large_for_a_double_keeps_its_text() {
    let digits = "7".repeat(400);
    for source in ["1e400", "-1E+400", "1e99999999999999999999999999", &digits] {
        check(source, source);
    }
}

#[test]
fn an_exponent_of_many_digits_does_not_change_the_number() {
    let zeros = "0".repeat(700_000);
    check(&format!("0.{zeros}15e700001"), "1.5");
    check(&format!("15{zeros}e-700001"), "1.5");
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let at = |source: &str| canonical(source).expect_err(source).at;
    for source in ["", " ", "[", "{", "[1", "{\"a\"", "{\"a\":", "\"abc", "\"\\", "[1,"] {
        assert_eq!(flaw(source), Flaw::Ended, "{source}");
    }
    for source in ["01", "-", "+1", "1.", ".5", "1e", "1e+", "--1", "1-2", "0x10", "-a", "NaN", "Infinity"] {
        assert!(matches!(flaw(source), Flaw::Number | Flaw::Expected(_) | Flaw::Trailing), "{source}");
    }
    for source in
        ["tru", "nulls", "{a:1}", "{'a':1}", "[1,]", "{\"a\":1,}", "[1 2]", "\u{feff}1", "\u{a0}1", "}"]
    {
        assert!(matches!(flaw(source), Flaw::Expected(_) | Flaw::Trailing), "{source}");
    }
    assert_eq!(flaw("1 2"), Flaw::Trailing);
    assert_eq!(flaw("{} x"), Flaw::Trailing);
    assert_eq!(flaw("\"a\nb\""), Flaw::Control);
    for source in [r#""\x""#, r#""\u12""#, r#""\u12g4""#, r#""\u+123""#, r#""\uéé""#] {
        assert_eq!(flaw(source), Flaw::Escape, "{source}");
    }
    assert_eq!((at("[1, x]"), at("[\"é\\q\"]"), at("[1] x")), (4, 4, 4));
    assert_eq!(canonical("[1, x]").unwrap_err().to_string(), "a value expected at byte 4");
}

#[test]
fn half_a_surrogate_pair_is_refused() {
    for source in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\n""#, r#""\ud83d\ud83d""#] {
        assert_eq!(flaw(source), Flaw::LoneSurrogate, "{source}");
    }
    check(r#""\uD83D\uDE00""#, "\"😀\"");
}

#[test]
fn a_key_that_appears_twice_is_refused_however_it_is_written() {
    assert_eq!(flaw(r#"{"a":1,"b":2,"\u0061":3}"#), Flaw::Twice { key: "a".into() });
    assert_eq!(canonical(r#"{"a":1,"b":2,"a":3}"#).unwrap_err().at, 13);
    check(r#"{"a":{"a":1}}"#, r#"{"a":{"a":1}}"#);
}

#[test]
fn nesting_is_read_up_to_its_cap_and_no_further() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    check(&nested(NESTING_MAX), &nested(NESTING_MAX));
    assert_eq!(flaw(&nested(NESTING_MAX + 1)), Flaw::TooDeep);
    assert_eq!(flaw(&"[".repeat(1_000_000)), Flaw::TooDeep);
    assert_eq!(flaw(&"{\"a\":".repeat(1_000_000)), Flaw::TooDeep);
    let wide = format!("[{}]", vec!["[[]]"; 1000].join(","));
    check(&wide, &wide);
}

#[test]
fn every_flaw_says_what_to_do() {
    for source in
        ["", "x", "01", "\"\n\"", "\"\\q\"", "\"\\ud800\"", "{\"a\":1,\"a\":1}", "1 1", &"[".repeat(200)]
    {
        assert!(!canonical(source).unwrap_err().remedy().is_empty());
    }
}

#[test]
fn arguments_share_a_digest_exactly_when_they_mean_the_same() {
    assert_eq!(args_digest(r#"{"a":1,"b":[2.0]}"#), args_digest("{ \"b\" : [2], \"a\" : 1e0 }"));
    assert_ne!(args_digest("9007199254740993"), args_digest("9007199254740992"));
    assert_ne!(args_digest("{"), args_digest("{ "));
    // A text that is no JSON cannot pose as one that is.
    assert_eq!(args_digest("[1]"), Digest::of_parts(&[b"json", b"[1]"]));
    assert_eq!(args_digest("[1"), Digest::of_parts(&[b"text", b"[1"]));
}

#[test]
fn a_digest_reads_what_it_writes_and_nothing_else() {
    let digest = Digest::of(b"abc");
    let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_string(), text);
    assert_eq!(Digest::parse(text), Some(digest));
    assert_eq!(digest.short(), "ba7816bf8f01");
    assert_eq!(serde_json::from_value::<Digest>(json!(text)).unwrap(), digest);
    for bad in [
        text.to_uppercase(),
        text[1..].into(),
        format!("{text}0"),
        text.replacen('b', "+", 1),
        text.replacen("ba", "é", 1),
    ] {
        assert_eq!(Digest::parse(&bad), None, "{bad}");
        assert!(serde_json::from_value::<Digest>(json!(bad)).is_err());
    }
}

#[test]
fn parts_of_a_digest_cannot_be_shifted_against_each_other() {
    assert_ne!(Digest::of_parts(&[b"ab", b"c"]), Digest::of_parts(&[b"a", b"bc"]));
    assert_ne!(Digest::of_parts(&[b"ab"]), Digest::of_parts(&[b"ab", b""]));
}

/// Values whose numbers every reader reads alike.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_000..1_000_000_i32, 0..6_i32)
            .prop_map(|(digits, places)| json!(f64::from(digits) / 10_f64.powi(places))),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The value again: members in another order, white space between all tokens,
/// every character of a string escaped.
fn written_otherwise(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => format!(" {value}\n"),
        Value::Number(number) => format!("\t{number}\r"),
        Value::String(text) => escaped(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(written_otherwise).collect();
            format!(" [ {} ] ", items.join(" , "))
        }
        Value::Object(map) => {
            let members: Vec<_> = map
                .iter()
                .rev()
                .map(|(key, value)| format!("{} : {}", escaped(key), written_otherwise(value)))
                .collect();
            format!(" {{ {} }} ", members.join(" , "))
        }
    }
}

fn escaped(text: &str) -> String {
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{units}\"")
}

/// Integral doubles become integers: `1.0` and `1` are one number.
fn integral_doubles_as_integers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(double) if number.is_f64() && double.fract() == 0.0 => json!(double as i64),
            Some(_) | None => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(integral_doubles_as_integers).collect(),
        Value::Object(map) => Value::Object(
            map.into_iter().map(|(key, value)| (key, integral_doubles_as_integers(value))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

/// The same cases in every run: a red test stays red.
fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(8785), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn keys_are_in_the_order_of_their_utf_16_code_units(keys in prop::collection::hash_set("[a\u{7f}é\u{d7ff}\u{e000}\u{ffff}\u{10000}😀]{0,3}", 0..12)) {
        let source: serde_json::Map<String, Value> = keys.iter().map(|key| (key.clone(), Value::Null)).collect();
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
        let members: Vec<_> = keys.iter().map(|key| format!("\"{key}\":null")).collect();
        prop_assert_eq!(canonical_value(&Value::Object(source)), format!("{{{}}}", members.join(",")));
    }

    #[test]
    fn the_canonical_form_is_its_own_canonical_form(value in values()) {
        let once = canonical(&value.to_string()).unwrap();
        prop_assert_eq!(canonical(&once).unwrap(), once);
    }

    #[test]
    fn order_white_space_and_escapes_do_not_matter(value in values()) {
        let expected = canonical_value(&value);
        prop_assert_eq!(canonical(&value.to_string()).unwrap(), expected.clone());
        prop_assert_eq!(canonical(&serde_json::to_string_pretty(&value).unwrap()).unwrap(), expected.clone());
        prop_assert_eq!(canonical(&written_otherwise(&value)).unwrap(), expected);
    }

    #[test]
    fn the_canonical_form_means_what_the_source_meant(value in values()) {
        let meant: Value = serde_json::from_str(&canonical(&value.to_string()).unwrap()).unwrap();
        prop_assert_eq!(meant, integral_doubles_as_integers(value));
    }

    #[test]
    fn every_double_survives_and_is_written_once(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        prop_assume!(double.is_finite());
        let text = canonical(&format!("{double:e}")).unwrap();
        prop_assert_eq!(text.parse::<f64>().unwrap(), double);
        prop_assert_eq!(canonical(&format!("{double}")).unwrap(), text.clone());
        prop_assert_eq!(canonical(&text).unwrap(), text);
    }

    #[test]
    fn of_two_shortest_texts_the_even_one_is_written(whole in (1_u64 << 50)..(1 << 51)) {
        // Doubles of this size are a quarter apart, so one digit tells them apart.
        prop_assert_eq!(canonical(&format!("{whole}.25")).unwrap(), format!("{whole}.2"));
        prop_assert_eq!(canonical(&format!("-{whole}.75")).unwrap(), format!("-{whole}.8"));
    }

    #[test]
    fn every_integer_survives_digit_by_digit(integer in any::<i128>()) {
        let exact = canonical(&integer.to_string()).unwrap();
        let written_out = match exact.split_once("e+") {
            None => exact.clone(),
            Some((mantissa, exponent)) => {
                let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
                let zeros = exponent.parse::<usize>().unwrap() - fraction.len();
                format!("{whole}{fraction}{}", "0".repeat(zeros))
            }
        };
        prop_assert_eq!(written_out, integer.to_string());
        prop_assert_eq!(canonical(&format!("{integer}.0")).unwrap(), exact.clone());
        prop_assert_eq!(canonical(&format!("{integer}00e-2")).unwrap(), exact);
    }

    #[test]
    fn no_text_makes_it_panic_or_accept_what_serde_refuses(text in "[\\[\\]{}:,\"\\\\u0-9eE+.a-f \\-tru]{0,24}") {
        if canonical(&text).is_ok() {
            let parsed = serde_json::from_str::<Value>(&text);
            prop_assert!(parsed.is_ok() || text.contains(['e', 'E']), "{}", text);
        }
    }
}
