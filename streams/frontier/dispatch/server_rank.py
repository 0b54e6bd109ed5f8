"""The order of servers: by the place of the first URL in each one's queue, with ageing so that none starves.

A server's rank is a time: when it began to wait, plus ``ageing`` for each level of depth (or of priority, if that counts first) of its
first URL. The lowest rank goes first. Ranks never change by the clock alone, so that a heap holds them.
"""

from collections.abc import Callable

from streams.frontier.storage.queue_codec import Order

Rank = Callable[[bytes], int]
"""From the first place of a server to what is added to the time since when it waits."""


def rank_by(order: Order, ageing_ms: int) -> Rank:
    if order == "depth-first-key":
        return lambda head: int.from_bytes(head[:3], "big") * ageing_ms >> 8
    return lambda head: int.from_bytes(head[:3], "big") * ageing_ms >> 16
