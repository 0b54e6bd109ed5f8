"""A crawl on a cluster as it goes on: one page for people and JSON for programs, served by the views worker. It only reads."""
