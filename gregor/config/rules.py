"""What the type of a setting cannot say: powers of two, address blocks, secrets, contradictions."""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from gregor.config.problems import describe, printable
from gregor.config.secrets import HIDDEN, is_reference, is_secret
from gregor.config.sections import Settings

GENERATED: Final = "generated:"
"""What a web begins with that is made up, and no folder."""
_URL: Final = re.compile(r"https?://[^\s/?#]+[^\s\x00-\x1f\x7f]*", re.IGNORECASE)
_CONTACT: Final = re.compile(r"(?:https?://|mailto:)[!-'*-~]+", re.IGNORECASE)
_BROKER: Final = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})", re.ASCII)
_SECURITY: Final = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.", "https.")
_PATTERN: Final = re.compile(r"[\w.*?:\[\]-]+", re.ASCII)
_DOMAIN: Final = re.compile(r"[a-z0-9.-]+")
_EXTENSION: Final = re.compile(r"[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/(?:\*|[\w.+-]+)|\*/\*\+[\w.-]+", re.ASCII)
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t -~\x80-\xff]*")
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "user-agent"})


class Broken(NamedTuple):
    """A rule that is broken by the value of `key`, perhaps only together with that of `other`."""

    key: str
    found: str
    expected: str
    other: str = ""


def is_web_url(text: str) -> bool:
    """Whether it has the form of a URL with http or https and a host."""
    return _URL.fullmatch(text) is not None


def broken_rules(settings: Settings) -> Iterator[Broken]:
    for rule in RULES:
        yield from rule(settings)


def _crawl(settings: Settings) -> Iterator[Broken]:
    crawl = settings.crawl
    for seed in crawl.seeds:
        if not is_web_url(seed):
            yield Broken("crawl.seeds", describe(seed), "URLs that begin with http:// or https://")
    if crawl.contact and not _CONTACT.fullmatch(crawl.contact):
        yield Broken(
            "crawl.contact",
            describe(crawl.contact),
            "a URL with http://, https:// or mailto:, without blanks and parentheses",
        )


def _partitions(settings: Settings) -> Iterator[Broken]:
    repositories, partitions = settings.partitions.repositories, settings.partitions.partitions
    if repositories.bit_count() != 1:
        yield Broken("partitions.repositories", str(repositories), "a power of two")
    if partitions.bit_count() != 1:
        yield Broken("partitions.partitions", str(partitions), "a power of two")
    if partitions > repositories:
        expected = f"at most partitions.repositories, which is {repositories}"
        yield Broken("partitions.partitions", str(partitions), expected, other="partitions.repositories")


def _sites(settings: Settings) -> Iterator[Broken]:
    slots, partitions = settings.sites.slots, settings.partitions.partitions
    if slots > partitions:
        expected = f"at most partitions.partitions, which is {partitions}"
        yield Broken("sites.slots", str(slots), expected, other="partitions.partitions")


def _kafka(settings: Settings) -> Iterator[Broken]:
    for broker in settings.kafka.bootstrap.split(","):
        port = _BROKER.fullmatch(broker.strip())
        if port is None or not 0 < int(port[1]) < 65_536:
            yield Broken("kafka.bootstrap", describe(settings.kafka.bootstrap), "host:port, several with commas")
            break
    for name, value in settings.kafka.security.items():
        key = f"kafka.security.{name}"
        if not name.startswith(_SECURITY):
            yield Broken(key, "that name", f"one that begins with {', '.join(_SECURITY[:3])}")
        elif is_secret(name) and not is_reference(value):
            yield Broken(key, f"{HIDDEN} (a secret in plain text)", "env:NAME or file:PATH")


def _state(settings: Settings) -> Iterator[Broken]:
    if "\0" in settings.state.folder:
        yield Broken("state.folder", describe(settings.state.folder), "a path")


def _fetch(settings: Settings) -> Iterator[Broken]:
    for media_type in settings.fetch.types:
        if not _MEDIA_TYPE.fullmatch(media_type):
            yield Broken("fetch.types", describe(media_type), 'media types such as "text/html", "text/*" or "*/*+xml"')
    if settings.fetch.allow_addresses:
        from ipaddress import ip_network

        for block in settings.fetch.allow_addresses:
            try:
                ip_network(block)
            except ValueError:
                yield Broken(
                    "fetch.allow_addresses", describe(block), 'address blocks such as "127.0.0.0/8" or "fd00::/8"'
                )


