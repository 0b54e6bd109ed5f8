"""A configuration that crawls the demo site."""

from pathlib import Path

from gregor.demo.server import DemoServer


def write_config(path: Path, server: DemoServer, crawl: str = "demo", **kafka: object) -> Path:
    seeds = ", ".join(f'"{seed}"' for seed in server.site.seeds)
    lines = [
        "[crawl]",
        f'name = "{crawl}"',
        f"seeds = [{seeds}]",
        "[fetch]",
        "delay_s = 0.0",
        "delay_factor = 0.0",
        "urls_per_order = 4",
        'allow_addresses = ["127.0.0.0/8"]',
        "[robots]",
        "obey = false",
        "[partitions]",
        "partitions = 4",
        "[kafka]",
        *(f"{key} = {value!r}".replace("'", '"') for key, value in kafka.items()),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path
