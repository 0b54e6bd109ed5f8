"""What a frontier partition must do, in plain dictionaries: no heaps, no batches, no store; a checkpoint is a deep copy.

It is told which orders went out and judges them: the servers were those whose turn it was, the URLs the first of each one's queue.
"""

from copy import deepcopy

from gregor.config import Config
from gregor.url.fingerprint import fingerprint
from schemas.discovered import Discovered
from schemas.fetched import Fetched, FetchResult
from schemas.schedule import FetchOrder
from streams.frontier.settle.retries import wait_ms

Key = tuple[str, str, str]
"""Server, scheme, path."""

PRIORITY = {"seed": 0, "link": 100, "redirect": 80, "sitemap": 100}
HOUR_MS = 3600 * 1000


class ModelUrl:
    """One admitted URL."""

    def __init__(self, found: Discovered, path: str) -> None:
        self.key: Key = (found.server, found.scheme, path)
        self.depth = found.depth
        self.priority = PRIORITY[found.kind]
        self.life = "queued"
        self.attempts = 0
        self.due = 0
        self.put = False
        """Whether it began to wait since the last checkpoint."""
        self.visit = 0
        self.misses = 0
        self.cookies: str | None = None
        """What a redirect to itself brought; None: there was none in this visit."""

    @property
    def place(self) -> bytes:
        _, scheme, path = self.key
        return (
            self.depth.to_bytes(2, "big")
            + self.priority.to_bytes(1, "big")
            + fingerprint(scheme, path).to_bytes(8, "big")
        )


class ModelServer:
    """One server."""

    def __init__(self) -> None:
        self.next = 0
        self.since = 0
        self.leases: set[str] = set()
        self.failures = 0
        self.dead_until = 0
        self.admitted = 0
        self.expires: dict[str, int] = {}
        self.verdict: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self.delay: dict[str, int] = {}


class ModelState:
    """Everything that a checkpoint keeps."""

    def __init__(self) -> None:
        self.now = 0
        self.told = 0
        """What the clock showed last; 0: nothing yet."""
        self.urls: dict[Key, ModelUrl] = {}
        self.turned_away: set[Key] = set()
        self.servers: dict[str, ModelServer] = {}
        self.leases: dict[str, tuple[FetchOrder, int]] = {}
        self.counts: dict[str, int] = {}


