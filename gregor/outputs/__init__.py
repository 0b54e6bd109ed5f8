"""What comes out of a crawl: archive read back, items, exports, folds of its records, the report, the live page. No role needs it."""
