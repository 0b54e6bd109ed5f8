"""What happens to the URL next, and when: from where it stands, or from how it would be judged if it came."""

from gregor.config import Config
from gregor.inspect.explain.checks import moment
from gregor.inspect.explain.story import Next, Recomputed, UrlHistory
from streams.frontier.inspect import UrlStanding

_LAST = {
    "ok": "it was fetched",
    "not-modified": "it was fetched, and had not changed",
    "redirect": "it was fetched, and redirects",
    "client-error": "it was asked for, and the server refused",
}


def next_step(
    logged: UrlHistory, standing: UrlStanding | None, recomputed: Recomputed, paused: list[str], config: Config
) -> Next:
    if standing is None:
        return _without_state(logged, recomputed)
    if standing.life == "unknown":
        return _unknown(logged, recomputed)
    held = f", once its {' and its '.join(paused)} go on (paused)" if paused else ""
    if standing.lease:
        last = logged.orders[-1] if logged.orders else None
        deadline = last.deadline_ms if last is not None and last.lease == standing.lease else 0
        what = (
            f"order {standing.lease} is out; no request starts after {moment(deadline)}"
            if deadline
            else (f"order {standing.lease} is out")
        )
        return Next(what=f"{what}; without a result it is queued again", when_ms=standing.returns_ms)
    if standing.retry_ms:
        return Next(what=f"it is tried again{held}", when_ms=standing.retry_ms)
    if standing.ahead >= 0:
        return _queued(standing, recomputed, held)
    if standing.revisit_ms:
        return Next(what=f"it is fetched again{held}", when_ms=standing.revisit_ms)
    if standing.life == "fetched":
        why = "re-crawl is off (revisit.mode)" if config.revisit.mode == "off" else "it is not to be visited again"
        last_result = logged.results[-1].outcome if logged.results else ""
        return Next(what=f"nothing: {_LAST.get(last_result, 'it was fetched')}, and {why}")
    if standing.life == "failed":
        return Next(what="nothing: it was given up, see its results and verdicts")
    if standing.life == "refused":
        reasons = ", ".join(check.reason for check in recomputed.refusals) or "as a verdict of its server says"
        return Next(what=f"nothing: it is known and refused ({reasons})", origin="recomputed")
    return Next(what="it waits further back in its server's queue than was looked, or for a time")


def _queued(standing: UrlStanding, recomputed: Recomputed, held: str) -> Next:
    robots = next((check for check in recomputed.refusals if check.about == "robots"), None)
    if robots is not None:
        return Next(what="it is dropped when its turn comes: " + robots.answer, origin="recomputed")
    limit = next((check for check in recomputed.refusals if check.about.endswith("of the crawl")), None)
    if limit is not None:
        return Next(
            what=f"it stays in the queue: a limit of the whole crawl is reached ({limit.answer})", origin="recomputed"
        )
    before = (
        "it is the next of its server" if not standing.ahead else f"{standing.ahead} URLs of its server go before it"
    )
    busy = f", of which {standing.in_flight} order is out" if standing.in_flight else ""
    return Next(
        what=f"it is ordered; {before}{busy}{held}; its server is not asked before", when_ms=standing.server_next_ms
    )


def _unknown(logged: UrlHistory, recomputed: Recomputed) -> Next:
    if recomputed.refusals:
        reasons = "; ".join(f"{check.about}: {check.answer}" for check in recomputed.refusals)
        found = "whenever it is found" if not logged.seen else "as it was when it was found"
        return Next(what=f"nothing: it is refused {found} ({reasons})", origin="recomputed")
    if logged.seen:
        return Next(
            what="it was found and is not in the state yet: it is admitted with the next checkpoint",
            origin="recomputed",
        )
    return Next(
        what="nothing: no page that was fetched links to it, and it is no seed. Nothing speaks against it: a link or a seed brings it in",
        origin="recomputed",
    )


def _without_state(logged: UrlHistory, recomputed: Recomputed) -> Next:
    if not logged.seen:
        return _unknown(logged, recomputed)
    answered = {result.lease for result in logged.results}
    open_orders = [order for order in logged.orders if order.lease not in answered]
    if open_orders:
        return Next(what=f"order {open_orders[-1].lease} has no result yet", when_ms=open_orders[-1].deadline_ms)
    if logged.results:
        return Next(
            what=f"its last result is {logged.results[-1].outcome}; whether it is fetched again is in the state"
        )
    if recomputed.refusals:
        return _unknown(logged, recomputed)
    if logged.robots_asked and any(check.about == "robots" and check.passes is None for check in recomputed.checks):
        return Next(what="it was found and never ordered yet: robots.txt of its origin is asked for again first")
    return Next(what="it was found and never ordered yet: it waits in its server's queue, as far as the topics tell")
