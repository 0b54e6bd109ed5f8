"""A web without a network: answers out of WARC files, or of pages that are made up, at a given bandwidth. No socket is opened."""
