"""robots.txt and sitemaps as nobody should write them."""

from __future__ import annotations

import asyncio
import gzip
from typing import Final

from tests.hostile.around import ByPath
from tests.hostile.servers import MIB, HugeRobots, response
from tests.hostile.web import Server
from tests.hostile.wire import Endless

TEXT: Final = "Content-Type: text/plain"
XML: Final = "Content-Type: application/xml"
OPENING: Final = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


class OpenRobots(ByPath):
    """Allows nearly everything, each time in other words."""

    def answer(self, path: str) -> bytes:
        lines = ["User-agent: *", f"Disallow: /private/{self.around.random.randrange(10)}"]
        if self.around.random.random() < 0.3:
            lines.append(f"Sitemap: {self.around.here}/sitemap-{self.around.random.randrange(20)}.xml")
        return response("\n".join(lines).encode(), TEXT)


class FlippingRobots(ByPath):
    """Another answer each time: all, nothing, slowly, gone, forbidden, later."""

    def answer(self, path: str) -> bytes:
        bodies = (
            b"",
            b"User-agent: *\nDisallow: /",
            b"User-agent: *\nCrawl-delay: 2",
            b"User-agent: gregor\nDisallow:",
            b"\xef\xbb\xbfUser-agent:*\rDisallow:/x",
        )
        statuses = (
            "200 OK",
            "200 OK",
            "200 OK",
            "404 Not Found",
            "403 Forbidden",
            "429 Too Many Requests",
            "503 Service Unavailable",
            "304 Not Modified",
        )
        return response(self.around.random.choice(bodies), TEXT, status=self.around.random.choice(statuses))


class EndlessRobots(Endless):
    first = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\n"
    then = b"Disallow: /x\n" * 5000


class EndlessRobotsLine(Endless):
    first = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /"
    then = b"x" * 65536


class StarRobots(ByPath):
    """Rules that take long to match."""

    def answer(self, path: str) -> bytes:
        rules = "\n".join(f"Disallow: /{'*a' * 200}{number}$" for number in range(1000))
        return response(f"User-agent: *\n{rules}".encode(), TEXT)


class RobotsElsewhere(ByPath):
    """Redirects to the robots.txt of somebody who never asked for it, to itself, or to another of its pages."""

    def answer(self, path: str) -> bytes:
        random, around = self.around.random, self.around
        victim = random.choice(around.victims)
        target = random.choice(
            (
                f"{victim}/robots.txt",
                f"{victim}/rules/{random.getrandbits(30)}",
                f"{random.choice(around.neighbours)}/robots.txt",
                path,
                f"/r/{random.getrandbits(30)}",
            )
        )
        return response(b"", f"Location: {target}", status="302 Found")


class ManySitemaps(ByPath):
    """robots.txt that names a thousand sitemaps, its own and those of others."""

    def answer(self, path: str) -> bytes:
        random = self.around.random
        own = [f"Sitemap: {self.around.here}/sitemap-{random.getrandbits(30)}.xml" for _ in range(500)]
        others = [
            f"Sitemap: {random.choice(self.around.victims)}/sitemap-{random.getrandbits(30)}.xml" for _ in range(500)
        ]
        return response("\n".join(own + others).encode(), TEXT)


class PlainSitemap(ByPath):
    def answer(self, path: str) -> bytes:
        entries = "".join(
            f"<url><loc>{self.around.here}/s/{self.around.random.randrange(1000)}</loc></url>" for _ in range(20)
        )
        return response(OPENING + entries.encode() + b"</urlset>", XML)


class EndlessSitemap(Endless):
    first = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n" + OPENING
    then = b"<url><loc>http://nobody.invalid/</loc></url>" * 1000


class EndlessIndex(ByPath):
    """A sitemap of sitemaps, each of which is one."""

    def answer(self, path: str) -> bytes:
        entries = "".join(
            f"<sitemap><loc>{self.around.here}/sitemap-{self.around.random.getrandbits(40)}.xml</loc></sitemap>"
            for _ in range(50)
        )
        return response(
            f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'.encode(), XML
        )


class SitemapBomb(ByPath):
    """A hundred MiB of sitemap in a small file, compressed once or twice."""

    once = gzip.compress(OPENING + b"<url>" * (20 * MIB), 9)
    twice = gzip.compress(once, 9)

    def answer(self, path: str) -> bytes:
        if self.around.random.random() < 0.5:
            return response(self.once, "Content-Type: application/gzip")
        return response(self.twice, "Content-Type: application/gzip", "Content-Encoding: gzip")


class EntityBomb(ByPath):
    """A billion laughs; or the entity is a file of the reader's."""

    def answer(self, path: str) -> bytes:
        laughs = "".join(f'<!ENTITY l{number + 1} "{f"&l{number};" * 10}">' for number in range(12))
        entities = self.around.random.choice(
            (f'<!ENTITY l0 "ha">{laughs}', '<!ENTITY l12 SYSTEM "file:///etc/passwd">')
        )
        return response(f"<!DOCTYPE urlset [{entities}]><urlset><url><loc>/&l12;</loc></url></urlset>".encode(), XML)


class OddSitemap(ByPath):
    """Cut, nested, in the wrong charset, or no XML at all."""

    def answer(self, path: str) -> bytes:
        random = self.around.random
        whole = OPENING + b"<url><loc>/a?x=1&y=2</loc><loc>/b</loc>" * 50 + b"</urlset>"
        forms = (
            whole[: random.randrange(len(whole))],
            OPENING + b"<url>" * 100_000,
            b'<?xml version="1.0" encoding="utf-16"?>' + whole,
            whole.decode().encode("utf-16"),
            bytes(100_000),
            b"http://one.invalid/\r\0http://two.invalid/\r" * 1000,
            random.randbytes(5000),
        )
        return response(random.choice(forms), random.choice((XML, TEXT, "Content-Type: text/html")))


class SlowRobots(Server):
    """10 MB of robots.txt, 10 KB at a time."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        for at in range(0, len(HugeRobots.bytes_), 10_000):
            writer.write(HugeRobots.bytes_[at : at + 10_000])
            await writer.drain()
            await asyncio.sleep(0.05)
