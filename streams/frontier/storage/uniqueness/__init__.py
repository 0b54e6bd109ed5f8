"""Whether a URL is new: VEUNIQ's check in whole batches, on sorted blocks of packed entries.

One batch's way:

    arrays of server hash, fingerprint, facts          keys.py      one sort, repeats inside the batch folded together
      -> entries that wait for the commit              engine.py    a URL admitted by an earlier batch is known
      -> entries that wait for their blocks            recent.py    in memory, bounded
      -> blocks in memory, searched where they lie     cache.py     one binary search for all URLs together
      -> blocks that are not, in key order             search.py    one multi-get and one search a chunk
      -> new: admitted; known: facts improved          facts.py
      -> at the checkpoint: packed changelog records   deltas.py    what was admitted or changed, which ranges are folded into blocks
      -> after the commit: runs, blocks, splits        apply.py     the same function for live and for a restore

How it all lies in the state: blocks.py.
"""
