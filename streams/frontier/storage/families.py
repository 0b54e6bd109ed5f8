"""The families of a frontier partition's state, in the order that never changes, and the keys of each. Files are those of streams/frontier.

runs        known URLs, the latest of them (storage/uniqueness/)
seen        known URLs
queue       server 0x00 place                       -> what the fetch needs (storage/queue_codec.py)           Q
leases      time of return 8, lease id              -> the order's URLs (dispatch/leases.py)                   Qc
revisit     due time 8, server hash 8, fingerprint 8 -> a retry, or a URL to be crawled again (settle/timers.py) Qc and r(K)
visits      server hash 8, fingerprint 8            -> due time and last visit of a URL in revisit (settle/timers.py)
servers     server                                  -> delay, budget, in flight, next time (storage/server.py)
robots      server 0x00 scheme                      -> the rules for our agent as text (dispatch/robots.py)
domains     registered domain                       -> URLs admitted, while budgets belong to domains
partition   "facts"                                 -> cursors and totals of the partition (partition_state.py)
sites       kind 1, site                            -> what a home or a slot knows of a site (sites/site_record.py)
waiting     site 0x00 number 8                      -> a record of discovered that waits for its site's slot (sites/waiting.py)
"""

from typing import Final

from streams.frontier.storage.uniqueness.blocks import RUNS, SEEN

QUEUE: Final = "queue"
LEASES: Final = "leases"
REVISIT: Final = "revisit"
VISITS: Final = "visits"
SERVERS: Final = "servers"
ROBOTS: Final = "robots"
DOMAINS: Final = "domains"
PARTITION: Final = "partition"
SITES: Final = "sites"
WAITING: Final = "waiting"

FAMILIES: Final = (RUNS, SEEN, QUEUE, LEASES, REVISIT, VISITS, SERVERS, ROBOTS, DOMAINS, PARTITION, SITES, WAITING)
NUMBERS: Final = {family: number for number, family in enumerate(FAMILIES)}
