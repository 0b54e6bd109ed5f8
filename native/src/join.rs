//! The canonical form of a link on a page: the same answers as gregor/url/canonical.py gives, by the same parser (ada).
//!
//! Links as most are written never reach the parser: what it would hand back unchanged is put together here.

use std::borrow::Cow;
use std::collections::HashMap;

use ada_url::Url;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::hash::Hashed;

/// Longer than any URL within the cap plus a generous fragment; nothing beyond it is handed to the parser.
const MAX_RAW: usize = 65_536;
const TRACKING: [&[u8]; 21] = [
    b"gclid",
    b"gclsrc",
    b"dclid",
    b"gbraid",
    b"wbraid",
    b"fbclid",
    b"msclkid",
    b"yclid",
    b"twclid",
    b"ttclid",
    b"igshid",
    b"mc_cid",
    b"mc_eid",
    b"_ga",
    b"_gl",
    b"_hsenc",
    b"_hsmi",
    b"mkt_tok",
    b"vero_id",
    b"wickedid",
    b"s_cid",
];
const TRACKING_PREFIXES: [&[u8]; 3] = [b"utm_", b"pk_", b"mtm_"];
const SESSION: [&[u8]; 10] = [
    b"jsessionid",
    b"phpsessid",
    b"sid",
    b"sessid",
    b"sessionid",
    b"session_id",
    b"zenid",
    b"cfid",
    b"cftoken",
    b"osessionid",
];
const SESSION_PREFIX: &[u8] = b"aspsessionid";
const PATH_SESSION: &[u8] = b";jsessionid=";

/// What canonicalisation does beyond the part that never changes a resource.
#[derive(Clone, Copy)]
pub struct Rules {
    pub max_length: usize,
    pub drop_session_ids: bool,
    pub drop_tracking: bool,
    pub sort_query: bool,
}

impl Rules {
    /// Whether any rule looks into path or query.
    fn rewrite(self) -> bool {
        self.drop_session_ids || self.drop_tracking || self.sort_query
    }
}

/// No rewriting, and the cap that the form of a base element's URL has.
pub const DEFAULT_RULES: Rules =
    Rules { max_length: 2048, drop_session_ids: false, drop_tracking: false, sort_query: false };
const UNCAPPED_RULES: Rules = Rules { max_length: usize::MAX, ..DEFAULT_RULES };

/// Why a text is no URL for a crawl.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Refusal {
    Scheme,
    Invalid,
    Credentials,
    TooLong,
}

/// In the order of `Refusal`, as Python names them.
pub const REFUSALS: [&str; 4] = ["scheme", "invalid", "credentials", "too-long"];

/// A canonical URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Canonical<'a> {
    pub https: bool,
    pub server: Cow<'a, str>,
    /// Path and query.
    pub path: Cow<'a, str>,
}

impl Canonical<'_> {
    pub fn text(&self) -> String {
        format!("{}://{}{}", scheme(self.https), self.server, self.path)
    }

    fn owned(self) -> Canonical<'static> {
        Canonical {
            https: self.https,
            server: Cow::Owned(self.server.into_owned()),
            path: Cow::Owned(self.path.into_owned()),
        }
    }
}

/// A link's target: its server by number.
pub struct Target {
    pub https: bool,
    pub server: u32,
    pub path: String,
    pub fingerprint: u64,
}

/// Joins the links of one page, and numbers the servers that they lead to.
pub struct Joiner {
    rules: Rules,
    base: String,
    page: Canonical<'static>,
    /// How much of its path relative links are joined to.
    directory: usize,
    pub servers: Vec<String>,
    numbers: HashMap<String, u32, Hashed>,
}

impl Joiner {
    /// None: the URL of the page is none.
    pub fn new(base: &str, rules: Rules) -> Option<Self> {
        let page = split(base, UNCAPPED_RULES).ok()?;
        let bare = page.path.find('?').unwrap_or(page.path.len());
        let directory = page.path[..bare].rfind('/')? + 1;
        Some(Joiner {
            rules,
            base: page.text(),
            directory,
            servers: vec![page.server.to_string()],
            numbers: HashMap::from_iter([(page.server.to_string(), 0)]),
            page,
        })
    }

