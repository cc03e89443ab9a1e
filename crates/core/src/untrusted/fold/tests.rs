//! Disguises read as what they look like, and every byte is in one piece.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> String {
    let mut read = String::new();
    for piece in Reader::new(text) {
        match piece.kind {
            Kind::Symbol(c) => read.push(c),
            Kind::Ligature(several) => read.push_str(several.letters()),
            Kind::Space => read.push(' '),
            Kind::Break => read.push('/'),
            Kind::Glue => read.push('_'),
            Kind::Soft | Kind::Nothing => {}
        }
    }
    read
}

#[test]
fn disguises_of_a_word_read_the_same() {
    for disguise in [
        "Ignore",
        "IGNORE",
        "ign\u{200b}ore",
        "i\u{307}gnore",
        "іgnоrе",
        "ｉｇｎｏｒｅ",
        "𝓲𝓰𝓷𝓸𝓻𝓮",
        "ⓘⓖⓝⓞⓡⓔ",
        "1gn0r3",
        "&#105;gnore",
        "\\u0069gnore",
        "\\x69gnore",
        "%69gnore",
        "i\u{1b}[31mgnore",
        "*ignore*",
        "ígnoré",
        "ɪɢɴᴏʀᴇ",
        "&amp;#105;gnore",
    ] {
        assert_eq!(read(disguise), "ignore", "{disguise:?}");
    }
}

#[test]
fn what_only_looks_like_an_escape_is_left_alone() {
    assert_eq!(read("AT&T 100% \\q &unknown; %zz"), "at&t ioo% q &unknown; %zz");
    assert_eq!(read("&#; &#x; \\u00 \\ud800"), "&#; &#x; uoo udaoo".replace("udaoo", "ud8oo"));
}

#[test]
fn a_pair_of_surrogates_is_one_character() {
    assert_eq!(read("\\ud835\\udc1a"), "a");
}

#[test]
fn the_tables_of_lookalikes_are_sorted_and_plain() {
    let table = glyph::lookalikes();
    assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(glyph::ligatures().windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(table.iter().all(|(glyph, plain)| !glyph.is_ascii() && plain.is_ascii()));
}

proptest! {
    #[test]
    fn pieces_cover_every_text_without_gap_or_overlap(text in "\\PC*|[<|&%\\\\\u{1b}a-z0-9;#x\u{200b}ﬃ\u{e0041}]{0,60}") {
        let mut at = 0;
        for piece in Reader::new(&text) {
            prop_assert_eq!(piece.start, at);
            prop_assert!(piece.end > at && text.is_char_boundary(piece.end));
            at = piece.end;
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn any_characters_at_all_are_read(text in any::<String>()) {
        prop_assert!(Reader::new(&text).count() <= text.len());
    }
}
