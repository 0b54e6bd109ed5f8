"""From pages to links and items."""
