//! The tags of a page, one after the other, as the tokeniser of HTML finds them; each is shown to the tree and, if it is an element of the
//! page, to the collector. Every byte is looked at a bounded number of times.

use memchr::{memchr, memchr2, memmem};

use crate::collect::{Collector, Limits, Page};
use crate::tags::{self, *};
use crate::tree::{Event, Meaning, Name, Said, Tree};

const LONGEST_NAME: usize = 16;

/// What is written between quotes and blanks: places in the page.
#[derive(Clone, Copy)]
pub struct Attribute {
    name: (usize, usize),
    value: (usize, usize),
}

/// The attributes of one tag.
pub struct Attributes<'a> {
    page: &'a str,
    all: Vec<Attribute>,
}

impl<'a> Attributes<'a> {
    /// The value of the first attribute of this name (in lower case), as it is written; None: there is none.
    pub fn get(&self, name: &[u8]) -> Option<&'a str> {
        let page = self.page.as_bytes();
        let found = self.all.iter().find(|one| page[one.name.0..one.name.1].eq_ignore_ascii_case(name))?;
        Some(&self.page[found.value.0..found.value.1])
    }

    fn is(&self, name: &[u8], values: &[&str]) -> bool {
        self.get(name).is_some_and(|raw| {
            let value = crate::text::attribute(raw);
            values.iter().any(|one| value.eq_ignore_ascii_case(one))
        })
    }
}

/// All that a page (in UTF-8) says of links.
pub fn scan<'a>(page: &'a str, limits: &'a Limits) -> Page<'a> {
    let mut scan = Scan {
        page,
        bytes: page.as_bytes(),
        at: 0,
        tree: Tree::default(),
        attributes: Attributes { page, all: Vec::with_capacity(16) },
        found: Collector::new(limits),
    };
    scan.run();
    scan.found.finish()
}

struct Scan<'a> {
    page: &'a str,
    bytes: &'a [u8],
    at: usize,
    tree: Tree,
    attributes: Attributes<'a>,
    found: Collector<'a>,
}

