"""What a crawl runs on, and the programs that start it. The product imports of it what a cluster on this machine needs, and no more."""
