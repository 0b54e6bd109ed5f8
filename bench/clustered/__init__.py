"""A crawl on Kafka with everything on this machine: how fast it is, how late an order comes, how long a restore takes."""
