//! Light stemming: inflected forms of one word share a stem.
//!
//! Light on purpose. An over-eager stemmer makes different words equal, and
//! what it leaves apart, the comparison of beginnings still joins. Input is
//! folded (no accents, lower case); the output is never empty.

use super::language::Language;

/// Endings of one language, longest first within a step: what to cut, what to
/// put in its place, and how many characters must remain before it.
type Step = &'static [(&'static str, &'static str, usize)];

const ENGLISH_PLURAL: Step = &[
    ("sses", "ss", 2),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("xes", "x", 2),
    ("ies", "y", 2),
    ("ss", "ss", 1),
    ("us", "us", 2),
    ("is", "is", 2),
    ("s", "", 3),
];
const ENGLISH_ENDINGS: Step = &[
    ("ization", "iz", 3),
    ("isation", "iz", 3),
    ("fulness", "", 3),
    ("iveness", "", 3),
    ("ability", "", 3),
    ("ically", "ic", 3),
    ("ation", "at", 3),
    ("ition", "it", 3),
    ("ising", "iz", 3),
    ("izing", "iz", 3),
    ("ement", "", 4),
    ("tion", "t", 3),
    ("sion", "s", 3),
    ("ment", "", 3),
    ("ness", "", 3),
    ("ised", "iz", 3),
    ("ized", "iz", 3),
    ("ably", "", 3),
    ("ally", "al", 3),
    ("able", "", 4),
    ("ure", "", 4),
    ("ise", "iz", 3),
    ("ize", "iz", 3),
    ("ing", "", 3),
    ("est", "", 4),
    ("ed", "", 3),
    ("ly", "", 3),
    ("er", "", 4),
    ("or", "", 4),
    ("e", "", 3),
];
const GERMAN_INFLECTIONS: Step = &[
    ("ern", "", 4),
    ("ten", "", 4),
    ("tes", "", 4),
    ("ter", "", 4),
    ("est", "", 4),
    ("te", "", 4),
    ("em", "", 4),
    ("en", "", 3),
    ("er", "", 3),
    ("es", "", 3),
    ("et", "", 4),
    ("st", "", 4),
    ("e", "", 3),
    ("n", "", 4),
    ("s", "", 3),
    ("t", "", 5),
];
const GERMAN_DERIVATIONS: Step = &[
    ("ierung", "ier", 3),
    ("keit", "", 4),
    ("heit", "", 4),
    ("lich", "", 4),
    ("inn", "", 4),
    ("ung", "", 4),
];
const FRENCH_ENDINGS: Step = &[
    ("issements", "", 4),
    ("issement", "", 4),
    ("ateurs", "", 4),
    ("atrice", "", 4),
    ("ations", "", 4),
    ("ements", "", 4),
    ("aient", "", 4),
    ("ateur", "", 4),
    ("ation", "", 4),
    ("ement", "", 4),
    ("iques", "iqu", 3),
    ("ique", "iqu", 3),
    ("ions", "", 4),
    ("euse", "", 4),
    ("eurs", "", 4),
    ("antes", "", 4),
    ("ante", "", 4),
    ("ants", "", 4),
    ("eaux", "eau", 2),
    ("aux", "al", 3),
    ("ees", "", 4),
    ("eur", "", 4),
    ("ant", "", 4),
    ("ent", "", 4),
    ("ait", "", 4),
    ("ion", "", 4),
    ("ee", "", 4),
    ("es", "", 4),
    ("er", "", 4),
    ("ez", "", 4),
    ("is", "", 4),
    ("it", "", 4),
    ("e", "", 3),
    ("s", "", 3),
    ("x", "", 3),
];
const SPANISH_ENDINGS: Step = &[
    ("amientos", "", 4),
    ("imientos", "", 4),
    ("amiento", "", 4),
    ("imiento", "", 4),
    ("aciones", "", 4),
    ("adores", "", 4),
    ("idades", "", 4),
    ("iendo", "", 4),
    ("ieron", "", 4),
    ("acion", "", 4),
    ("ciones", "c", 3),
    ("mente", "", 4),
    ("idad", "", 4),
    ("ador", "", 4),
    ("ando", "", 4),
    ("aron", "", 4),
    ("aban", "", 4),
    ("cion", "c", 3),
    ("ados", "", 4),
    ("adas", "", 4),
    ("idos", "", 4),
    ("idas", "", 4),
    ("ado", "", 4),
    ("ada", "", 4),
    ("ido", "", 4),
    ("ida", "", 4),
    ("aba", "", 4),
    ("ara", "", 4),
    ("ar", "", 3),
    ("er", "", 4),
    ("ir", "", 4),
    ("os", "", 3),
    ("as", "", 3),
    ("es", "", 3),
    ("o", "", 3),
    ("a", "", 3),
    ("e", "", 3),
    ("s", "", 3),
];

