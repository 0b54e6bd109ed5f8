"""Items: what the user's rules take out of a page, by fields or by a function of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from parsel import Selector

from gregor.config.sections import ItemField, ItemRule
from gregor.rules.patterns import Matches, any_of
from gregor.url.canonical import CanonicalRules, UrlRefusal, join
from workers.extractor.plugin import Function, Link, Page, load

MOST_ITEMS: Final = 10_000
LARGEST_ITEM: Final = 1024 * 1024
MOST_LINKS: Final = 10_000

ERROR: Final = "item-error"
INCOMPLETE: Final = "item-incomplete"
TOO_LARGE: Final = "item-too-large"
TOO_MANY: Final = "item-too-many"

_GROUPING = re.compile(r"(?<=\d)[\s',_](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_TRUE: Final = frozenset(("true", "yes", "on", "1"))
_FALSE: Final = frozenset(("false", "no", "off", "0", ""))


class TakenItem(msgspec.Struct, frozen=True):
    """One item."""

    rule: str
    number: int
    fields: dict[str, Any]


class Failure(msgspec.Struct, frozen=True):
    """Why a rule gave less than it could."""

    rule: str
    reason: str
    detail: str = ""
    count: int = 1


class Taken(msgspec.Struct, frozen=True):
    """All that the rules took out of one page."""

    items: list[TakenItem] = []
    links: list[str] = []
    failures: list[Failure] = []


class Rule:
    """One rule, ready to be used. A function that cannot be imported fails on each page that it is for."""

    def __init__(self, settings: ItemRule, urls: CanonicalRules) -> None:
        self.name = settings.name
        self.matches: Matches = any_of((settings.match,))
        self._settings = settings
        self._urls = urls
        self._function: Function | None = None

    def apply(self, page: Page) -> Taken:
        """What the rule takes out of a page whose URL it matches."""
        try:
            return self._by_function(page) if self._settings.function else self._by_fields(page)
        except Exception as error:  # A user's code may raise anything; the page goes on without it.
            detail = f"{self.name}: {type(error).__name__}: {error}"
            return Taken(failures=[Failure(self.name, ERROR, detail[:500])])

    def _by_function(self, page: Page) -> Taken:
        if self._function is None:
            self._function = load(self._settings.function)
        items: list[TakenItem] = []
        links: list[str] = []
        failures: list[Failure] = []
        try:
            for given in self._function(page) or ():
                if isinstance(given, Link):
                    if len(links) < MOST_LINKS:
                        links.append(given.url)
                elif isinstance(given, Mapping):
                    if not self._keep(msgspec.to_builtins(dict(given), str_keys=True), items, failures):
                        break
                else:
                    raise TypeError(f"expected a mapping or a Link, found {type(given).__name__}")
        except Exception as error:  # What it yielded before is kept.
            failures.append(Failure(self.name, ERROR, f"{self.name}: {type(error).__name__}: {error}"[:500]))
        return Taken(items, links, failures)

    def _by_fields(self, page: Page) -> Taken:
        items: list[TakenItem] = []
        failures: list[Failure] = []
        roots = page.selector.css(self._settings.each) if self._settings.each else [page.selector]
        for root in roots:
            fields, missing = self._fields(root, page.url)
            if missing:
                failures.append(Failure(self.name, INCOMPLETE, f"{self.name}: no {', '.join(missing)}"))
            elif fields and not self._keep(fields, items, failures):
                break
        return Taken(items, [], failures)

    def _fields(self, root: Selector, url: str) -> tuple[dict[str, Any], list[str]]:
        """The values that were found, and the names of required ones that were not."""
        fields: dict[str, Any] = {}
        missing = []
        for name, field in self._settings.fields.items():
            values = [value for text in _texts(root, field) if (value := self._value(field, text, url)) is not None]
            if values:
                fields[name] = values if field.many else values[0]
            elif field.required:
                missing.append(name)
        return fields, missing

    def _value(self, field: ItemField, text: str, url: str) -> Any:
        """The text as the type of its field; None: it is not one."""
        match field.type:
            case "text":
                return text or None
            case "url":
                joined = join(url, text, self._urls)
                return None if isinstance(joined, UrlRefusal) else joined.text
            case "boolean":
                lowered = text.lower()
                return True if lowered in _TRUE else False if lowered in _FALSE else None
            case "integer" | "number":
                number = _NUMBER.search(_GROUPING.sub("", text)) if len(text) <= 1000 else None
                if number is None:
                    return None
                return int(float(number[0])) if field.type == "integer" else float(number[0])

    def _keep(self, fields: dict[str, Any], items: list[TakenItem], failures: list[Failure]) -> bool:
        """Takes an item; False: there are enough."""
        if len(items) >= MOST_ITEMS:
            failures.append(Failure(self.name, TOO_MANY, f"{self.name}: more than {MOST_ITEMS} items on one page"))
            return False
        if len(msgspec.json.encode(fields)) > LARGEST_ITEM:
            failures.append(Failure(self.name, TOO_LARGE, f"{self.name}: an item of more than {LARGEST_ITEM} bytes"))
        else:
            items.append(TakenItem(self.name, len(items), fields))
        return True


def _texts(root: Selector, field: ItemField) -> list[str]:
    found = root.css(field.css) if field.css else root.xpath(field.xpath)
    return [" ".join(_text(one.root).split()) for one in found]


def _text(root: Any) -> str:
    """Of an element all the text in it, of an attribute or text node itself."""
    return "".join(root.itertext()) if hasattr(root, "itertext") else str(root)


def take(page: Page, rules: Sequence[Rule]) -> Taken:
    """What all rules that match take out of a page."""
    taken = [rule.apply(page) for rule in rules if rule.matches(page.url)]
    return Taken(
        [item for one in taken for item in one.items],
        [link for one in taken for link in one.links],
        [failure for one in taken for failure in one.failures],
    )
