"""Whether a URL is new: VEUNIQ's check in whole batches, on sorted blocks of packed entries.

One batch's way:

    arrays of server hash, fingerprint, facts          keys.py      one sort, repeats inside the batch folded together
      -> entries that wait for the commit              engine.py    a URL admitted by an earlier batch is known
      -> blocks and their deltas, in key order         blocks.py    one multi-get and one binary search a chunk
      -> new: admitted; known: facts improved          facts.py
      -> at the checkpoint: packed changelog records   deltas.py    logical: what was admitted or changed
      -> after the commit: deltas, blocks, splits      apply.py     the same function for live and for a restore

Records of servers that are hardly worth a read may wait in a durable family until they are: tmp.py.
"""
