"""Scrapy as its documentation recommends for a broad crawl of one site: LinkExtractor, no delay, no cookies, no retries.

Run: python -m bench.crawling.spider PAGES URL..., after about so many pages it stops (0: never)
"""

import os
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class SiteSpider(Spider):
    """Every page of the hosts it starts from."""

    name = "site"

    def __init__(self, starts: list[str]) -> None:
        super().__init__()
        self.start_urls = starts
        domains = {urlsplit(start).netloc for start in starts}
        self._extract = LinkExtractor(allow_domains=domains, canonicalize=True).extract_links
        self._follow = os.environ.get("GREGOR_CRAWL__FOLLOW_LINKS") != "false"

    def parse(self, response: Response, **_: Any) -> Iterator[Request]:
        if isinstance(response, HtmlResponse):
            for link in self._extract(response):
                if self._follow:
                    yield Request(link.url)


def main(pages: int, starts: list[str]) -> None:
    settings = {
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
        "DOWNLOAD_DELAY": 0,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        "HTTPERROR_ALLOW_ALL": True,
        "CLOSESPIDER_PAGECOUNT": pages,
    }
    process = CrawlerProcess(settings)
    process.crawl(SiteSpider, starts=starts)
    process.start()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
