"""`gregor seed`: give URLs to a crawl on a cluster to begin with, whether its workers run yet or not."""

import click

from gregor.cli.crawl_options import seeds_of
from gregor.cli.say import say
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, cluster, now_ms
from gregor.config import Flag
from gregor.errors import UsageError
from gregor.operate.config_history import remember
from gregor.rules.canonical import rules_of
from gregor.run.placement import placement_of
from gregor.run.seeds import parse_seeds, write_seeds
from workers.fetcher.contact import require_contact


@click.command(short_help="Give a crawl URLs to begin with.")
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("--seeds", "seed_file", metavar="FILE", help="More seeds, a URL a line; - reads standard input.")
@bootstrap_option
@pass_settings
def seed(settings: CliSettings, urls: tuple[str, ...], seed_file: str | None, bootstrap: str | None) -> None:
    """Write URLs into the crawl's topic `discovered`; without any, those of crawl.seeds. The host of a seed belongs to the scope.

    The same seeds may be given again and again: what is known already is not fetched again for it. Workers that run take them up at
    once, others when they start.

    \b
    Examples:
      gregor --config big.toml seed                        crawl.seeds of the configuration
      gregor --config big.toml seed https://example.com/
      gregor --config big.toml seed --seeds hosts.txt --bootstrap broker:9092
    """
    config = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap")}).config
    given = seeds_of(urls, seed_file) or config.crawl.seeds
    if not given:
        raise UsageError("expected at least one seed, found none; give a URL, --seeds FILE, or set crawl.seeds")
    require_contact(config, given)
    parsed = parse_seeds(given, rules_of(config.url))
    transport = cluster(config)
    try:
        transport.require(config.layout)
        remember(transport, config, now_ms())
        write_seeds(transport, parsed, placement_of(config), now_ms())
    finally:
        transport.close()
    servers = len({url.server for url in parsed})
    say(
        f"{len(parsed):,} {'seed' if len(parsed) == 1 else 'seeds'} on {servers:,} {'server' if servers == 1 else 'servers'} given to "
        f"crawl {config.crawl.name}"
    )
