"""What a crawl looks like, folded from its records alone: rows of servers, rates over time, counts, refusals, deepest URLs.

What a key of a view holds (a server's row, a window, a refusal) is a frozen value with a pure function that adds two of them, in
any order and grouping; what one record adds is such a value too. So a view may be folded in pieces, in any process, and merged:
`CrawlView` does it in memory, and a stream processor keeps the same values in tables. Memory is bounded, whatever the records say.
"""