    pub fn join(&mut self, href: &str) -> Result<Target, Refusal> {
        let found = if let Some(path) = self.simple(href) {
            if path.len() + self.page.server.len() + 8 <= self.rules.max_length && !self.rules.rewrite() {
                return Ok(target(self.page.https, 0, path));
            }
            finish(self.page.https, &self.page.server, Cow::Owned(path), self.rules)?.owned()
        } else if let Some((https, server, path)) = absolute(href) {
            finish(https, server, path, self.rules)?.owned()
        } else {
            join(&self.base, href, self.rules)?
        };
        let server = self.number(&found.server);
        Ok(target(found.https, server, found.path.into_owned()))
    }

    fn number(&mut self, server: &str) -> u32 {
        if let Some(&number) = self.numbers.get(server) {
            return number;
        }
        let number = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
        self.servers.push(server.to_owned());
        self.numbers.insert(server.to_owned(), number);
        number
    }

    /// Path and query of a link within the page's server, without escapes, empty or dotted segments; None: it is not of that kind.
    fn simple(&self, href: &str) -> Option<String> {
        let bytes = href.as_bytes();
        let rooted = bytes.first() == Some(&b'/');
        let mut ups = 0;
        if !rooted {
            while bytes[ups..].starts_with(b"../") {
                ups += 3;
            }
        }
        let mut at = ups + usize::from(rooted);
        // Before the first slash of a relative link a colon ends a scheme.
        let mut colons = rooted;
        loop {
            if bytes.get(at).is_none_or(|&byte| CLASSES[byte as usize] & FIRST == 0) {
                return None;
            }
            at += 1;
            while bytes.get(at).is_some_and(|&byte| CLASSES[byte as usize] & INNER != 0) {
                if bytes[at] == b':' && !colons {
                    return None;
                }
                at += 1;
            }
            match bytes.get(at) {
                None => break,
                Some(b'/') => {
                    at += 1;
                    colons = true;
                    if matches!(bytes.get(at), None | Some(b'?')) {
                        break;
                    }
                }
                Some(b'?') => break,
                _ => return None,
            }
        }
        if bytes[at..].iter().any(|&byte| CLASSES[byte as usize] & QUERY == 0) {
            return None;
        }
        Some(if rooted { href.to_owned() } else { format!("{}{}", self.ancestor(ups / 3), &href[ups..]) })
    }

    /// The page's directory after so many "../"; the root is its own parent.
    fn ancestor(&self, ups: usize) -> &str {
        let mut directory = &self.page.path[..self.directory];
        for _ in 0..ups {
            match directory[..directory.len() - 1].rfind('/') {
                Some(slash) => directory = &directory[..=slash],
                None => break,
            }
        }
        directory
    }
}

fn target(https: bool, server: u32, path: String) -> Target {
    let mut hash = Xxh3::new();
    hash.update(scheme(https).as_bytes());
    hash.update(b"\0");
    hash.update(path.as_bytes());
    Target { https, server, fingerprint: hash.digest(), path }
}

/// 64 bits of a server's name, as gregor/url/fingerprint.py has them.
pub fn server_hash(server: &str) -> u64 {
    xxh3_64(server.as_bytes())
}

pub fn scheme(https: bool) -> &'static str {
    if https { "https" } else { "http" }
}

/// The canonical form of an absolute URL.
pub fn split(url: &str, rules: Rules) -> Result<Canonical<'static>, Refusal> {
    refuse_unparsed(url)?;
    let parsed = Url::parse(url, None).map_err(|_| Refusal::Invalid)?;
    from_href(parsed.href(), rules)
}

/// The canonical form of a link on the page `base`, whose URL is canonical.
pub fn join(base: &str, href: &str, rules: Rules) -> Result<Canonical<'static>, Refusal> {
    refuse_unparsed(href)?;
    let parsed = Url::parse(href, Some(base)).map_err(|_| Refusal::Invalid)?;
    from_href(parsed.href(), rules)
}

fn refuse_unparsed(text: &str) -> Result<(), Refusal> {
    let trimmed = text.trim_start_matches(|character: char| character <= ' ');
    let bytes = trimmed.as_bytes();
    if bytes.first().is_some_and(u8::is_ascii_alphabetic) {
        let end = bytes.iter().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-')));
        if let Some(end) = end.filter(|&end| bytes[end] == b':') {
            let named = &bytes[..end];
            if !named.eq_ignore_ascii_case(b"http") && !named.eq_ignore_ascii_case(b"https") {
                return Err(Refusal::Scheme);
            }
        }
    }
    if text.len() > MAX_RAW && text.chars().count() > MAX_RAW {
        return Err(Refusal::TooLong);
    }
    Ok(())
}