/// Forms that no ending gives away.
fn irregular(word: &str) -> Option<&'static str> {
    Some(match word {
        "bought" => "buy",
        "broke" | "broken" => "break",
        "built" => "build",
        "chose" | "chosen" => "choos",
        "children" => "child",
        "fallen" | "fell" => "fall",
        "felt" => "feel",
        "found" => "find",
        "grew" => "grow",
        "held" => "hold",
        "hidden" => "hid",
        "indices" => "index",
        "kept" => "keep",
        "led" => "lead",
        "left" => "leav",
        "lost" => "los",
        "meant" => "mean",
        "mice" => "mous",
        "paid" => "pay",
        "ran" => "run",
        "said" => "say",
        "sent" => "send",
        "sold" => "sell",
        "spent" => "spend",
        "spoken" => "speak",
        "thought" => "think",
        "thrown" => "throw",
        "told" => "tell",
        "written" | "wrote" => "writ",
        _ => return None,
    })
}

/// The stem of a folded word.
pub(crate) fn stem(word: String, language: Language) -> String {
    let mut stem = word;
    match language {
        Language::German => german(&mut stem),
        Language::French => {
            cut(&mut stem, FRENCH_ENDINGS);
            undouble(&mut stem);
        }
        Language::Spanish => cut(&mut stem, SPANISH_ENDINGS),
        // English words turn up in texts of every language.
        Language::English | Language::Japanese | Language::Chinese | Language::Other => english(&mut stem),
    }
    stem
}

fn english(word: &mut String) {
    if let Some(stem) = irregular(word) {
        stem.clone_into(word);
        return;
    }
    cut(word, ENGLISH_PLURAL);
    // Without a vowel before it, `-ing` is no ending: `string`.
    if cuttable(word, ENGLISH_ENDINGS)
        .is_some_and(|(rest, _)| has_vowel(word.get(..rest).unwrap_or_default()))
    {
        cut(word, ENGLISH_ENDINGS);
        undouble(word);
    }
    if word.chars().count() > 3 && word.ends_with('i') {
        word.pop();
        word.push('y');
    }
}

fn german(word: &mut String) {
    let participle = word.starts_with("ge") && ["t", "en", "te"].iter().any(|ending| word.ends_with(ending));
    // Endings stand in rows: `nächt-lich-e`, `Kund-inn-en`.
    cut(word, GERMAN_INFLECTIONS);
    cut(word, GERMAN_DERIVATIONS);
    if participle && word.chars().count() >= 6 {
        word.drain(..2);
    }
}

fn cut(word: &mut String, endings: Step) {
    if let Some((rest, instead)) = cuttable(word, endings) {
        word.truncate(rest);
        word.push_str(instead);
    }
}

/// How many bytes stay of a word when its longest ending goes, and what is put
/// in the ending's place.
fn cuttable(word: &str, endings: Step) -> Option<(usize, &'static str)> {
    let last = word.as_bytes().last();
    let same_last = endings.iter().filter(|(ending, _, _)| ending.as_bytes().last() == last);
    for (ending, instead, least) in same_last {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.chars().count() >= *least
        {
            return Some((rest.len(), instead));
        }
    }
    None
}

fn has_vowel(word: &str) -> bool {
    word.chars().any(|letter| !letter.is_ascii() || matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u' | 'y'))
}

/// `stopp` is `stop`; `ll`, `ss` and `zz` at the end belong to the word.
fn undouble(word: &mut String) {
    let mut back = word.chars().rev();
    let doubled = back.next().zip(back.next()).is_some_and(|(last, before)| {
        last == before && last.is_ascii_alphabetic() && !matches!(last, 'l' | 's' | 'z')
    });
    if doubled && word.len() > 3 {
        word.pop();
    }
}
