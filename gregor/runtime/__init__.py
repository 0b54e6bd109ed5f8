"""What runs stages and knows no crawl: their loops, the transports, durable state, metrics. Nothing here judges a URL."""