/// From the parser's own serialisation, where every part is where the standard puts it.
fn from_href(href: &str, rules: Rules) -> Result<Canonical<'static>, Refusal> {
    let (https, rest) = if let Some(rest) = href.strip_prefix("https://") {
        (true, rest)
    } else if let Some(rest) = href.strip_prefix("http://") {
        (false, rest)
    } else {
        return Err(Refusal::Scheme);
    };
    let slash = rest.find('/').ok_or(Refusal::Invalid)?;
    let (server, path) = rest.split_at(slash);
    if server.contains('@') {
        return Err(Refusal::Credentials);
    }
    let path = path.split('#').next().unwrap_or(path);
    if server.ends_with('.') || server.contains(".:") {
        // DNS knows one host where the text has two; what is left may be an address, so it is parsed again.
        let (host, port) = server.split_at(server.find(':').unwrap_or(server.len()));
        let host = host.trim_end_matches('.');
        if host.is_empty() {
            return Err(Refusal::Invalid);
        }
        return split(&format!("{}://{host}{port}{path}", scheme(https)), rules);
    }
    finish(https, server, Cow::Borrowed(path), rules).map(Canonical::owned)
}

/// The last step, from parsed parts: escapes, rules, length.
fn finish<'a>(https: bool, server: &'a str, path: Cow<'a, str>, rules: Rules) -> Result<Canonical<'a>, Refusal> {
    let path = if path.contains('%') { Cow::Owned(normal_escapes(&path)) } else { path };
    if rules.rewrite() {
        let rewritten = rewritten(&path, rules);
        if rewritten != path {
            // Dropping ";jsessionid=1" from "/..;jsessionid=1/" leaves a dot segment. The path gets shorter, so this ends.
            return split(&format!("{}://{server}{rewritten}", scheme(https)), rules);
        }
    }
    if scheme(https).len() + 3 + server.len() + path.len() > rules.max_length {
        return Err(Refusal::TooLong);
    }
    Ok(Canonical { https, server: Cow::Borrowed(server), path })
}

/// Upper-case hex, unreserved characters decoded. A "%" that starts no escape turns decoding off for its segment.
fn normal_escapes(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    for piece in path.split_inclusive(['/', '?']) {
        let stray = piece.match_indices('%').any(|(at, _)| escape_at(piece, at).is_none());
        let mut rest = piece;
        while let Some(at) = rest.find('%') {
            normal.push_str(&rest[..at]);
            match escape_at(rest, at) {
                Some(byte) if !stray && is_unreserved(byte) => normal.push(byte as char),
                Some(byte) => normal.push_str(&format!("%{byte:02X}")),
                None => normal.push('%'),
            }
            rest = &rest[at + if escape_at(rest, at).is_some() { 3 } else { 1 }..];
        }
        normal.push_str(rest);
    }
    normal
}

fn escape_at(text: &str, at: usize) -> Option<u8> {
    let digits = text.as_bytes().get(at + 1..at + 3)?;
    let digit = |byte: u8| (byte as char).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn rewritten(path: &str, rules: Rules) -> String {
    let (bare, query) = path.split_once('?').map_or((path, None), |(bare, query)| (bare, Some(query)));
    let mut made =
        if rules.drop_session_ids && bare.contains(';') { without_path_session(bare) } else { bare.to_owned() };
    let Some(query) = query else { return made };
    let name = |pair: &'_ str| pair.split('=').next().unwrap_or_default().to_owned();
    let mut kept: Vec<&str> = query.split('&').filter(|pair| !is_dropped(&name(pair), rules)).collect();
    if rules.sort_query {
        kept.sort_by_key(|pair| name(pair));
    }
    let query = kept.join("&");
    if !query.is_empty() {
        made.push('?');
        made.push_str(&query);
    }
    made
}

fn without_path_session(bare: &str) -> String {
    let mut made = String::with_capacity(bare.len());
    let mut rest = bare;
    while let Some(at) = rest.find(';') {
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.as_bytes().get(..PATH_SESSION.len()).is_some_and(|start| start.eq_ignore_ascii_case(PATH_SESSION)) {
            let value = &rest[PATH_SESSION.len()..];
            rest = &value[value.find(['/', ';', '?']).unwrap_or(value.len())..];
        } else {
            made.push(';');
            rest = &rest[1..];
        }
    }
    made.push_str(rest);
    made
}

fn is_dropped(name: &str, rules: Rules) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.as_bytes();
    let tracking = || TRACKING.contains(&name) || TRACKING_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let session = || SESSION.contains(&name) || name.starts_with(SESSION_PREFIX);
    (rules.drop_tracking && tracking()) || (rules.drop_session_ids && session())
}

