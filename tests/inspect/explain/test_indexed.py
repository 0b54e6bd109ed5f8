"""A URL's lines are found in an index of any size, wherever they stand."""

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gregor.inspect.explain.indexed import rows_of
from gregor.outputs.archive.cdxj import CdxjRow
from gregor.outputs.archive.sort_key import sort_key

URLS = st.builds(
    lambda host, path: f"http://{host}.example/{path}", st.sampled_from("abc"), st.text("abcA?=&/", max_size=6)
)


def line(url: str, stamp: int) -> bytes:
    row = CdxjRow(url=url, mime="text/html", status="200", digest="x", length="1", offset=str(stamp), filename="f")
    return b"%b %014d %b\n" % (sort_key(url).encode(), stamp, msgspec.json.encode(row))


@given(st.lists(st.tuples(URLS, st.integers(1, 9)), max_size=30), URLS)
def test_exactly_the_lines_of_the_url_are_found(pages: list[tuple[str, int]], other: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.cdxj"
        path.write_bytes(b"".join(sorted(line(url, stamp) for url, stamp in pages)))
        for url in {other, *(url for url, _ in pages)}:
            found = [int(stamp) for stamp, _ in rows_of(path, url)]
            assert sorted(found) == sorted(stamp for one, stamp in pages if one == url)


def test_a_broken_line_is_left_out(tmp_path: Path) -> None:
    url = "http://a.example/"
    broken = sort_key(url).encode() + b" 00000000000002 {\n"
    (tmp_path / "pages.cdxj").write_bytes(line(url, 1) + broken + line(url, 3))
    assert [int(stamp) for stamp, _ in rows_of(tmp_path / "pages.cdxj", url)] == [1, 3]
