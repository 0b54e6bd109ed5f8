"""The extractor: from pages to links and items, bounded whatever a page holds. It asks no server, and gregor/rules for the scope."""