class Model:
    """The frontier, naively."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.state = ModelState()
        self._kept = ModelState()

    def commit(self) -> None:
        for url in self.state.urls.values():
            url.put = False
        self._kept = deepcopy(self.state)

    def abort(self) -> None:
        self.state = deepcopy(self._kept)

    def count(self, name: str, by: int = 1) -> None:
        self.state.counts[name] = self.state.counts.get(name, 0) + by

    def clock(self, now: int) -> int:
        """Goes on with the clock, also while it is ahead of it."""
        state = self.state
        passed = min(max(0, now - state.told), HOUR_MS) if state.told else 0
        state.now, state.told = max(now, state.now + passed), now
        return state.now

    def queued(self, server: str) -> list[ModelUrl]:
        found = [url for url in self.state.urls.values() if url.key[0] == server and url.life == "queued"]
        return sorted(found, key=lambda url: url.place)

    def tally(self) -> dict[str, int]:
        """Counters that follow from where the URLs are, and those that were counted."""
        lives = [url.life for url in self.state.urls.values()]
        now = {life: lives.count(life) for life in ("queued", "leased", "retrying", "revisiting")}
        return {**now, **self.state.counts}

    def discover(self, found: Discovered, now: int) -> None:
        now = self.clock(now)
        server = self.state.servers.setdefault(found.server, ModelServer())
        self.count("discovered", len(found.paths))
        settings = self.config.for_server(found.server)
        if settings.max_depth and found.depth > settings.max_depth:
            self.count("refused_depth", len(found.paths))
            return
        for path in found.paths:
            key = (found.server, found.scheme, path)
            if key in self.state.urls or key in self.state.turned_away:
                self.count("duplicates")
            elif settings.budget and server.admitted >= settings.budget:
                self.count("refused_budget")
                self.state.turned_away.add(key)
            else:
                if not self.queued(found.server):
                    server.since = now
                server.next = server.next or now
                self.state.urls[key] = ModelUrl(found, path)
                server.admitted += 1
                self.count("admitted")

    def rank(self, name: str) -> int:
        server = self.state.servers[name]
        head = int.from_bytes(self.queued(name)[0].place[:3], "big")
        return max(server.since, server.next) + (head * int(self.config.frontier.ageing_s * 1000) >> 8)

    def ready(self, now: int) -> set[str]:
        return {
            name
            for name, server in self.state.servers.items()
            if server.next <= now and not server.leases and self.queued(name)
        }

    def before_release(self, now: int) -> None:
        """What happens to leases and waiting URLs before orders go out."""
        for lease, (order, returns) in sorted(self.state.leases.items(), key=lambda one: one[1][1]):
            if returns <= now:
                self._end(lease)
                server = self.state.servers[order.server]
                server.next = max(server.next, now + order.delay_ms)
                self._requeue([url for url in self._urls(order) if url.life == "leased"], order.server, now)
        waiting = [url for url in self.state.urls.values() if url.life in ("retrying", "revisiting")]
        # What began to wait since the last checkpoint is seen after it, and so is what is due later than that.
        hidden = min((url.due for url in waiting if url.put), default=now + 1)
        for url in waiting:
            if url.due <= now and url.due < hidden:
                if url.life == "revisiting":
                    self.count("recrawled")
                self._requeue([url], url.key[0], now)

    def _requeue(self, urls: list[ModelUrl], name: str, now: int) -> None:
        for url in urls:
            if not self.queued(name):
                self.state.servers[name].since = now
            url.life = "queued"

    def _end(self, lease: str) -> FetchOrder:
        order, _ = self.state.leases.pop(lease)
        self.state.servers[order.server].leases.discard(lease)
        return order

    def _urls(self, order: FetchOrder) -> list[ModelUrl]:
        return [self.state.urls[order.server, url.scheme, url.path] for url in order.urls if order.kind == "pages"]

    def dispatch(self, orders: list[FetchOrder], now: int) -> None:
        """Judge what went out, and let it happen."""
        now = self.clock(now)
        self.before_release(now)
        rest = list(orders)
        while True:
            room = self.config.fetch.orders_in_flight - len(self.state.leases)
            ready = self.ready(now)
            if not ready or room <= 0:
                break
            least = min(self.rank(name) for name in ready)
            first = {name for name in ready if self.rank(name) == least}
            drained = next((name for name in sorted(first) if self.state.servers[name].dead_until > now), None)
            if drained is not None:
                for url in self.queued(drained):
                    url.life = "failed"
                    self.count("failed")
                continue
            # Servers of one rank may come in any order; one whose URLs are all refused leaves no order behind.
            name = rest[0].server if rest and rest[0].server in first else min(first)
            self._visit(name, rest, now)
        assert not rest, f"went out too much: {rest}"

    def _visit(self, name: str, rest: list[FetchOrder], now: int) -> None:
        """One server's turn."""
        server = self.state.servers[name]
        delay = self.delay(name)
        most = (
            self.config.fetch.urls_per_order
            if not delay
            else max(1, min(self.config.fetch.urls_per_order, 20_000 // delay))
        )
        obey = self.config.for_server(name).obey_robots
        chosen: list[ModelUrl] = []
        while len(chosen) < most and self.queued(name):
            entries = self.queued(name)[: most - len(chosen)]
            unknown = list(
                dict.fromkeys(url.key[1] for url in entries if obey and server.expires.get(url.key[1], 0) <= now)
            )
            if unknown:
                if not chosen:
                    order = self._next(name, rest)
                    assert (order.server, order.kind) == (name, "robots")
                    assert [url.scheme for url in order.urls] == unknown
                    self._out(order)
                    return
                break
            for url in entries:
                reason = self.refusal(server, url) if obey else ""
                url.life = "leased"
                if reason:
                    url.life = "dropped"
                    self.count("dropped")
                    self.count(f"dropped_{reason}")
                else:
                    chosen.append(url)
        if not chosen:
            return
        order = self._next(name, rest)
        assert (order.server, order.kind, order.delay_ms) == (name, "pages", delay)
        assert [(url.scheme, url.path) for url in order.urls] == [url.key[1:] for url in chosen]
        assert [url.visit for url in order.urls] == [url.visit for url in chosen]
        assert [url.cookies for url in order.urls] == [url.cookies or "" for url in chosen]
        assert order.attempt == 1 + max(url.attempts for url in chosen)
        self._out(order)

    def _next(self, name: str, rest: list[FetchOrder]) -> FetchOrder:
        assert rest, f"{name} was ready, and nothing went out"
        return rest.pop(0)

    def _out(self, order: FetchOrder) -> None:
        longest = int(self.config.fetch.total_timeout_s * 1000)
        tolerance = int(self.config.frontier.clock_tolerance_s * 1000)
        deadline = order.deadline_ms + self.state.now - self.state.told
        assert order.created_ms == self.state.now
        assert deadline >= order.created_ms + len(order.urls) * (order.delay_ms + longest)
        self.state.leases[order.lease] = (order, deadline + longest + tolerance)
        self.state.servers[order.server].leases.add(order.lease)

    def delay(self, name: str) -> int:
        settings = self.config.for_server(name)
        asked = max(self.state.servers[name].delay.values(), default=0) if settings.obey_robots else 0
        return max(int(settings.delay_s * 1000), asked)

    def refusal(self, server: ModelServer, url: ModelUrl) -> str:
        verdict = server.verdict.get(url.key[1], "")
        if verdict == "rules":
            return "robots" if url.key[2].startswith("/private") else ""
        return {"refuse-all": "robots", "unreachable": "robots-unreachable"}.get(verdict, "")

    def confirm(self, fetched: Fetched, now: int) -> None:
        now = self.clock(now)
        if fetched.lease not in self.state.leases:
            self.count("results_ignored")
            return
        order = self._end(fetched.lease)
        server = self.state.servers[order.server]
        results: dict[tuple[str, str], FetchResult] = {(one.scheme, one.path): one for one in fetched.results}
        if order.kind == "robots":
            for asked in order.urls:
                result = results.get((asked.scheme, asked.path))
                self._learn(order.server, server, asked.scheme, fetched, result, now)
        self._judge(order, server, fetched, now)
        for url in self._urls(order):
            self._settle(url, results.get(url.key[1:]), now)

    def _judge(self, order: FetchOrder, server: ModelServer, fetched: Fetched, now: int) -> None:
        started = [one.started_ms for one in fetched.results if one.started_ms]
        delay = self.delay(order.server)
        passed = max(0, fetched.finished_ms - max(started)) if started else 0
        following = now + max(0, delay - passed) if started else now + max(delay, 1000)
        crowded = max((one.retry_after_ms for one in fetched.results if one.outcome == "cancelled"), default=0)
        server.next = max(server.next, following, now + crowded)
        answered = any(one.status for one in fetched.results)
        limited = any(one.outcome == "rate-limited" for one in fetched.results)
        unreached = any(one.outcome in ("dns", "connect", "tls", "timeout", "disconnected") for one in fetched.results)
        if limited or (unreached and not answered):
            others = any(one.status and one.outcome != "rate-limited" for one in fetched.results)
            server.failures = 1 if others else server.failures + 1
            asked = max((one.retry_after_ms for one in fetched.results if one.outcome == "rate-limited"), default=0)
            wait = wait_ms(self.config.retry, server.failures, order.server.encode(), asked)
            server.next = max(server.next, now + wait)
            if not answered and order.kind == "pages" and server.failures >= self.config.retry.server_attempts:
                server.dead_until = now + int(self.config.retry.dead_hours * HOUR_MS)
                server.next, server.failures = now, 0
        elif answered:
            server.failures = 0
        server.since = server.next

    def _learn(
        self, name: str, server: ModelServer, scheme: str, fetched: Fetched, result: FetchResult | None, now: int
    ) -> None:
        found = next((one for one in fetched.robots if one.scheme == scheme), None)
        if found is not None and found.verdict != "unreachable":
            server.verdict[scheme], server.delay[scheme] = found.verdict, found.crawl_delay_ms
            server.attempts[scheme] = 0
            server.expires[scheme] = now + int(self.config.robots.cache_hours * HOUR_MS)
        elif result is not None and result.outcome not in ("expired", "cancelled"):
            if server.verdict.get(scheme, "") not in ("", "unreachable"):
                server.expires[scheme] = now + HOUR_MS
                return
            attempts = server.attempts[scheme] = server.attempts.get(scheme, 0) + 1
            asked = result.retry_after_ms if result.outcome == "rate-limited" else 0
            if attempts > self.config.retry.attempts * (3 if asked else 1):
                server.verdict[scheme], server.attempts[scheme] = "unreachable", 0
                server.expires[scheme] = now + int(self.config.robots.cache_hours * HOUR_MS)
            else:
                server.next = max(server.next, now + wait_ms(self.config.retry, attempts, name.encode(), asked))

    def _settle(self, url: ModelUrl, result: FetchResult | None, now: int) -> None:
        most = self.config.retry.attempts
        if result is None or result.outcome in ("expired", "cancelled"):
            self._requeue([url], url.key[0], now)
        elif result.outcome in ("rate-limited", "dns", "connect", "tls"):
            if url.attempts < (most * 3 if result.outcome == "rate-limited" else most):
                url.attempts += 1
                if result.outcome == "rate-limited" and url.attempts > 1:
                    after = max(now, self.state.servers[url.key[0]].next)
                    url.life, url.put = "retrying", True
                    url.due = after + wait_ms(self.config.retry, url.attempts, url.place, result.retry_after_ms)
                else:
                    self._requeue([url], url.key[0], now)
            else:
                self._fail(url)
        elif result.outcome in ("timeout", "disconnected", "server-error"):
            if url.attempts < most:
                url.attempts += 1
                url.life, url.put = "retrying", True
                url.due = now + wait_ms(self.config.retry, url.attempts, url.place)
            else:
                self._fail(url)
        elif result.outcome == "address-refused":
            self._fail(url)
        else:
            self._visited(url, result, now)

    def _fail(self, url: ModelUrl) -> None:
        url.life = "failed"
        self.count("failed")

    def _visited(self, url: ModelUrl, result: FetchResult, now: int) -> None:
        if result.outcome == "redirect" and result.location == result.path:
            if url.cookies is None:
                url.cookies = result.cookies
                self._requeue([url], url.key[0], now)
                return
            self.count("redirects_to_self")
        url.cookies = None
        self.count("confirmed")
        url.life = "confirmed"
        if self.config.revisit.mode == "off":
            return
        url.misses = url.misses + 1 if result.status in (404, 410) else 0
        if url.misses < 2:
            url.life, url.attempts, url.put = "revisiting", 0, True
            url.visit += 1
            url.due = now + int(self.config.revisit.interval_hours * HOUR_MS)
