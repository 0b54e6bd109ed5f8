"""The cost model of paper 004, equations 2 to 4, with the paper's coefficients: pages a second of n agents that crawl m million pages.

overhead of an agent  =  4.04                            setting up connections: 0.45 among agents, 3.59 with the coordinator
                      +  1.11 + 0.36 log2 m              sending the URLs of sites to the coordinator
                      +  3.83 + 0.28 n + 1.59 log2 m     being told which agent has which site
                      +  4.39 (n - 1) + 5.5 log2 m       exchanging the URLs of pages
speed                 =  n (1784.22 - overhead)
"""

import math
from typing import Final

from msgspec import Struct

SINGLE_MACHINE: Final = 1784.22
"""Pages a second of the crawler on one machine."""
AGENT_MBIT: Final = 320.0
"""Of the Internet, that one agent uses."""
MEASURED_SEVEN: Final = 12_251.75
"""Pages a second of seven agents, as measured."""
DAY_S: Final = 86_400


class Coefficients(Struct, frozen=True):
    """In pages a second of one agent; a logarithm is that of m, millions of pages, to base 2."""

    setup: float = 4.04
    site: float = 1.11
    site_log: float = 0.36
    partition: float = 3.83
    partition_agent: float = 0.28
    partition_log: float = 1.59
    exchange_agent: float = 4.39
    exchange_log: float = 5.5


PAPER: Final = Coefficients()


class Overhead(Struct, frozen=True):
    """What one agent loses, by what for."""

    setup: float
    site_sending: float
    site_partition: float
    page_exchange: float

    @property
    def total(self) -> float:
        return self.setup + self.site_sending + self.site_partition + self.page_exchange


def overhead(agents: int, millions: float, of: Coefficients = PAPER) -> Overhead:
    """Equation 2."""
    log = math.log2(millions)
    return Overhead(
        of.setup,
        of.site + of.site_log * log,
        of.partition + of.partition_agent * agents + of.partition_log * log,
        of.exchange_agent * (agents - 1) + of.exchange_log * log,
    )


def speed(agents: int, millions: float, single: float = SINGLE_MACHINE, of: Coefficients = PAPER) -> float:
    """Equation 3, of all agents together; no less than nothing."""
    return max(0.0, agents * (single - overhead(agents, millions, of).total))


def seconds(pages: float, agents: int, single: float = SINGLE_MACHINE, of: Coefficients = PAPER) -> float:
    """Equation 4; infinite where the overhead takes everything."""
    rate = speed(agents, pages / 1e6, single, of)
    return pages / rate if rate else math.inf


def best_agents(millions: float, single: float = SINGLE_MACHINE, of: Coefficients = PAPER) -> int:
    """The number that is fastest: one more costs the others more than it brings."""
    linear = of.partition_agent + of.exchange_agent
    # speed = n (a - linear n), with its greatest value where half of a is gone.
    rest = single - overhead(0, millions, of).total
    middle = max(1, round(rest / (2 * linear)))
    return max((middle - 1 or 1, middle, middle + 1), key=lambda agents: speed(agents, millions, single, of))


def most_agents(mbit: float) -> int:
    """How many a line feeds."""
    return math.floor(mbit / AGENT_MBIT + 0.5)
