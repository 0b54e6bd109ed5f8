"""From fetched to a URL's fate: done, tried again, visited again, or given up. Pages are not read here."""
