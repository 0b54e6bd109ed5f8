"""What the stages share, and what people do with a crawl. No stage lives here: those are in streams/ and workers/."""
