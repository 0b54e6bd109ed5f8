"""The names that a crawl uses on a cluster; all begin with its own name, so that several crawls share one."""

from msgspec import Struct


class Names(Struct, frozen=True):
    """Topics, groups and transactional ids of the crawl called `crawl`."""

    crawl: str

    def topic(self, topic: str) -> str:
        return f"{self.crawl}.{topic}"

    def group(self, stage: str) -> str:
        return f"{self.crawl}.{stage}"

    def transactional_id(self, stage: str, member: str) -> str:
        """`member` is kept in the state folder: after a restart the same id aborts its own leftovers."""
        return f"{self.crawl}.{stage}.{member}"
