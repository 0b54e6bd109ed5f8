"""Sites as CSV: what goes out comes in again, and one wrong line lets nothing in."""

import io
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.errors import UsageError
from gregor.operate.sites import RECORD_BYTES, SiteCommands, Who, in_letters, records
from gregor.operate.sites_csv import SiteFile, write_csv
from schemas.codec import encode
from schemas.sites import Site
from schemas.sites_found import SiteCommand, SiteSetting, decode_site_note

ME = Who("me", 5)
HEADER = "site,state,slot,budget,max_depth,tags,found_on,found\n"

labels = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
tags = st.lists(st.from_regex(r"[a-zäß][a-z =-]{0,8}[a-z]", fullmatch=True), unique=True, max_size=4)
rows = st.builds(
    Site,
    site=st.builds("{}.{}.example".format, labels, labels),
    slot=st.integers(-1, 3),
    state=st.sampled_from(["found", "waiting", "placed", "blocked", "unresolvable"]),
    budget=st.integers(0, 10**12),
    max_depth=st.integers(0, 10**12),
    tags=tags.map(lambda found: tuple(sorted(found))),
    found_ms=st.integers(0, 2**62),
    found_on=st.sampled_from(["", 'https://b.example/a,"b"', "https://b.example/=1+1"]),
)


def read(text: str, by: Literal["server", "domain"] = "server") -> list[SiteCommand]:
    file = SiteFile(io.StringIO(text, newline=""), "sites.csv", by, 4)
    file.check()
    return list(file.commands(ME))


@given(st.lists(rows, unique_by=lambda row: row.site, max_size=8))
def test_what_goes_out_comes_in_again(given_rows: list[Site]) -> None:
    out = io.StringIO()
    assert write_csv(given_rows, out) == len(given_rows)
    commands = read(out.getvalue())
    settings = {one.site: one for command in commands if command.action == "add" for one in command.sites}
    for row in given_rows:
        known = settings.pop(row.site)
        assert (known.budget, known.max_depth, known.tags) == (row.budget, row.max_depth, row.tags)
    assert not settings
    for action, state in (("approve", "placed"), ("block", "blocked")):
        meant = {one.site for command in commands if command.action == action for one in command.sites}
        assert meant == {row.site for row in given_rows if row.state == state}
    assert all(decode_site_note(encode(command)) == command for command in commands)


def test_a_column_that_is_left_out_changes_nothing_and_an_empty_cell_only_tags() -> None:
    (add,) = read("site\nA.Example\n\nhttp://b.example:8080/\n")
    assert add.sites == (SiteSetting(site="a.example"), SiteSetting(site="b.example:8080", scheme="http"))
    assert (add.by, add.at_ms) == ("me", 5)
    (add,) = read("\ufefftags,site,budget\n,a.example,\n x ; b ,c.example, 7 \n")
    assert add.sites == (
        SiteSetting(site="a.example", tags=()),
        SiteSetting(site="c.example", tags=("b", "x"), budget=7),
    )


def test_a_site_is_a_domain_where_domains_are_placed() -> None:
    (add,) = read("site\nwww.a.co.uk\n", by="domain")
    assert add.sites == (SiteSetting(site="a.co.uk"),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 0: expected a header with site and any of state, .*, found nothing"),
        ("name,state\n", "line 1: expected a header with site .* found 'name'"),
        ("site;state\n", "line 1: expected a header with site .* found 'site;state'"),
        ("site,site\n", "line 1: expected a header"),
        (HEADER + "a.example\n", "line 2: expected 8 columns as in the header, found 1"),
        ("site\na.example\nb.example/page\n", "line 3: expected a server such as"),
        ("site,state\na.example,open\n", "line 2: expected a state among found, waiting, .* found 'open'"),
        ("site,slot\na.example,4\n", "line 2: expected a slot below 4, .* found 4; leave the column out"),
        ("site,slot\na.example,-2\n", "line 2: expected slot as a number"),
        ("site,budget\na.example,many\n", "line 2: expected budget as a number of 0 to 1000000000000, found 'many'"),
        ("site,max_depth\na.example,²\n", "line 2: expected max_depth as a number"),
        ('site,tags\na.example,"x,y"\n', "line 2: expected a tag of 1 to 100 characters"),
        (f"site,tags\na.example,{'x' * 101}\n", "line 2: expected a tag of 1 to 100 characters"),
        (
            f"site,tags\na.example,{';'.join(map(str, range(33)))}\n",
            "line 2: expected at most 32 tags of a site, found 33",
        ),
        ("site\na.example\nb.example\nA.example\n", "line 4: a.example stands on line 2 already"),
        ('site\n"a.example\n', "line 2: unexpected end of data"),
        (f"site\n{'a' * 200_000}\n", "line 2: field larger than field limit"),
    ],
)
def test_a_wrong_line_is_named(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"sites.csv, {why}"):
        read(text)


def test_a_command_for_many_sites_is_as_many_records_and_letters_as_it_needs() -> None:
    settings = [SiteSetting(site=f"server-{n}.example", tags=("a" * 90,) * 3) for n in range(50_000)]
    made = list(records("add", settings, ME))
    assert len(made) > 10
    assert all(len(encode(one)) < RECORD_BYTES + 1000 for one in made)
    assert [one for command in made for one in command.sites] == settings
    letters = list(in_letters(made))
    assert len(letters) == 2
    assert [one for letter in letters for one in letter.commands] == made
    assert all(isinstance(letter, SiteCommands) for letter in letters)
