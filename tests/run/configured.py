"""A configuration that crawls a site of our own."""

from pathlib import Path

from gregor.demo.server import DemoServer


def write_config(
    path: Path,
    server: DemoServer,
    crawl: str = "demo",
    placement: str = "hash",
    sites: str = "",
    scope: str = "hosts",
    **kafka: object,
) -> Path:
    """``sites``: lines of the section of that name."""
    seeds = ", ".join(f'"{seed}"' for seed in server.site.seeds)
    lines = [
        "[crawl]",
        f'name = "{crawl}"',
        f"seeds = [{seeds}]",
        f'scope = "{scope}"',
        # Where links may lead to public hosts, their owners must be able to learn who is crawling.
        *(['contact = "mailto:crawl@example.org"'] if scope == "any" else []),
        "[fetch]",
        "delay_s = 0.0",
        "delay_factor = 0.0",
        "urls_per_order = 4",
        'allow_addresses = ["127.0.0.0/8"]',
        "[robots]",
        "obey = false",
        "[partitions]",
        "partitions = 4",
        f'placement = "{placement}"',
        "[sites]",
        sites,
        "[kafka]",
        *(f"{key} = {value!r}".replace("'", '"') for key, value in kafka.items()),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path
