//! The elements of HTML that the rules of a browser's tree name, and what those rules say of each.

/// An element's name, if one of the rules is about it; `OTHER` is every other one.
pub type Tag = u8;

macro_rules! tags {
    ($($name:ident $text:literal,)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u8)]
        enum Number { OTHER, $($name,)* COUNT }
        pub const OTHER: Tag = Number::OTHER as Tag;
        $(pub const $name: Tag = Number::$name as Tag;)*
        pub const COUNT: usize = Number::COUNT as usize;

        /// The beginnings of the names as numbers, and the names.
        mod names {
            $(pub const $name: u64 = super::packed($text);)*
            pub static ALL: [&[u8]; super::COUNT] = [b"", $($text,)*];
        }

        /// The element of a name in lower case, without NUL, whose beginning is this number.
        #[inline]
        pub fn tag_of(number: u64, name: &[u8]) -> Tag {
            let tag = match number {
                $(names::$name => $name,)*
                _ => return OTHER,
            };
            let known = names::ALL[tag as usize];
            if known.len() == name.len() && (name.len() <= 8 || known == name) { tag } else { OTHER }
        }
    };
}

/// The first eight bytes of a name as a number.
const fn packed(name: &[u8]) -> u64 {
    let mut number = 0;
    let mut at = 0;
    while at < name.len() && at < 8 {
        number = number << 8 | name[at] as u64;
        at += 1;
    }
    number
}

tags! {
    A b"a", ADDRESS b"address", ANNOTATION_XML b"annotation-xml", APPLET b"applet", AREA b"area", ARTICLE b"article", ASIDE b"aside",
    AUDIO b"audio", B b"b", BASE b"base", BASEFONT b"basefont", BGSOUND b"bgsound", BIG b"big", BLOCKQUOTE b"blockquote", BODY b"body",
    BR b"br", BUTTON b"button", CAPTION b"caption", CENTER b"center", CODE b"code", COL b"col", COLGROUP b"colgroup", DD b"dd",
    DESC b"desc", DETAILS b"details", DIALOG b"dialog", DIR b"dir", DIV b"div", DL b"dl", DT b"dt", EM b"em", EMBED b"embed",
    FIELDSET b"fieldset", FIGCAPTION b"figcaption", FIGURE b"figure", FONT b"font", FOOTER b"footer", FOREIGNOBJECT b"foreignobject",
    FORM b"form", FRAME b"frame", FRAMESET b"frameset", H1 b"h1", H2 b"h2", H3 b"h3", H4 b"h4", H5 b"h5", H6 b"h6", HEAD b"head",
    HEADER b"header", HGROUP b"hgroup", HR b"hr", HTML b"html", I b"i", IFRAME b"iframe", IMAGE b"image", IMG b"img", INPUT b"input",
    KEYGEN b"keygen", LI b"li", LINK b"link", LISTING b"listing", MAIN b"main", MALIGNMARK b"malignmark", MARQUEE b"marquee",
    MATH b"math", MENU b"menu", META b"meta", MGLYPH b"mglyph", MI b"mi", MN b"mn", MO b"mo", MS b"ms", MTEXT b"mtext", NAV b"nav",
    NOBR b"nobr", NOEMBED b"noembed", NOFRAMES b"noframes", NOSCRIPT b"noscript", OBJECT b"object", OL b"ol", OPTGROUP b"optgroup",
    OPTION b"option", P b"p", PARAM b"param", PLAINTEXT b"plaintext", PRE b"pre", RB b"rb", RP b"rp", RT b"rt", RTC b"rtc",
    RUBY b"ruby", S b"s", SCRIPT b"script", SEARCH b"search", SECTION b"section", SELECT b"select", SMALL b"small", SOURCE b"source",
    SPAN b"span", STRIKE b"strike", STRONG b"strong", STYLE b"style", SUB b"sub", SUMMARY b"summary", SUP b"sup", SVG b"svg",
    TABLE b"table", TBODY b"tbody", TD b"td", TEMPLATE b"template", TEXTAREA b"textarea", TFOOT b"tfoot", TH b"th", THEAD b"thead",
    TITLE b"title", TR b"tr", TRACK b"track", TT b"tt", U b"u", UL b"ul", VAR b"var", VIDEO b"video", WBR b"wbr", XMP b"xmp",
}

/// What the rules ask of an element of HTML, as bits.
pub const SPECIAL: u16 = 1;
/// Nothing above it is "in scope".
pub const SCOPE: u16 = 2;
/// Ends an open paragraph where it begins.
pub const ENDS_P: u16 = 4;
/// Its end tag closes it if it is in scope, whatever is open in it.
pub const BLOCK: u16 = 8;
pub const FORMATTING: u16 = 16;
/// Closed without an end tag of its own where something around it ends.
pub const IMPLIED: u16 = 32;
/// Has no content.
pub const VOID: u16 = 64;
/// Part of a table.
pub const TABULAR: u16 = 128;
/// Ends the drawings and formulas it stands in.
pub const LEAVES_FOREIGN: u16 = 256;
/// A page that has one is no longer one that could still become a frameset.
pub const SHOWN: u16 = 512;
/// Belongs to the head if there is no body yet.
pub const OF_HEAD: u16 = 1024;
/// Holds text up to its end tag.
pub const RAW: u16 = 2048;

