"""docs/configuration.md, made from the sections: `python -m gregor.config.document` prints it, with a path it writes it there."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gregor.config.keys import ARRAYS, KEYS, SECTIONS, SECURITY

_HEAD = """\
# Configuration

Made from `gregor/config/` by `python -m gregor.config.document docs/configuration.md`; not to be edited by hand.

One TOML file holds everything: `--config FILE`, else `$GREGOR_CONFIG`, else `./gregor.toml`. Above it stand environment variables,
`GREGOR_<SECTION>__<KEY>` (`GREGOR_FETCH__DELAY_S=2`), and above them the options of a command. `gregor config show` prints every setting
with its value and where the value comes from; `gregor config check FILE` lists everything that is wrong with a file. A key that is not in
this list is refused, with the nearest one that is.

```toml
[crawl]
seeds = ["https://example.com/"]
contact = "https://example.org/crawler"

[fetch]
delay_s = 2.0

[[server]]
match = "*.example.com"
max_depth = 5
```

A name ends in its unit: `_s` seconds, `_ms` milliseconds, `_hours` hours, `_bytes` bytes, `_mb` MiB. Where zero has a meaning of its own,
that is said. No secret has to stand in the file: a value of `kafka.security` or of a header may be `env:NAME` or `file:PATH`.
"""


def document() -> str:
    return "\n".join([_HEAD, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    for name, section in SECTIONS.items():
        many = name in ARRAYS
        yield f"## {f'[[{name}]]' if many else f'[{name}]'}\n"
        yield f"{(section.__doc__ or '').strip()}\n"
        if many:
            yield f"Any number of `[[{name}]]` tables, in the file only.\n"
        yield "| key | default | expected | |"
        yield "|---|---|---|---|"
        prefix = f"{name}[]." if many else f"{name}."
        for path, key in KEYS.items():
            if path.startswith(prefix):
                short = path.removeprefix(prefix)
                yield f"| `{short}` | {_default(key.default, path)} | {_expected(key.expected)} | {_cell(key.description)} |"
        yield ""


def _default(value: Any, path: str) -> str:
    if value is msgspec.NODEFAULT:
        return "needed"
    if value is None:
        return "not set"
    if path == SECURITY or value == {}:
        return "none"
    return f"`{_cell(msgspec.json.encode(value).decode())}`"


def _expected(text: str) -> str:
    words, matching, pattern = text.partition("matching ")
    return f"{words}{matching}`{pattern}`".replace("|", "\\|") if matching else _cell(text)


def _cell(text: str) -> str:
    """Within a table of Markdown."""
    return text.replace("|", "\\|").replace("\n", " ").replace("*", "\\*").replace("<", "&lt;")


def main() -> None:
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(document(), encoding="utf-8")
    else:
        sys.stdout.write(document())


if __name__ == "__main__":
    main()