impl Scan<'_> {
    fn run(&mut self) {
        while let Some(sign) = find(b'<', self.bytes, self.at) {
            self.text(sign);
            self.at = sign + 1;
            match self.peek(0) {
                byte if byte.is_ascii_alphabetic() => self.start_tag(),
                b'/' => self.end_tag(),
                b'!' => self.declaration(),
                b'?' => self.past(b'>'),
                _ => self.shown(),
            }
        }
        self.text(self.bytes.len());
    }

    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Goes behind the next such byte, or to the end.
    fn past(&mut self, byte: u8) {
        self.at = memchr(byte, &self.bytes[self.at..]).map_or(self.bytes.len(), |length| self.at + length + 1);
    }

    #[inline]
    fn text(&mut self, end: usize) {
        if self.tree.minds_text() && self.bytes[self.at..end].iter().any(|byte| !is_space(*byte) && *byte != 0) {
            self.shown();
        }
    }

    /// Text that is no blank.
    fn shown(&mut self) {
        if self.tree.minds_text() {
            self.tree.text();
            self.told();
        }
    }

    /// Behind a "<".
    fn start_tag(&mut self) {
        let (name, end) = self.name(self.at);
        self.at = end;
        let wanted = self.found.wants(name.tag) || matches!(name.tag, FONT | ANNOTATION_XML | INPUT);
        let Some(self_closing) = (if wanted { self.kept_attributes() } else { self.skipped_attributes() }) else {
            self.at = self.bytes.len();
            return;
        };
        let said = match name.tag {
            FONT => Said { styled_font: self.has_font_style(), self_closing, ..Said::default() },
            ANNOTATION_XML => Said { html_annotation: self.is_html_annotation(), self_closing, ..Said::default() },
            INPUT => Said { hidden: self.attributes.is(b"type", &["hidden"]), self_closing, ..Said::default() },
            _ => Said { self_closing, ..Said::default() },
        };
        let visible = !self.tree.in_template();
        let meaning = self.tree.start(name, said);
        self.told();
        match meaning {
            Meaning::Ignored => {}
            Meaning::Html => {
                if visible && wanted {
                    self.found.element(name.tag, &self.attributes);
                }
                if tags::is(name.tag, RAW) {
                    self.raw(name.tag, visible);
                }
            }
            Meaning::Foreign => {
                if visible && wanted && name.tag != BASE {
                    self.found.element(name.tag, &self.attributes);
                }
                if visible && name.tag == STYLE && !self_closing {
                    let end = memchr(b'<', &self.bytes[self.at..]).map_or(self.bytes.len(), |length| self.at + length);
                    self.found.style(&self.page[self.at..end]);
                }
            }
        }
    }

    /// The tree may have found out that the page is a frameset.
    #[inline]
    fn told(&mut self) {
        match std::mem::replace(&mut self.tree.event, Event::None) {
            Event::None => {}
            Event::BodyBegan => self.found.begin_body(),
            Event::BodyDropped => self.found.drop_body(),
        }
    }

    fn has_font_style(&self) -> bool {
        [b"color".as_slice(), b"face", b"size"].iter().any(|name| self.attributes.get(name).is_some())
    }

    fn is_html_annotation(&self) -> bool {
        self.attributes.is(b"encoding", &["text/html", "application/xhtml+xml"])
    }

    /// Behind a "<", at the "/".
    fn end_tag(&mut self) {
        let next = self.peek(1);
        if next.is_ascii_alphabetic() {
            let (name, end) = self.name(self.at + 1);
            self.at = end;
            if self.skipped_attributes().is_none() {
                self.at = self.bytes.len();
                return;
            }
            self.tree.end(name);
            self.told();
        } else if self.at + 1 >= self.bytes.len() {
            self.shown();
        } else {
            self.past(b'>');
        }
    }

    /// Behind a "<", at the "!": a comment, a CDATA section in a drawing, a document type, or what is taken for a comment.
    fn declaration(&mut self) {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"!--") {
            self.at += 3;
            self.comment();
        } else if rest.starts_with(b"![CDATA[") && self.tree.in_foreign() {
            let content = self.at + 8;
            let end = memmem::find(&self.bytes[content..], b"]]>").map_or(self.bytes.len(), |length| content + length);
            if self.bytes[content..end].iter().any(|byte| !is_space(*byte) && *byte != 0) {
                self.shown();
            }
            self.at = (end + 3).min(self.bytes.len());
        } else {
            self.past(b'>');
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        if self.peek(0) == b'>' || (self.peek(0) == b'-' && self.peek(1) == b'>') {
            return self.past(b'>');
        }
        while let Some(length) = memchr(b'>', &self.bytes[self.at..]) {
            let end = self.at + length;
            self.at = end + 1;
            let before = &self.bytes[start..end];
            if before.ends_with(b"--") || before.ends_with(b"--!") {
                return;
            }
        }
        self.at = self.bytes.len();
    }

    /// The name that begins here, and where it ends.
    #[inline]
    fn name(&self, start: usize) -> (Name, usize) {
        let mut letters = [0u8; LONGEST_NAME];
        let (mut number, mut hash) = (0u64, 0x811c_9dc5u32);
        let mut end = start;
        while let Some(&byte) = self.bytes.get(end)
            && CLASSES[byte as usize] & (SPACE | CLOSING) == 0
        {
            // No known name has a NUL, but the number of a name could be that of another one with it in front.
            let letter = if byte == 0 { 0xff } else { byte.to_ascii_lowercase() };
            let length = end - start;
            if length < LONGEST_NAME {
                letters[length] = letter;
            }
            if length < 8 {
                number = number << 8 | u64::from(letter);
            }
            hash = (hash ^ u32::from(letter)).wrapping_mul(0x0100_0193);
            end += 1;
        }
        let tag = letters.get(..end - start).map_or(OTHER, |name| tag_of(number, name));
        (Name { tag, hash: if tag == OTHER { hash } else { 0 } }, end)
    }

    /// The attributes of a tag, up to its ">"; whether "/" stands before that. None: the page ends before.
    fn kept_attributes(&mut self) -> Option<bool> {
        let mut all = std::mem::take(&mut self.attributes.all);
        all.clear();
        let closed = self.each_attribute(|one| all.push(one));
        self.attributes.all = all;
        closed
    }

    fn skipped_attributes(&mut self) -> Option<bool> {
        self.each_attribute(|_| {})
    }

    #[inline]
    fn each_attribute(&mut self, mut found: impl FnMut(Attribute)) -> Option<bool> {
        let bytes = self.bytes;
        let mut at = self.at;
        let mut slash = false;
        loop {
            let byte = *bytes.get(at)?;
            if byte == b'>' {
                self.at = at + 1;
                return Some(slash);
            }
            slash = byte == b'/';
            if slash || is_space(byte) {
                at += 1;
                continue;
            }
            let name = at;
            at += 1;
            while CLASSES[*bytes.get(at)? as usize] == 0 {
                at += 1;
            }
            let name = (name, at);
            at = past_space(bytes, at)?;
            if bytes[at] != b'=' {
                found(Attribute { name, value: (at, at) });
                continue;
            }
            at = past_space(bytes, at + 1)?;
            let value = match bytes[at] {
                quote @ (b'"' | b'\'') => {
                    let start = at + 1;
                    let end = find(quote, bytes, start)?;
                    at = end + 1;
                    (start, end)
                }
                b'>' => (at, at),
                _ => {
                    let start = at;
                    while !is_space(*bytes.get(at)?) && bytes[at] != b'>' {
                        at += 1;
                    }
                    (start, at)
                }
            };
            found(Attribute { name, value });
        }
    }

    /// The content of an element without tags, and its end tag.
    fn raw(&mut self, tag: Tag, visible: bool) {
        let start = self.at;
        let end = match tag {
            PLAINTEXT => self.skip_rest(),
            SCRIPT => self.script_end(),
            TITLE => self.raw_end(b"title"),
            TEXTAREA => self.raw_end(b"textarea"),
            STYLE => self.raw_end(b"style"),
            XMP => self.raw_end(b"xmp"),
            IFRAME => self.raw_end(b"iframe"),
            NOEMBED => self.raw_end(b"noembed"),
            _ => self.raw_end(b"noframes"),
        };
        if visible && tag == TITLE {
            self.found.title(&self.page[start..end]);
        } else if visible && tag == STYLE {
            self.found.style(&self.page[start..end]);
        }
    }

    fn skip_rest(&mut self) -> usize {
        self.at = self.bytes.len();
        self.at
    }

    /// Goes behind the end tag; says where that begins.
    fn raw_end(&mut self, name: &[u8]) -> usize {
        let mut at = self.at;
        while let Some(length) = memchr(b'<', &self.bytes[at..]) {
            at += length + 1;
            if self.bytes.get(at) == Some(&b'/') && self.names(at + 1, name) {
                return self.behind_end_tag(at - 1, name);
            }
        }
        self.skip_rest()
    }

    /// In a script, "<!--" hides the end tag of a script that begins behind it.
    fn script_end(&mut self) -> usize {
        const SCRIPT_NAME: &[u8] = b"script";
        let (mut hiding, mut hidden) = (false, false);
        let mut at = self.at;
        loop {
            // An end of what hides matters only where something does.
            let next = if hiding { memchr2(b'<', b'>', &self.bytes[at..]) } else { memchr(b'<', &self.bytes[at..]) };
            let Some(length) = next else { break };
            at += length;
            if self.bytes[at] == b'>' {
                if self.bytes[self.at..at].ends_with(b"--") {
                    (hiding, hidden) = (false, false);
                }
            } else if self.bytes.get(at + 1) == Some(&b'/') {
                if self.names(at + 2, SCRIPT_NAME) {
                    if !hidden {
                        return self.behind_end_tag(at, SCRIPT_NAME);
                    }
                    hidden = false;
                }
            } else if self.bytes[at..].starts_with(b"<!--") {
                hiding = true;
                at += 3;
            } else if hiding && self.names(at + 1, SCRIPT_NAME) {
                hidden = true;
            }
            at += 1;
        }
        self.skip_rest()
    }

    /// Whether this name stands here, as that of a tag.
    fn names(&self, at: usize, name: &[u8]) -> bool {
        let end = at + name.len();
        self.bytes.get(at..end).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && self.bytes.get(end).is_some_and(|&byte| is_space(byte) || byte == b'/' || byte == b'>')
    }

    fn behind_end_tag(&mut self, sign: usize, name: &[u8]) -> usize {
        self.at = sign + 2 + name.len();
        if self.skipped_attributes().is_none() {
            self.at = self.bytes.len();
        }
        sign
    }
}

