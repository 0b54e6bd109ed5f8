"""Whether a crawl's topics, states and files agree with each other: every promise of the protocol proved or refuted from the records.

What is compared stands in several topics in different orders. Everything that belongs together is therefore written, as short entries,
into an external sort on disk (external_sort.py of gregor/runtime/state) and read back in its order, so that memory holds one order, one URL
or one response:
the write buffer and cache of the sort (48 MiB), one batch of entries, one page. Nothing grows with the crawl but the sort, which takes
about 100 bytes for each link, URL, request and response.

A crawl may run meanwhile. Positions and checkpoints are read first, then the topics against the current: what was archived before pages,
pages before results, results before orders, orders before discoveries. So whatever is found downstream has its origin upstream, and what
lies below a position must have arrived; what lies above is on its way.
"""
