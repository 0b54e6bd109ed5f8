"""The views of a crawl on a cluster: a Faust application folds ``fetched`` and ``verdicts`` as they come, for the live page and its JSON.

Its memory is all it has. Every start reads both topics from their beginning: nothing derived can then differ from the records, a
process that died leaves nothing to be mended, and as many may run as wanted, each with the whole view. For the same reason it
commits no positions; a group that did would hold `gregor trim` back.
"""