/// What ends the name of a tag or attribute: blanks, "/" and ">", "=".
const SPACE: u8 = 1;
const CLOSING: u8 = 2;
const EQUALS: u8 = 4;
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    classes[b' ' as usize] = SPACE;
    classes[b'\n' as usize] = SPACE;
    classes[b'\t' as usize] = SPACE;
    classes[b'\r' as usize] = SPACE;
    classes[b'\x0c' as usize] = SPACE;
    classes[b'/' as usize] = CLOSING;
    classes[b'>' as usize] = CLOSING;
    classes[b'=' as usize] = EQUALS;
    classes
};

#[inline]
fn is_space(byte: u8) -> bool {
    CLASSES[byte as usize] == SPACE
}

/// Where the next such byte is. Most are near, so that eight bytes at a time find them sooner than a call would.
#[inline]
fn find(byte: u8, bytes: &[u8], mut at: usize) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    for _ in 0..4 {
        let Some(Ok(chunk)) = bytes.get(at..at + 8).map(<[u8; 8]>::try_from) else { break };
        let different = u64::from_le_bytes(chunk) ^ (u64::from(byte) * LOW);
        let found = different.wrapping_sub(LOW) & !different & (LOW << 7);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr(byte, &bytes[at..]).map(|length| at + length)
}

#[inline]
fn past_space(bytes: &[u8], mut at: usize) -> Option<usize> {
    while is_space(*bytes.get(at)?) {
        at += 1;
    }
    Some(at)
}
