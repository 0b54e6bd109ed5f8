"""One response, read: a pure function of its facts, its body and the settings, which may run in any process."""

from __future__ import annotations

import msgspec

from gregor.config import Config
from gregor.rules.canonical import rules_of
from gregor.url.canonical import Url, join
from schemas.pages import PageFacts
from workers.extractor import links, sitemaps
from workers.extractor.charset import decode
from workers.extractor.headers import all_headers, header, header_links
from workers.extractor.links import is_html
from workers.extractor.listed import Form
from workers.extractor.page_facts import PageText, read_text
from workers.extractor.page_links import ExtractLimits, RawLink
from workers.extractor.requisites import css_urls
from workers.extractor.robots_meta import RobotsDirectives, from_headers
from workers.extractor.sitemaps import ListLimits


class ReadSettings(msgspec.Struct, frozen=True):
    """What is looked for."""

    limits: ExtractLimits = ExtractLimits()
    lists: ListLimits = ListLimits()
    sitemaps: bool = True
    probe_sitemap: bool = False
    feeds: bool = True
    text: bool = False
    """Main text and language."""
    max_text_bytes: int = 256 * 1024

    @classmethod
    def of(cls, config: Config) -> ReadSettings:
        extract = config.extract
        return cls(
            ExtractLimits(extract.max_links, config.robots_agent, extract.requisites, rules_of(config.url)),
            ListLimits(extract.max_sitemap_urls, extract.max_sitemap_bytes),
            extract.sitemaps,
            extract.probe_sitemap,
            extract.feeds,
            bool({"text", "language"} & set(extract.page_facts)),
            extract.max_text_bytes,
        )


class Reading(msgspec.Struct, frozen=True):
    """What a response holds for a crawl."""

    form: str
    """"html", "sitemap", "feed", "css", "redirect", "robots", "undecodable"; empty: nothing to read."""
    base: str
    """What the links are joined to."""
    found: list[RawLink] = []
    dropped: int = 0
    """Links beyond the limits."""
    complete: bool = True
    robots: RobotsDirectives = RobotsDirectives()
    title: str = ""
    page_text: PageText = PageText()


def read(facts: PageFacts, body: bytes, settings: ReadSettings) -> Reading:
    """Any response is answered, none raises."""
    if facts.kind == "robots":
        return _robots_file(facts, body, settings)
    if 300 <= facts.status < 400:
        location = header(facts.response_headers, "location")
        # 304 and 300 without a target have nothing to follow.
        return Reading("redirect", facts.url, [links.redirect(location)]) if location else Reading("", facts.url)
    if not 200 <= facts.status < 300:
        return Reading("", facts.url)
    directives = from_headers(all_headers(facts.response_headers, "x-robots-tag"), settings.limits.agent)
    if facts.undecoded:
        return Reading("undecodable", facts.url, header_links(facts.response_headers), robots=directives)
    content_type = header(facts.response_headers, "content-type")
    form = _list_form(content_type, body, settings)
    if form is not None:
        listed = sitemaps.read_list(body, content_type, form, settings.lists, facts.url, not facts.truncated)
        return Reading(form, facts.url, listed.links, listed.dropped, listed.complete, directives)
    if is_html(content_type, body):
        return _html(facts, body, content_type, directives, settings)
    return _other(facts, body, content_type, directives, settings)


def _robots_file(facts: PageFacts, body: bytes, settings: ReadSettings) -> Reading:
    readable = 200 <= facts.status < 300 and not facts.undecoded
    named = sitemaps.robots_sitemaps(body) if settings.sitemaps and readable else []
    if not named and settings.probe_sitemap and (200 <= facts.status < 300 or 400 <= facts.status < 500):
        named = ["/sitemap.xml"]
    return Reading("robots", facts.url, [RawLink(one, "sitemap") for one in named])


def _list_form(content_type: str, body: bytes, settings: ReadSettings) -> Form | None:
    form = sitemaps.form_of(content_type, body)
    return form if (form == "sitemap" and settings.sitemaps) or (form == "feed" and settings.feeds) else None


def _html(
    facts: PageFacts, body: bytes, content_type: str, directives: RobotsDirectives, settings: ReadSettings
) -> Reading:
    page = links.extract(body, content_type, facts.url, settings.limits)
    found = page.links
    from_header = header_links(facts.response_headers)
    if from_header:
        # Headers are joined to the page's own URL, whatever its base element says.
        found = [*_absolute(facts.url, from_header), *found] if page.base != facts.url else [*from_header, *found]
    text = PageText()
    if settings.text:
        text = read_text(body, content_type, facts.response_headers, settings.max_text_bytes)
    return Reading("html", page.base, found, page.dropped, page.complete, directives | page.robots, page.title, text)


def _other(
    facts: PageFacts, body: bytes, content_type: str, directives: RobotsDirectives, settings: ReadSettings
) -> Reading:
    """Neither page nor list: only its headers can link, and a style sheet has requisites."""
    found = header_links(facts.response_headers)
    if settings.limits.requisites and content_type.lower().startswith("text/css"):
        urls = [RawLink(url, "requisite") for url in css_urls(decode(body, content_type).text)]
        dropped = max(0, len(urls) - settings.limits.max_links)
        return Reading("css", facts.url, [*found, *urls[: settings.limits.max_links]], dropped, True, directives)
    return Reading("", facts.url, found, robots=directives)


def _absolute(url: str, found: list[RawLink]) -> list[RawLink]:
    joined = ((join(url, link.href), link) for link in found)
    return [RawLink(target.text, link.kind, link.rel) for target, link in joined if isinstance(target, Url)]