/// The parts of an absolute link that is canonical as it is written, but for a fragment's and the rules' sake; None: ask the parser.
fn absolute(href: &str) -> Option<(bool, &str, Cow<'_, str>)> {
    let (https, rest) = href
        .strip_prefix("https://")
        .map(|rest| (true, rest))
        .or_else(|| Some((false, href.strip_prefix("http://")?)))?;
    let end = rest
        .bytes()
        .position(|byte| !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')));
    let (server, path) = rest.split_at(end.unwrap_or(rest.len()));
    if !is_plain_host(server) {
        return None;
    }
    let bytes = path.as_bytes();
    match bytes.first() {
        None => return Some((https, server, Cow::Borrowed("/"))),
        Some(b'/') => {}
        _ => return None,
    }
    let query = bytes.iter().position(|&byte| byte == b'?').unwrap_or(bytes.len());
    let plain = bytes[..query].iter().all(|&byte| CLASSES[byte as usize] & (INNER | SLASH) != 0)
        && bytes[query..].iter().all(|&byte| CLASSES[byte as usize] & QUERY != 0)
        && memchr::memmem::find(&bytes[..query], b"/.").is_none();
    plain.then_some((https, server, Cow::Borrowed(path)))
}

/// A name that neither IDNA nor the parser of addresses changes.
fn is_plain_host(server: &str) -> bool {
    let mut last = "";
    for label in server.split('.') {
        if label.is_empty() || label.starts_with("xn--") {
            return false;
        }
        last = label;
    }
    last.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
}

/// May begin a segment, stand in one, stand in a query: characters that the parser hands back unchanged.
const FIRST: u8 = 1;
const INNER: u8 = 2;
const QUERY: u8 = 4;
const SLASH: u8 = 8;
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        classes[byte] = match letter {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => FIRST | INNER | QUERY,
            b'-' | b'_' | b'~' | b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b'@' => {
                FIRST | INNER | QUERY
            }
            b'.' | b':' => INNER | QUERY,
            b'/' => SLASH | QUERY,
            b'?' => QUERY,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, href: &str, rules: Rules) -> String {
        let Some(mut joiner) = Joiner::new(base, rules) else { return "base".to_owned() };
        match joiner.join(href) {
            Ok(found) => format!("{}://{}{}", scheme(found.https), joiner.servers[found.server as usize], found.path),
            Err(refusal) => REFUSALS[refusal as usize].to_owned(),
        }
    }

    #[test]
    fn links_are_joined() {
        let base = "http://h.example/a/b?c";
        for (href, meant) in [
            ("", "http://h.example/a/b?c"),
            ("x", "http://h.example/a/x"),
            ("../x/", "http://h.example/x/"),
            ("../../../x?y", "http://h.example/x?y"),
            ("/x//y", "http://h.example/x//y"),
            ("./x/../y", "http://h.example/a/y"),
            ("https://OTHER.example:443/%7ex%2f%zz#f", "https://other.example/%7Ex%2F%zz"),
            ("//other.example./x", "http://other.example/x"),
            ("http://other.example", "http://other.example/"),
            ("mailto:x", "scheme"),
            ("http://u:p@h/", "credentials"),
            ("http://[", "invalid"),
        ] {
            assert_eq!(joined(base, href, DEFAULT_RULES), meant, "{href}");
        }
    }

    #[test]
    fn rules_rewrite() {
        let rules = Rules { drop_session_ids: true, drop_tracking: true, sort_query: true, ..DEFAULT_RULES };
        let found = joined("http://h/", "/x/..;jsessionid=1/y?b=1&utm_a=2&a=3&PHPSESSID=4", rules);
        assert_eq!(found, "http://h/y?a=3&b=1");
    }
}
