//! What of a page's elements counts: links by kind with their relation and number, base, title, directives for robots.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::hash::Hashed;
use crate::scan::Attributes;
use crate::tags::*;
use crate::text::{self, is_blank};

pub const MAX_TITLE: usize = 512;

/// Bits of a link's relation; the numbers are those of `schemas.discovered.Rel`.
const RELATIONS: [(&str, u8); 3] = [("nofollow", 1), ("ugc", 2), ("sponsored", 4)];
const REQUISITE_RELS: [&str; 6] = ["stylesheet", "icon", "apple-touch-icon", "manifest", "preload", "modulepreload"];

pub const NOFOLLOW: u8 = 1;
pub const NOINDEX: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    A,
    Area,
    Iframe,
    Frame,
    LinkNext,
    LinkPrev,
    Canonical,
    Alternate,
    Refresh,
    Requisite,
    /// Not a link yet: the value of a srcset.
    Srcset,
    /// Not a link yet: the text of a style sheet.
    Style,
}

/// In the order of `Kind`, as Python names them.
pub const KINDS: [&str; 12] = [
    "a",
    "area",
    "iframe",
    "frame",
    "link-next",
    "link-prev",
    "canonical",
    "alternate",
    "refresh",
    "requisite",
    "srcset",
    "style",
];

/// Links are told element by element, in this order.
#[derive(Clone, Copy)]
enum List {
    Meta,
    Link,
    A,
    Area,
    Iframe,
    Frame,
    Img,
    Script,
    Source,
    Video,
    Audio,
    Track,
    Embed,
    Object,
    Input,
    Style,
}

const LISTS: usize = List::Style as usize + 1;

/// Bounds of one page, and what counts.
pub struct Limits {
    pub max_links: usize,
    /// The name in lower case under which directives address this crawler.
    pub agent: String,
    pub requisites: bool,
}

pub struct Link<'a> {
    pub href: Cow<'a, str>,
    pub kind: Kind,
    pub rel: u8,
    pub times: u32,
}

/// What a page says of other pages, and of itself to robots.
pub struct Page<'a> {
    pub base: Option<Cow<'a, str>>,
    pub links: Vec<Link<'a>>,
    pub dropped: usize,
    pub robots: u8,
    pub title: String,
}

/// How far the lists had come when the body began.
#[derive(Default)]
struct Head {
    lengths: [usize; LISTS],
    base: bool,
    title: bool,
    robots: u8,
}

