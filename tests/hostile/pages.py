"""Sites that misbehave in what they say: endless ones, pages that are hard to read, redirects that lead elsewhere."""

from __future__ import annotations

import codecs
from typing import Final

from tests.hostile.around import Around, ByPath
from tests.hostile.servers import MIB, response

HTML: Final = "Content-Type: text/html; charset=utf-8"


def page(body: str, *headers: str) -> bytes:
    return response(body.encode("utf-8", "surrogateescape"), *(headers or (HTML,)))


def links(around: Around, path: str) -> list[str]:
    """Where a page leads: on and on, to its neighbours, and to those who did nobody any harm."""
    random, here = around.random, around.here
    plain = here.partition("://")[2]
    deeper = [f"{path.partition('?')[0].rstrip('/')[:200]}/{random.randrange(1000)}" for _ in range(3)]
    return [
        *deeper,
        f"/farm/{random.getrandbits(40):x}",
        f"?sid={random.getrandbits(60)}&page={random.randrange(10)}",
        f"{random.choice(('http', 'https'))}://{plain}/either/{random.randrange(50)}",
        f"{random.choice(around.neighbours)}/from/{random.randrange(100_000)}",
        f"{random.choice(around.victims)}/hit/{random.getrandbits(40):x}",
        random.choice(around.good),
    ]


class Farm(ByPath):
    """Nothing is wrong with any page; there is no end of them."""

    def answer(self, path: str) -> bytes:
        anchors = "".join(f"<a href='{link}'>on</a>\n" for link in links(self.around, path))
        words = " ".join(f"w{self.around.random.randrange(1000)}" for _ in range(50))
        return page(f"<!doctype html><title>{words[:20]}</title><p>{words}</p>{anchors}")


class Calendar(ByPath):
    """A month leads to the next and the one before, in many spellings."""

    def answer(self, path: str) -> bytes:
        number = self.around.random.randrange(-10_000, 10_000)
        spellings = (
            f"/c?m={number}",
            f"/c?m={number}&",
            f"/c/{number}/../{number + 1}",
            f"/c;jsessionid={number}?m={number}",
        )
        return page("".join(f"<a href='{one}'>next</a>" for one in (*spellings, *links(self.around, "/c"))))


class SamePage(ByPath):
    """The same words and relative links under every URL."""

    def answer(self, path: str) -> bytes:
        return page("<p>The same.</p><a href='a/'>a</a><a href='b/'>b</a><a href='?x=1'>x</a><a href='?x=1&x=1'>xx</a>")


class Twins(ByPath):
    """Nearly the same page under URLs that differ in case, encoding and slashes."""

    def answer(self, path: str) -> bytes:
        tail = f"{self.around.random.randrange(100)}"
        forms = (
            f"/T/{tail}",
            f"/t/{tail}",
            f"/%74/{tail}",
            f"//t//{tail}",
            f"/t/{tail}/.",
            f"/t/{tail}%20",
            f"/t/{tail}#x",
            f"/t/%zz{tail}",
        )
        return page("".join(f"<a href='{one}'>t</a>" for one in forms))


class ManyLinks(ByPath):
    """As many links as fit."""

    def answer(self, path: str) -> bytes:
        first = self.around.random.randrange(10**9)
        return page("".join(f"<a href=/{number}>" for number in range(first, first + 200_000)))


class LongLinks(ByPath):
    """Links of 100,000 characters, and one that does not end."""

    def answer(self, path: str) -> bytes:
        return page("".join(f"<a href='/{'x' * 100_000}{number}'>" for number in range(10)) + "<a href='" + "y" * MIB)


class LinksAbroad(ByPath):
    """A page that sends everybody to the victims."""

    def answer(self, path: str) -> bytes:
        random = self.around.random
        return page(
            "".join(
                f"<a href='{random.choice(self.around.victims)}/{random.getrandbits(50)}'>v</a>" for _ in range(2000)
            )
        )


