"""The frontier fed with a crawl's records once more: past orders are repeated, not decided anew. A running crawl never comes here."""
