"""robots.txt of each origin: when it is fetched, what it allows, what happens when it cannot be had (RFC 9309)."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from protego import Protego

from gregor.config import Config
from gregor.rules.robots_txt import whole_escapes
from gregor.runtime.state.store import StateReader
from schemas.fetched import Fetched, RobotsRules
from streams.frontier.dispatch.politeness import delay_of
from streams.frontier.settle.retries import asked_ms, patient_attempts, wait_ms
from streams.frontier.storage.families import NUMBERS, ROBOTS
from streams.frontier.storage.queue_codec import Scheme
from streams.frontier.storage.server import LiveServer

PARSED: Final = 1024
"""Sets of rules that stay parsed, at the most."""
PARSED_BYTES: Final = 1024 * 1024
"""Of their texts: parsed rules take ten to seventy times as much memory, and a server may send many."""
LAST_COPY_MS: Final = 3600 * 1000
"""For how long the last good copy is used before the file is tried again."""
LONGEST_DELAY_MS: Final = 10**12
"""Thirty years: of any length that can be counted."""
ROBOTS_PATH: Final = "/robots.txt"


class Rules(Struct, frozen=True, array_like=True):
    """The text of one origin's rules, as the family ``robots`` keeps it."""

    fetched_ms: int
    text: str


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Rules).decode


def missing(live: LiveServer, schemes: Sequence[Scheme], now_ms: int) -> tuple[Scheme, ...]:
    """Origins whose robots.txt has to be fetched before any page."""
    return tuple(scheme for scheme in schemes if live.origin(scheme).expires_ms <= now_ms)


def learn(config: Config, live: LiveServer, fetched: Fetched, schemes: Sequence[Scheme], now_ms: int) -> None:
    """Take in what an order of kind ``robots`` brought."""
    rules = {one.scheme: one for one in fetched.robots}
    results = {one.scheme: one for one in fetched.results}
    for scheme in schemes:
        found, result = rules.get(scheme), results.get(scheme)
        if found is not None and found.verdict != "unreachable":
            _accept(config, live, found, now_ms)
        elif result is not None and result.outcome == "not-modified" and _is_known(live, scheme):
            _prolong(config, live, scheme, now_ms)
        elif result is not None and result.outcome not in ("expired", "cancelled"):
            _do_without(config, live, scheme, now_ms, asked_ms(result))


def _is_known(live: LiveServer, scheme: Scheme) -> bool:
    """Whether there is a good copy. Without one, 304 is no answer: nobody asked whether the file has changed."""
    return live.origin(scheme).verdict not in ("", "unreachable")


def _accept(config: Config, live: LiveServer, found: RobotsRules, now_ms: int) -> None:
    origin = live.origin(found.scheme)
    origin.verdict = found.verdict
    origin.fetched_ms = now_ms
    origin.delay_ms = min(max(0, found.crawl_delay_ms), LONGEST_DELAY_MS)
    _prolong(config, live, found.scheme, now_ms)
    key = _key(live, found.scheme)
    if found.verdict == "rules":
        live.put(ROBOTS, key, _encode(Rules(now_ms, found.text)))
    else:
        live.delete(ROBOTS, key)


def _prolong(config: Config, live: LiveServer, scheme: Scheme, now_ms: int) -> None:
    origin = live.origin(scheme)
    origin.attempts = 0
    origin.expires_ms = _until(config, live, int(config.robots.cache_hours * 3600 * 1000), now_ms)


def _until(config: Config, live: LiveServer, usual_ms: int, now_ms: int) -> int:
    """When rules are old. A server that is left alone for longer than that is asked for a page first: otherwise its robots.txt,
    for which it is left alone as well, would be all that is ever fetched."""
    return now_ms + max(usual_ms, 2 * delay_of(config.for_server(live.text), live.record))


def _do_without(config: Config, live: LiveServer, scheme: Scheme, now_ms: int, asked: int) -> None:
    """Unreachable: the last good copy, else wait and try again, then refuse. ``asked``: how long the server wants to be left alone."""
    origin = live.origin(scheme)
    if _is_known(live, scheme):
        origin.expires_ms = _until(config, live, LAST_COPY_MS, now_ms)
        return
    origin.attempts += 1
    # Who says when to come back is asked as often as for a page: after a minute of short waits nothing would be left of the server.
    if origin.attempts > (patient_attempts(config.retry) if asked else config.retry.attempts):
        origin.verdict = "unreachable"
        _prolong(config, live, scheme, now_ms)
    else:
        again = now_ms + wait_ms(config.retry, origin.attempts, live.name, asked)
        live.record.next_ms = max(live.record.next_ms, again)


class RobotsCache:
    """Parsed rules of the servers that were asked last."""

    def __init__(self, state: StateReader, agent: str) -> None:
        self._state = state
        self._agent = agent
        self._parsed: OrderedDict[tuple[bytes, Scheme, int], tuple[Protego, int]] = OrderedDict()
        self._bytes = 0
        self.most_bytes = PARSED_BYTES
        """Of texts whose rules stay parsed; one set does, however long."""

    def refusal(self, live: LiveServer, scheme: Scheme, path: str) -> str:
        """Why a URL may not be fetched; empty: it may."""
        verdict = live.origin(scheme).verdict
        if verdict == "rules":
            allowed = self._rules(live, scheme).can_fetch(f"{scheme}://{live.text}{whole_escapes(path)}", self._agent)
            return "" if allowed else "robots"
        if verdict == "refuse-all":
            return "robots"
        return "robots-unreachable" if verdict == "unreachable" else ""

    def _rules(self, live: LiveServer, scheme: Scheme) -> Protego:
        key = (live.name, scheme, live.origin(scheme).fetched_ms)
        found = self._parsed.get(key)
        if found is not None:
            self._parsed.move_to_end(key)
            return found[0]
        pending = live.operations.get((NUMBERS[ROBOTS], _key(live, scheme)))
        stored = pending or self._state.get(ROBOTS, _key(live, scheme))
        text = _decode(stored).text if stored else ""
        parsed = Protego.parse(text)
        self._parsed[key] = parsed, len(text)
        self._bytes += len(text)
        while len(self._parsed) > 1 and (len(self._parsed) > PARSED or self._bytes > self.most_bytes):
            self._bytes -= self._parsed.popitem(last=False)[1][1]
        return parsed

    def __len__(self) -> int:
        """Sets of rules that are parsed."""
        return len(self._parsed)


def _key(live: LiveServer, scheme: Scheme) -> bytes:
    return live.name + b"\0" + scheme.encode()