const fn facts() -> [u16; COUNT] {
    let mut facts = [0u16; COUNT];
    const LISTS: &[(u16, &[Tag])] = &[
        (
            SPECIAL,
            &[
                ADDRESS, APPLET, AREA, ARTICLE, ASIDE, BASE, BASEFONT, BGSOUND, BLOCKQUOTE, BODY, BR, BUTTON, CAPTION,
                CENTER, COL, COLGROUP, DD, DETAILS, DIR, DIV, DL, DT, EMBED, FIELDSET, FIGCAPTION, FIGURE, FOOTER,
                FORM, FRAME, FRAMESET, H1, H2, H3, H4, H5, H6, HEAD, HEADER, HGROUP, HR, HTML, IFRAME, IMG, INPUT,
                KEYGEN, LI, LINK, LISTING, MAIN, MARQUEE, MENU, META, NAV, NOEMBED, NOFRAMES, NOSCRIPT, OBJECT, OL, P,
                PARAM, PLAINTEXT, PRE, SCRIPT, SEARCH, SECTION, SELECT, SOURCE, STYLE, SUMMARY, TABLE, TBODY, TD,
                TEMPLATE, TEXTAREA, TFOOT, TH, THEAD, TITLE, TR, TRACK, UL, WBR, XMP,
            ],
        ),
        (SCOPE, &[APPLET, CAPTION, HTML, TABLE, TD, TH, MARQUEE, OBJECT, SELECT, TEMPLATE]),
        (
            ENDS_P,
            &[
                ADDRESS, ARTICLE, ASIDE, BLOCKQUOTE, CENTER, DETAILS, DIALOG, DIR, DIV, DL, FIELDSET, FIGCAPTION,
                FIGURE, FOOTER, HEADER, HGROUP, MAIN, MENU, NAV, OL, P, SEARCH, SECTION, SUMMARY, UL, PRE, LISTING,
                FORM, LI, DD, DT, PLAINTEXT, H1, H2, H3, H4, H5, H6, TABLE, HR, XMP,
            ],
        ),
        (
            BLOCK,
            &[
                ADDRESS, ARTICLE, ASIDE, BLOCKQUOTE, BUTTON, CENTER, DETAILS, DIALOG, DIR, DIV, DL, FIELDSET,
                FIGCAPTION, FIGURE, FOOTER, HEADER, HGROUP, LISTING, MAIN, MENU, NAV, OL, PRE, SEARCH, SECTION, SELECT,
                SUMMARY, UL, APPLET, MARQUEE, OBJECT, DD, DT,
            ],
        ),
        (FORMATTING, &[A, B, BIG, CODE, EM, FONT, I, NOBR, S, SMALL, STRIKE, STRONG, TT, U]),
        (IMPLIED, &[DD, DT, LI, OPTGROUP, OPTION, P, RB, RP, RT, RTC]),
        (
            VOID,
            &[
                AREA, BASE, BASEFONT, BGSOUND, BR, COL, EMBED, FRAME, HR, IMG, IMAGE, INPUT, KEYGEN, LINK, META, PARAM,
                SOURCE, TRACK, WBR,
            ],
        ),
        (TABULAR, &[CAPTION, COL, COLGROUP, TBODY, TD, TFOOT, TH, THEAD, TR]),
        (
            LEAVES_FOREIGN,
            &[
                B, BIG, BLOCKQUOTE, BODY, BR, CENTER, CODE, DD, DIV, DL, DT, EM, EMBED, H1, H2, H3, H4, H5, H6, HEAD,
                HR, I, IMG, LI, LISTING, MENU, META, NOBR, OL, P, PRE, RUBY, S, SMALL, SPAN, STRONG, STRIKE, SUB, SUP,
                TABLE, TT, U, UL, VAR,
            ],
        ),
        (
            SHOWN,
            &[
                PRE, LISTING, LI, DD, DT, BUTTON, APPLET, MARQUEE, OBJECT, TABLE, AREA, BR, EMBED, IMG, IMAGE, KEYGEN,
                WBR, HR, TEXTAREA, XMP, IFRAME, SELECT, BODY,
            ],
        ),
        (
            OF_HEAD,
            &[HTML, HEAD, BASE, BASEFONT, BGSOUND, LINK, META, TITLE, NOSCRIPT, NOFRAMES, STYLE, SCRIPT, TEMPLATE],
        ),
        (RAW, &[TITLE, TEXTAREA, STYLE, SCRIPT, XMP, IFRAME, NOEMBED, NOFRAMES, PLAINTEXT]),
    ];
    let mut list = 0;
    while list < LISTS.len() {
        let (bit, tags) = LISTS[list];
        let mut at = 0;
        while at < tags.len() {
            facts[tags[at] as usize] |= bit;
            at += 1;
        }
        list += 1;
    }
    facts
}

static FACTS: [u16; COUNT] = facts();

/// Whether an element of HTML has one of the bits.
#[inline]
pub fn is(tag: Tag, bits: u16) -> bool {
    FACTS[tag as usize] & bits != 0
}

#[inline]
pub fn is_heading(tag: Tag) -> bool {
    (H1..=H6).contains(&tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_at_every_length() {
        for (name, tag) in
            [("a", A), ("template", TEMPLATE), ("blockquote", BLOCKQUOTE), ("", OTHER), ("templates", OTHER)]
        {
            assert_eq!(tag_of(packed(name.as_bytes()), name.as_bytes()), tag);
        }
    }
}
