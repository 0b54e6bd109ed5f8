"""What a crawl runs on, and the programs that start it."""
