"""The families of the coordinator's state, in the order that never changes, and the keys of each.

runs        known sites, the latest of them (streams/frontier/storage/uniqueness/)
seen        known sites
registry    site                       -> its row, the very bytes that topic `sites` has (schemas/sites.py)
origins     site                       -> its first link, for its root page and its address; gone once the site was placed (registry.py)
pending     due time 8, site           -> nothing; names to be resolved, or to be asked for again (resolutions.py)
facts       "facts"                    -> ranks given, slots in use (facts.py)
            "load" slot 2              -> URLs that the partition told of, sites given to it since (facts.py)
"""

from typing import Final

from streams.frontier.storage.uniqueness.blocks import RUNS, SEEN

REGISTRY: Final = "registry"
ORIGINS: Final = "origins"
PENDING: Final = "pending"
FACTS: Final = "facts"

FAMILIES: Final = (RUNS, SEEN, REGISTRY, ORIGINS, PENDING, FACTS)
NUMBERS: Final = {family: number for number, family in enumerate(FAMILIES)}
