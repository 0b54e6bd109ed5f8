"""A small web site that gregor serves on loopback, to be crawled without touching anybody."""