pub struct Collector<'a> {
    limits: &'a Limits,
    lists: [Vec<Link<'a>>; LISTS],
    anchors: HashMap<(Cow<'a, str>, u8), usize, Hashed>,
    base: Option<Cow<'a, str>>,
    title: Option<String>,
    robots: u8,
    room: usize,
    dropped: usize,
    head: Head,
}

impl<'a> Collector<'a> {
    pub fn new(limits: &'a Limits) -> Self {
        Collector {
            limits,
            lists: Default::default(),
            anchors: HashMap::default(),
            base: None,
            title: None,
            robots: 0,
            room: limits.max_links,
            dropped: 0,
            head: Head::default(),
        }
    }

    /// Whether the attributes of such an element may say something.
    #[inline]
    pub fn wants(&self, tag: Tag) -> bool {
        match tag {
            A | AREA | BASE | FRAME | IFRAME | LINK | META => true,
            IMG | IMAGE | SCRIPT | SOURCE | VIDEO | AUDIO | TRACK | EMBED | OBJECT | INPUT => self.limits.requisites,
            _ => false,
        }
    }

    pub fn element(&mut self, tag: Tag, attributes: &Attributes<'a>) {
        match tag {
            A => self.anchor(attributes),
            AREA => {
                if let Some(href) = attributes.get(b"href") {
                    self.link(List::Area, text::attribute(href), Kind::Area, relation(attributes));
                }
            }
            IFRAME | FRAME => {
                if let Some(source) = attributes.get(b"src") {
                    let (list, kind) =
                        if tag == IFRAME { (List::Iframe, Kind::Iframe) } else { (List::Frame, Kind::Frame) };
                    self.link(list, text::attribute(source), kind, 0);
                }
            }
            LINK => self.link_element(attributes),
            META => self.meta(attributes),
            BASE => self.base = self.base.take().or_else(|| attributes.get(b"href").map(text::attribute)),
            _ if self.limits.requisites => self.requisite(tag, attributes),
            _ => {}
        }
    }

    /// The content of a title of the page.
    pub fn title(&mut self, raw: &str) {
        if self.title.is_none() {
            self.title = Some(text::folded(&text::content(raw), MAX_TITLE));
        }
    }

    /// The content of a style element.
    pub fn style(&mut self, raw: &'a str) {
        if self.limits.requisites {
            self.put(List::Style, Cow::Borrowed(raw), Kind::Style);
        }
    }

    pub fn begin_body(&mut self) {
        let mut lengths = [0; LISTS];
        for (length, list) in lengths.iter_mut().zip(&self.lists) {
            *length = list.len();
        }
        self.head = Head { lengths, base: self.base.is_some(), title: self.title.is_some(), robots: self.robots };
    }

    /// The page turned out to be a frameset: what was in its body is gone.
    pub fn drop_body(&mut self) {
        for (length, list) in self.head.lengths.iter().zip(&mut self.lists) {
            list.truncate(*length);
        }
        self.anchors.clear();
        if !self.head.base {
            self.base = None;
        }
        if !self.head.title {
            self.title = None;
        }
        self.robots = self.head.robots;
    }

    pub fn finish(self) -> Page<'a> {
        Page {
            base: self.base,
            links: self.lists.into_iter().flatten().collect(),
            dropped: self.dropped,
            robots: self.robots,
            title: self.title.unwrap_or_default(),
        }
    }

    fn anchor(&mut self, attributes: &Attributes<'a>) {
        let Some(raw) = attributes.get(b"href") else { return };
        if !self.has_room() {
            return;
        }
        let href = without_fragment(text::attribute(raw));
        let rel = relation(attributes);
        let list = &mut self.lists[List::A as usize];
        let next = list.len();
        let number = *self.anchors.entry((href.clone(), rel)).or_insert(next);
        if number < next {
            list[number].times += 1;
        } else {
            list.push(Link { href, kind: Kind::A, rel, times: 1 });
        }
    }

    fn link_element(&mut self, attributes: &Attributes<'a>) {
        let Some(href) = attributes.get(b"href") else { return };
        let rel = attributes.get(b"rel").map(text::attribute).unwrap_or_default();
        let has = |wanted: &str| words(&rel).any(|word| word.eq_ignore_ascii_case(wanted));
        let kind = if has("canonical") {
            Kind::Canonical
        } else if has("next") {
            Kind::LinkNext
        } else if has("prev") || has("previous") {
            Kind::LinkPrev
        } else if has("alternate") && !has("stylesheet") {
            Kind::Alternate
        } else if self.limits.requisites && REQUISITE_RELS.iter().any(|one| has(one)) {
            Kind::Requisite
        } else {
            return;
        };
        let bits = if kind == Kind::Requisite { 0 } else { relation_bits(&rel) };
        self.link(List::Link, text::attribute(href), kind, bits);
    }

    fn meta(&mut self, attributes: &Attributes<'a>) {
        let content = attributes.get(b"content").map(text::attribute).unwrap_or_default();
        if let Some(raw) = attributes.get(b"name") {
            let name = text::attribute(raw).trim_matches(is_blank).to_lowercase();
            if name == "robots" || name == self.limits.agent {
                self.robots |= directives(&content);
            }
        }
        if let Some(raw) = attributes.get(b"http-equiv")
            && text::attribute(raw).trim_matches(is_blank).eq_ignore_ascii_case("refresh")
            && let Some(target) = refresh_target(&content)
        {
            self.link(List::Meta, Cow::Owned(target.to_owned()), Kind::Refresh, 0);
        }
    }

    fn requisite(&mut self, tag: Tag, attributes: &Attributes<'a>) {
        let list = match tag {
            IMG | IMAGE => List::Img,
            SCRIPT => List::Script,
            SOURCE => List::Source,
            VIDEO => List::Video,
            AUDIO => List::Audio,
            TRACK => List::Track,
            EMBED => List::Embed,
            OBJECT => List::Object,
            _ => List::Input,
        };
        if tag == INPUT {
            let kind = attributes.get(b"type").map(text::attribute).unwrap_or_default();
            if !kind.eq_ignore_ascii_case("image") {
                return;
            }
        }
        let named: &[&[u8]] = match tag {
            OBJECT => &[b"data"],
            VIDEO => &[b"src", b"poster"],
            _ => &[b"src"],
        };
        for name in named {
            if let Some(raw) = attributes.get(name).filter(|raw| !raw.is_empty()) {
                self.link(list, text::attribute(raw), Kind::Requisite, 0);
            }
        }
        if matches!(tag, IMG | IMAGE | SOURCE)
            && let Some(raw) = attributes.get(b"srcset")
        {
            self.put(list, text::attribute(raw), Kind::Srcset);
        }
    }

    fn link(&mut self, list: List, href: Cow<'a, str>, kind: Kind, rel: u8) {
        if self.has_room() {
            self.lists[list as usize].push(Link { href, kind, rel, times: 1 });
        }
    }

    /// What is no link yet, and counted when it is one. As many as links, to bound their memory.
    fn put(&mut self, list: List, href: Cow<'a, str>, kind: Kind) {
        let list = &mut self.lists[list as usize];
        if list.len() < self.limits.max_links {
            list.push(Link { href, kind, rel: 0, times: 1 });
        }
    }

    fn has_room(&mut self) -> bool {
        if self.room == 0 {
            self.dropped += 1;
            return false;
        }
        self.room -= 1;
        true
    }
}

