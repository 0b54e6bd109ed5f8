"""What a large crawl will take: paper 004's cost model, our own profile of a page's cost, and plans made from either."""
