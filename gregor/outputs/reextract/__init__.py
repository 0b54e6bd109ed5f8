"""Pages of a crawl read once more with other rules for items: from topic or archive, to a file or a new topic. Links are not followed."""