/// The link as far as a server sees it. "a #b" is "a%20" to the standard, which trims the ends only; cutting first would make it "a".
fn without_fragment(href: Cow<'_, str>) -> Cow<'_, str> {
    match memchr::memchr(b'#', href.as_bytes()) {
        Some(cut) if cut == 0 || href.as_bytes()[cut - 1] > b' ' => match href {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..cut]),
            Cow::Owned(mut text) => {
                text.truncate(cut);
                Cow::Owned(text)
            }
        },
        _ => href,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_blank).filter(|word| !word.is_empty())
}

fn relation(attributes: &Attributes<'_>) -> u8 {
    attributes.get(b"rel").map_or(0, |raw| relation_bits(&text::attribute(raw)))
}

fn relation_bits(rel: &str) -> u8 {
    let bit =
        |word: &str| RELATIONS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map_or(0, |(_, bit)| *bit);
    words(rel).fold(0, |bits, word| bits | bit(word))
}

/// From a meta element's content: "noindex, nofollow".
fn directives(content: &str) -> u8 {
    content.split(',').map(|word| word.trim_matches(is_blank)).fold(0, |bits, word| {
        if word.eq_ignore_ascii_case("none") {
            bits | NOFOLLOW | NOINDEX
        } else if word.eq_ignore_ascii_case("nofollow") {
            bits | NOFOLLOW
        } else if word.eq_ignore_ascii_case("noindex") {
            bits | NOINDEX
        } else {
            bits
        }
    })
}

/// Where a meta refresh leads: "5; url='next.html'" → "next.html"; None when it only reloads the page.
fn refresh_target(content: &str) -> Option<&str> {
    let blank = |character: char| matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    let after = |text: &str| text.len();
    let trimmed = content.trim_start_matches(blank);
    let rest = trimmed.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    if after(rest) == after(trimmed) {
        return None;
    }
    let behind = rest.trim_start_matches(blank);
    let target = if let Some(target) = behind.strip_prefix([';', ',']) {
        target
    } else if after(behind) < after(rest) {
        behind
    } else {
        return None;
    };
    let mut target = target.trim_start_matches(blank);
    if target.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("url"))
        && let Some(named) = target[3..].trim_start_matches(blank).strip_prefix('=')
    {
        target = named;
    }
    target = target.trim_matches(is_blank);
    if let Some(quote) = target.chars().next().filter(|first| matches!(first, '\'' | '"')) {
        target = target[1..].split(quote).next().unwrap_or_default();
    }
    (!target.is_empty()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_leads_where_a_browser_would_go() {
        for (content, target) in [
            ("0;url=x", Some("x")),
            ("0; URL = 'x y' z", Some("x y")),
            ("3,\"x", Some("x")),
            ("5 x", Some("x")),
            (".5;x", Some("x")),
            ("5", None),
            ("5;", None),
            ("5x", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(refresh_target(content), target, "{content}");
        }
    }

    #[test]
    fn a_fragment_is_cut_unless_a_blank_stands_before_it() {
        assert_eq!(without_fragment(Cow::Borrowed("a#b")), "a");
        assert_eq!(without_fragment(Cow::Borrowed("#b")), "");
        assert_eq!(without_fragment(Cow::Borrowed("a #b")), "a #b");
    }
}
