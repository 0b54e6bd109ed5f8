"""Items by rules and by functions, and the processes that they run in."""

from pathlib import Path
from typing import Any

import pytest

from tests.workers.extractor.staged import HTML, staged

PAGE = """<html lang="en-GB"><head><title>Shop</title><link rel=canonical href=/shop></head><body><nav>Home</nav><h1> Two
 things </h1><main><div class=p><h2>Ball</h2><b>1,234.50 EUR</b><a href=/ball>x</a><i>yes</i></div>
<div class=p><h2>Box</h2><b>none</b><a href=http://other.test/>x</a></div></main><script>no()</script></body></html>"""
RULE = """
[[item]]
name = "product"
match = "/shop"
each = "div.p"
[item.fields]
name = {css = "h2", required = true}
price = {xpath = ".//b/text()", type = "number"}
link = {css = "a::attr(href)", type = "url"}
stock = {css = "i", type = "boolean"}
"""
SHOP = "http://h.example/shop"


def function(name: str, more: str = "") -> str:
    return f'{more}\n[[item]]\nname = "plug"\nmatch = "."\nfunction = "tests.workers.extractor.plugins:{name}"\n'


def fields(tmp_path: Path, rules: str, **facts: Any) -> list[dict[str, Any]]:
    with staged(tmp_path, rules) as stage:
        return [item.fields for item in stage.page(PAGE, url=SHOP, **facts).items()]


def test_a_rule_takes_one_item_from_each_element(tmp_path: Path) -> None:
    with staged(tmp_path, RULE) as stage:
        items = stage.page(PAGE, url=SHOP, fetched_ms=5).items()
    assert [item.fields for item in items] == [
        {"name": "Ball", "price": 1234.5, "link": "http://h.example/ball", "stock": True},
        {"name": "Box", "link": "http://other.test/"},
    ]
    assert [(item.rule, item.number, item.url, item.lease) for item in items] == [
        ("product", 0, SHOP, "lease-1"),
        ("product", 1, SHOP, "lease-1"),
    ]


def test_a_rule_is_for_the_urls_that_it_matches(tmp_path: Path) -> None:
    with staged(tmp_path, RULE) as stage:
        assert stage.page(PAGE, url="http://h.example/elsewhere").items() == []


def test_an_item_without_a_required_field_is_counted_and_left_out(tmp_path: Path) -> None:
    rule = '[[item]]\nname = "x"\nmatch = "."\n[item.fields]\na = {css = "h1"}\nb = {css = "h6", required = true}\n'
    with staged(tmp_path, rule) as stage:
        assert stage.page(PAGE).items() == []
        assert stage.commit().verdicts()["item-incomplete"] == 1


def test_all_values_of_a_field_and_whole_numbers(tmp_path: Path) -> None:
    rule = """[[item]]\nname = "x"\nmatch = "."\n[item.fields]
all = {css = "h2::text", many = true}\ncount = {css = "b", type = "integer"}\nnone = {css = "h2", type = "integer"}"""
    assert fields(tmp_path, rule) == [{"all": ["Ball", "Box"], "count": 1234}]


@pytest.mark.parametrize("headers", [(HTML, ("X-Robots-Tag", "noindex"))])
def test_a_page_that_asks_not_to_be_indexed_gives_no_items(
    tmp_path: Path, headers: tuple[tuple[str, str], ...]
) -> None:
    rules = f'extract.page_facts = ["title"]\n{RULE}'
    assert fields(tmp_path, rules, headers=headers) == []
    assert fields(tmp_path, rules, status=404) == []


def test_facts_of_pages_are_items_when_asked_for(tmp_path: Path) -> None:
    (found,) = fields(tmp_path, 'extract.page_facts = ["title", "text", "language", "links"]')
    assert found == {
        "title": "Shop",
        "text": "Ball\n1,234.50 EURxyes\nBox\nnonex",
        "language": "en-gb",
        "links": {"found": 3, "internal": 2, "external": 0, "refused": 1, "canonical": SHOP},
    }


def test_a_function_yields_items_and_links(tmp_path: Path) -> None:
    with staged(tmp_path, function("works")) as stage:
        stage.page(PAGE, url=SHOP)
        assert [item.fields["heading"] for item in stage.items()] == ["Ball", "Box"]
        assert "http://h.example/from-plugin" in stage.urls()


@pytest.mark.parametrize(
    ("name", "kept", "reason"),
    [
        ("raises", [{"before": 1}], "item-error"),
        ("returns_nonsense", [{"fine": 1}], "item-error"),
        ("yields_objects", [], "item-error"),
        ("missing", [], "item-error"),
        ("never_ends", [], "items-time"),
        ("dies", [], "items-crash"),
    ],
)
def test_a_function_that_fails_is_a_verdict_and_the_page_goes_on(
    tmp_path: Path, name: str, kept: list[dict[str, Any]], reason: str
) -> None:
    with staged(tmp_path, function(name, "extract.time_limit_s = 0.5")) as stage:
        stage.page(PAGE, url=SHOP)
        assert [item.fields for item in stage.items()] == kept
        assert len(stage.urls()) == 1, "its links are found all the same"
        stage.page(PAGE.replace("/ball", "/bat"), url=SHOP)
        assert stage.urls() == ["http://h.example/bat"]
        assert stage.commit().verdicts()[reason] == 2


def test_items_of_one_page_are_capped(tmp_path: Path) -> None:
    with staged(tmp_path, function("yields_for_ever", "extract.time_limit_s = 60.0")) as stage:
        stage.page(PAGE)
        assert len(stage.items()) == 10_000
        assert stage.commit().verdicts()["item-too-many"] == 1
