"""The families of a frontier partition's state, in the order that never changes, and the keys of each.

runs        known URLs, the latest of them (uniqueness/)
seen        known URLs
queue       server 0x00 place                       -> what the fetch needs (entry.py)              Q
leases      time of return 8, lease id              -> the order's URLs (leases.py)                 Qc
revisit     due time 8, server hash 8, fingerprint 8 -> a retry, or a URL to be crawled again       Qc and r(K)
visits      server hash 8, fingerprint 8            -> due time and last visit of a URL in revisit
servers     server                                  -> delay, budget, in flight, next time (servers.py)
robots      server 0x00 scheme                      -> the rules for our agent as text (robots.py)
domains     registered domain                       -> URLs admitted, while budgets belong to domains
partition   "facts"                                 -> cursors and totals of the partition (partition.py)
"""

from typing import Final

from streams.frontier.uniqueness.blocks import RUNS, SEEN

QUEUE: Final = "queue"
LEASES: Final = "leases"
REVISIT: Final = "revisit"
VISITS: Final = "visits"
SERVERS: Final = "servers"
ROBOTS: Final = "robots"
DOMAINS: Final = "domains"
PARTITION: Final = "partition"

FAMILIES: Final = (RUNS, SEEN, QUEUE, LEASES, REVISIT, VISITS, SERVERS, ROBOTS, DOMAINS, PARTITION)
NUMBERS: Final = {family: number for number, family in enumerate(FAMILIES)}
