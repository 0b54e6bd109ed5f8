"""Scrapy as its documentation recommends for a broad crawl of one site: LinkExtractor, no delay, no cookies, no retries.

Run: python -m bench.crawling.spider URL [PAGES], after about so many pages it stops
"""

import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class SiteSpider(Spider):
    """Every page of one host."""

    name = "site"

    def __init__(self, start: str) -> None:
        super().__init__()
        self.start_urls = [start]
        self._extract = LinkExtractor(allow_domains=urlsplit(start).netloc, canonicalize=True).extract_links

    def parse(self, response: Response, **_: Any) -> Iterator[Request]:
        if isinstance(response, HtmlResponse):
            for link in self._extract(response):
                yield Request(link.url)


def main(start: str, pages: int) -> None:
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
    process.crawl(SiteSpider, start=start)
    process.start()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
