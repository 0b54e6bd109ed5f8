//! Text as it is meant: character references replaced, line ends made one, NUL shown as what stands for it.

use std::borrow::Cow;

use memchr::memchr3;

use crate::entities::{LEGACY, NAMED};

const REPLACEMENT: char = '\u{fffd}';
const LONGEST_NAME: usize = 31;
const LONGEST_LEGACY: usize = 6;
const WINDOWS_1252: [u32; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d,
    0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d,
    0x17e, 0x178,
];

/// The value of an attribute.
pub fn attribute(raw: &str) -> Cow<'_, str> {
    replaced(raw, true)
}

/// The text of an element that may hold references, a title.
pub fn content(raw: &str) -> Cow<'_, str> {
    replaced(raw, false)
}

fn replaced(raw: &str, in_attribute: bool) -> Cow<'_, str> {
    let bytes = raw.as_bytes();
    if memchr3(b'&', b'\r', 0, bytes).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr3(b'&', b'\r', 0, rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let sign = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match sign {
            0 => text.push(REPLACEMENT),
            b'\r' => {
                text.push('\n');
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
            _ => rest = &rest[reference(rest, in_attribute, &mut text)..],
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Writes what the reference behind an "&" stands for, or the "&"; says how many bytes it took.
fn reference(rest: &str, in_attribute: bool, text: &mut String) -> usize {
    if let Some(number) = rest.strip_prefix('#') {
        return numeric(number, text);
    }
    let bytes = rest.as_bytes();
    let run = bytes.iter().take(LONGEST_NAME + 1).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if bytes.get(run) == Some(&b';')
        && let Some(meaning) = named(&rest[..run])
    {
        text.push_str(meaning);
        return run + 1;
    }
    for length in (2..=run.min(LONGEST_LEGACY)).rev() {
        let name = &rest[..length];
        if LEGACY.binary_search(&name).is_ok() {
            let follows = bytes.get(length).copied().unwrap_or(0);
            if in_attribute && (follows == b'=' || follows.is_ascii_alphanumeric()) {
                break;
            }
            text.push_str(named(name).unwrap_or_default());
            return length;
        }
    }
    text.push('&');
    0
}

fn named(name: &str) -> Option<&'static str> {
    NAMED.binary_search_by_key(&name, |(known, _)| known).ok().map(|at| NAMED[at].1)
}

/// The same behind "&#".
fn numeric(rest: &str, text: &mut String) -> usize {
    let (prefix, radix) = if rest.starts_with(['x', 'X']) { (1, 16) } else { (0, 10) };
    let digits = rest.as_bytes()[prefix..].iter().take_while(|&&byte| (byte as char).is_digit(radix)).count();
    if digits == 0 {
        text.push_str("&#");
        return 1;
    }
    let end = prefix + digits;
    let number = rest[prefix..end]
        .chars()
        .fold(0u32, |number, digit| number.saturating_mul(radix).saturating_add(digit.to_digit(radix).unwrap_or(0)));
    text.push(character(number));
    1 + end + usize::from(rest.as_bytes().get(end) == Some(&b';'))
}

fn character(number: u32) -> char {
    let meant = match number {
        0 => return REPLACEMENT,
        0x80..=0x9f => WINDOWS_1252[number as usize - 0x80],
        _ => number,
    };
    char::from_u32(meant).unwrap_or(REPLACEMENT)
}

/// A blank as Python's `str.split` and `str.strip` know them.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// At most so many characters, blanks folded.
pub fn folded(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split(is_blank).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_as_in_a_browser() {
        for (raw, meant) in [
            ("a&amp;b", "a&b"),
            ("&notit;", "&notit;"),
            ("&not;it", "¬it"),
            ("&copy=1", "&copy=1"),
            ("&copy", "©"),
            ("&#x41;&#66&#0;&#x80;&#xD800;&#99999999999;", "AB\u{fffd}€\u{fffd}\u{fffd}"),
            ("&#;&#x;&", "&#;&#x;&"),
            ("a\r\nb\rc\0", "a\nb\nc\u{fffd}"),
            ("&CounterClockwiseContourIntegral;", "∳"),
        ] {
            assert_eq!(attribute(raw), meant, "{raw}");
        }
        assert_eq!(content("&notit;&copy=1"), "¬it;©=1");
    }

    #[test]
    fn blanks_are_folded_and_the_rest_is_cut() {
        assert_eq!(folded(" a \n\u{a0}b\x1fc ", 100), "a b c");
        assert_eq!(folded("äöü", 2), "äö");
    }
}
