//! Character classes of Go's regular expressions: ASCII Perl and POSIX names, Unicode 15 categories and scripts.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::go_characters::unicode_15_class;

/// Adds the characters from `low` to `high`; surrogates, which are no characters, are left out.
pub(super) fn add_range(class: &mut ClassUnicode, low: u32, high: u32) {
    let whole = [(low, high.min(0xd7ff)), (low.max(0xe000), high)];
    for (low, high) in whole.into_iter().filter(|(low, high)| low <= high) {
        if let (Some(low), Some(high)) = (char::from_u32(low), char::from_u32(high)) {
            class.push(ClassUnicodeRange::new(low, high));
        }
    }
}

/// Returns a class with everything that differs only in case, where `fold` is set.
pub(super) fn folded(mut class: ClassUnicode, fold: bool) -> ClassUnicode {
    if fold {
        // Fails only without Unicode tables, which are built in.
        let _ = class.try_case_fold_simple();
    }
    class
}

fn ascii(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(
        ranges
            .iter()
            .map(|&(low, high)| ClassUnicodeRange::new(low, high)),
    )
}

/// A class, and whether it means everything else.
pub(super) type Negatable = (ClassUnicode, bool);

/// Returns the class of the letter in `\d`, `\S` and so on.
pub(super) fn perl(letter: u8) -> Option<Negatable> {
    let class = match letter.to_ascii_lowercase() {
        b'd' => ascii(&[('0', '9')]),
        b's' => ascii(&[('\t', '\n'), ('\u{c}', '\r'), (' ', ' ')]),
        b'w' => word(),
        _ => return None,
    };
    Some((class, letter.is_ascii_uppercase()))
}

fn word() -> ClassUnicode {
    ascii(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')])
}

/// Returns the class of a POSIX name, such as `[:^alpha:]` with its brackets.
pub(super) fn posix(bracketed: &str) -> Option<Negatable> {
    let name = bracketed.strip_prefix("[:")?.strip_suffix(":]")?;
    let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
    let class = match name {
        "alnum" => ascii(&[('0', '9'), ('A', 'Z'), ('a', 'z')]),
        "alpha" => ascii(&[('A', 'Z'), ('a', 'z')]),
        "ascii" => ascii(&[('\0', '\u{7f}')]),
        "blank" => ascii(&[('\t', '\t'), (' ', ' ')]),
        "cntrl" => ascii(&[('\0', '\u{1f}'), ('\u{7f}', '\u{7f}')]),
        "digit" => ascii(&[('0', '9')]),
        "graph" => ascii(&[('!', '~')]),
        "lower" => ascii(&[('a', 'z')]),
        "print" => ascii(&[(' ', '~')]),
        "punct" => ascii(&[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]),
        "space" => ascii(&[('\t', '\r'), (' ', ' ')]),
        "upper" => ascii(&[('A', 'Z')]),
        "word" => word(),
        "xdigit" => ascii(&[('0', '9'), ('A', 'F'), ('a', 'f')]),
        _ => return None,
    };
    Some((class, negated))
}

/// Returns the class of a Unicode name as in `\p{Greek}`; Go knows exactly these names, in this spelling.
pub(super) fn unicode(name: &str) -> Option<ClassUnicode> {
    match name {
        "Any" => Some(ascii(&[('\0', char::MAX)])),
        // Go does not count unassigned characters here; surrogates are no characters.
        "C" => Some(unicode_15_class(r"[\p{Cc}\p{Cf}\p{Co}]")),
        "Cs" => Some(ClassUnicode::empty()),
        _ if CATEGORIES.contains(&name) => Some(unicode_15_class(&format!(r"\p{{gc={name}}}"))),
        _ if SCRIPTS.binary_search(&name).is_ok() => Some(unicode_15_class(&format!(r"\p{{sc={name}}}"))),
        _ => None,
    }
}

const CATEGORIES: &[&str] = &[
    "Cc", "Cf", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

#[rustfmt::skip]
const SCRIPTS: &[&str] = &[
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum",
    "Bassa_Vah", "Batak", "Bengali", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid",
    "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma", "Cham", "Cherokee", "Chorasmian",
    "Common", "Coptic", "Cuneiform", "Cypriot", "Cypro_Minoan", "Cyrillic", "Deseret", "Devanagari",
    "Dives_Akuru", "Dogra", "Duployan", "Egyptian_Hieroglyphs", "Elbasan", "Elymaic", "Ethiopic", "Georgian",
    "Glagolitic", "Gothic", "Grantha", "Greek", "Gujarati", "Gunjala_Gondi", "Gurmukhi", "Han", "Hangul",
    "Hanifi_Rohingya", "Hanunoo", "Hatran", "Hebrew", "Hiragana", "Imperial_Aramaic", "Inherited",
    "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Katakana", "Kawi",
    "Kayah_Li", "Kharoshthi", "Khitan_Small_Script", "Khmer", "Khojki", "Khudawadi", "Lao", "Latin", "Lepcha",
    "Limbu", "Linear_A", "Linear_B", "Lisu", "Lycian", "Lydian", "Mahajani", "Makasar", "Malayalam", "Mandaic",
    "Manichaean", "Marchen", "Masaram_Gondi", "Medefaidrin", "Meetei_Mayek", "Mende_Kikakui",
    "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi", "Mongolian", "Mro", "Multani", "Myanmar",
    "Nabataean", "Nag_Mundari", "Nandinagari", "New_Tai_Lue", "Newa", "Nko", "Nushu", "Nyiakeng_Puachue_Hmong",
    "Ogham", "Ol_Chiki", "Old_Hungarian", "Old_Italic", "Old_North_Arabian", "Old_Permic", "Old_Persian",
    "Old_Sogdian", "Old_South_Arabian", "Old_Turkic", "Old_Uyghur", "Oriya", "Osage", "Osmanya",
    "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa", "Phoenician", "Psalter_Pahlavi", "Rejang", "Runic",
    "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham", "SignWriting", "Sinhala", "Sogdian",
    "Sora_Sompeng", "Soyombo", "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa", "Tai_Le",
    "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangsa", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan",
    "Tifinagh", "Tirhuta", "Toto", "Ugaritic", "Vai", "Vithkuqi", "Wancho", "Warang_Citi", "Yezidi", "Yi",
    "Zanabazar_Square",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_characters() {
        for name in CATEGORIES.iter().chain(SCRIPTS) {
            assert!(
                unicode(name).is_some_and(|class| !class.ranges().is_empty()),
                "{name}"
            );
        }
        assert!(SCRIPTS.is_sorted());
    }

    #[test]
    fn names_are_spelled_exactly() {
        for name in ["greek", "Foo", "", "Letter", "LC", "Cn", "Script=Greek"] {
            assert!(unicode(name).is_none(), "{name}");
        }
        assert!(posix("[:foo:]").is_none() && posix("[:^word:]").is_some_and(|(_, negated)| negated));
    }

    #[test]
    fn surrogates_are_left_out() {
        let mut class = ClassUnicode::empty();
        add_range(&mut class, 0xd000, 0xe100);
        add_range(&mut class, 0xd801, 0xd802);
        let ranges: Vec<_> = class
            .ranges()
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect();
        assert_eq!(ranges, [('\u{d000}', '\u{d7ff}'), ('\u{e000}', '\u{e100}')]);
    }
}
