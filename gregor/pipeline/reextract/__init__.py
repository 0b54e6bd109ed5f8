"""Pages of a crawl read once more with other rules for items: from the topic or from the archive, to a file or to a new topic."""