class DeepNesting(ByPath):
    tags = (
        "div",
        "b",
        "table",
        "a href=x",
        "template",
        "svg",
        "select",
        "font",
        "p",
        "frameset",
        "form",
        "!--",
        "title",
        "math",
    )

    def answer(self, path: str) -> bytes:
        tag = self.around.random.choice(self.tags)
        return page(f"<{tag}>" * (MIB // (len(tag) + 2)) + "<a href=/deep>d</a>")


class ManyAttributes(ByPath):
    """One tag of a hundred thousand attributes."""

    def answer(self, path: str) -> bytes:
        return page("<a " + " ".join(f"a{number}=''" for number in range(100_000)) + " href=/a>a</a>")


class OddCharset(ByPath):
    """A charset that there is not, that is not the page's, or that no page should have; and bytes of any kind."""

    names = (
        "utf-7", "utf-16", "utf-16be", "utf-32", "x-user-defined", "iso-2022-kr", "iso-2022-jp", "hz-gb-2312", "big5", "gb18030",
        "shift_jis", "replacement", "idna", "punycode", "rot13", "base64", "unicode_escape", "utf-8;charset=koi8-r", "\xff",
        "'", "x" * 5000,
    )  # fmt: skip

    def answer(self, path: str) -> bytes:
        random = self.around.random
        name = random.choice(self.names)
        meta = f"<meta charset='{random.choice(self.names)}'>".encode("latin-1")
        mark = random.choice((b"", b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE))
        noise = random.randbytes(2000)
        return response(
            mark + meta + noise + b"<a href='/\x81\x8d" + noise[:20].hex().encode() + b"'>" + noise,
            f"Content-Type: text/html; charset={name}",
        )


class OddType(ByPath):
    """A page that calls itself something else."""

    types = (
        "image/png",
        "application/pdf",
        "text/xml",
        "application/rss+xml",
        "multipart/mixed; boundary=x",
        "/",
        "text/html, text/plain",
        ";;;",
        "",
    )

    def answer(self, path: str) -> bytes:
        return page(
            "<rss><channel><item><link>/r</link></item></channel></rss><a href=/t>t</a>",
            f"Content-Type: {self.around.random.choice(self.types)}",
        )


class OddLinks(ByPath):
    """Links that are no URLs, or URLs of places where nobody should go."""

    def answer(self, path: str) -> bytes:
        odd = (
            "http://[::1", "http://:80/", "http://169.254.169.254/latest/", "http://0x7f.1:1/", "http://127.1:22/", "file:///etc/passwd",
            "http://a@b@c/", "http://\x00/", "http://xn--/", "http://" + "a." * 2000, "//", "///", "http:///x", "\\\\x\\y", "javascript:x",
            "data:text/html,<a href=x>", "http://1.1.1.1.1/", "http://localhost:0/", "http://localhost:99999/", "%", "?%00",
            "/%2e%2e/%2e%2e/", "ht\ntp://x/", "gopher://x/", "http://[fe80::1%25lo]/",
        )  # fmt: skip
        return page(
            f"<base href='{self.around.random.choice(odd)}'>" + "".join(f"<a href='{one}'>o</a>" for one in odd)
        )


class RedirectChain(ByPath):
    """Each leads to the next."""

    def answer(self, path: str) -> bytes:
        return response(b"", f"Location: /hop/{self.around.random.getrandbits(40)}", status="302 Found")


class RedirectElsewhere(ByPath):
    """To a neighbour, to a victim, to a good server, or into the network behind the crawler."""

    def answer(self, path: str) -> bytes:
        random, around = self.around.random, self.around
        inside = (
            "http://169.254.169.254/",
            "http://10.0.0.1/",
            "http://[::1]:80/",
            "http://0/",
            "//localhost/",
            "https://127.1/",
        )
        target = random.choice(
            (
                f"{random.choice(around.neighbours)}/r/{random.randrange(100_000)}",
                # The first alone: the host that a seed redirects to is in scope from then on.
                f"{around.victims[0]}/r/{random.getrandbits(40)}",
                random.choice(around.good),
                random.choice(inside),
            )
        )
        status = random.choice(
            ("301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect")
        )
        return response(b"", f"Location: {target}", status=status)


class LongLocation(ByPath):
    def answer(self, path: str) -> bytes:
        return response(b"", f"Location: /{'l' * 16_000}", status="301 Moved")