def _emulate(settings: Settings) -> Iterator[Broken]:
    web = settings.emulate.web
    if settings.fetch.backend == "archive" and not web:
        yield Broken(
            "emulate.web",
            "none",
            'an archive or generated:PAGES,SITES,SEED, for fetch.backend is "archive"',
            "fetch.backend",
        )
    if "\0" in web:
        yield Broken("emulate.web", describe(web), "a path")
    if web.startswith(GENERATED):
        from gregor.offline.generated import shape_of

        try:
            shape_of(web.removeprefix(GENERATED))
        except ValueError as error:
            yield Broken(
                "emulate.web", describe(web), f"{GENERATED} and behind it {str(error).removeprefix('expected ')}"
            )


def _server(settings: Settings) -> Iterator[Broken]:
    for index, rule in enumerate(settings.server):
        if not _PATTERN.fullmatch(rule.match):
            yield Broken(
                f"server[{index}].match", describe(rule.match), 'a server name with * and ?, such as "*.example.com"'
            )
        for name, value in rule.headers.items():
            key = f"server[{index}].headers"
            if not _HEADER_NAME.fullmatch(name) or name.lower() in _OURS:
                yield Broken(key, describe(name), "names of HTTP headers other than those that gregor sets itself")
            elif not _HEADER_VALUE.fullmatch(value):
                yield Broken(key, f"{HIDDEN} for {describe(name)}", "header values on one line")


def _scope(settings: Settings) -> Iterator[Broken]:
    scope = settings.scope
    for key in ("include", "exclude"):
        for pattern in getattr(scope, key):
            if reason := _not_a_pattern(pattern):
                yield Broken(f"scope.{key}", describe(pattern), f"a regular expression of RE2 ({reason})")
    for name, key in [*((host, "hosts") for host in scope.hosts), *((domain, "domains") for domain in scope.domains)]:
        if not _PATTERN.fullmatch(name) or (key == "domains" and not _DOMAIN.fullmatch(name)):
            yield Broken(f"scope.{key}", describe(name), 'names such as "example.org", in hosts also with * and ?')
    for prefix in scope.prefixes:
        if not is_web_url(prefix):
            yield Broken("scope.prefixes", describe(prefix), "beginnings of URLs, with http:// or https:// and a host")
    for ending in scope.refuse_extensions:
        if not _EXTENSION.fullmatch(ending):
            yield Broken("scope.refuse_extensions", describe(ending), 'endings such as "zip" or "tar.gz"')


def _item(settings: Settings) -> Iterator[Broken]:
    names = [rule.name for rule in settings.item]
    for index, rule in enumerate(settings.item):
        if "*" in (rule.name, rule.match):
            # It stands for a key that is missing or wrong, which was said already.
            continue
        path = f"item[{index}]"
        if rule.name == "page" or names.index(rule.name) != index:
            yield Broken(f"{path}.name", describe(rule.name), 'a name of its own, other than "page"')
        if reason := _not_a_pattern(rule.match):
            yield Broken(f"{path}.match", describe(rule.match), f"a regular expression of RE2 ({reason})")
        if bool(rule.fields) == bool(rule.function):
            found = "both" if rule.function else "neither"
            yield Broken(f"{path}.fields", found, "either fields or a function", other=f"{path}.name")
        if rule.each and _not_css(rule.each):
            yield Broken(f"{path}.each", describe(rule.each), "a CSS selector")
        for name, field in rule.fields.items():
            if (field.css == "") == (field.xpath == ""):
                yield Broken(f"{path}.fields", f"{describe(name)} with both or neither", "css or xpath for each field")
            elif _not_css(field.css) if field.css else _not_xpath(field.xpath):
                found = describe(field.css or field.xpath)
                yield Broken(f"{path}.fields", found, "a CSS selector" if field.css else "an XPath expression")


def _not_a_pattern(pattern: str) -> str:
    """What RE2, whose time is linear in the text whatever the pattern, says against it; empty: nothing."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        return printable(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason), 100)
    return ""


def _not_css(selector: str) -> bool:
    from cssselect import SelectorError
    from parsel.csstranslator import HTMLTranslator

    try:
        HTMLTranslator().css_to_xpath(selector)
    except (SelectorError, RecursionError):
        return True
    return False


def _not_xpath(expression: str) -> bool:
    from lxml import etree  # type: ignore[import-untyped]

    try:
        etree.XPath(expression, namespaces=None)
    except etree.XPathSyntaxError:
        return True
    return False


RULES: Final[tuple[Callable[[Settings], Iterator[Broken]], ...]] = (
    _crawl,
    _partitions,
    _sites,
    _kafka,
    _state,
    _fetch,
    _emulate,
    _scope,
    _server,
    _item,
)
