"""A small web site that gregor serves on loopback, to be crawled without touching anybody. It knows nothing of the crawler."""
