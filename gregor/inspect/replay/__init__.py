"""A frontier made again from its inputs, and compared with the one that the crawl has.

    plan      from where to where a partition can be replayed, and how exactly
    steps     its records in the order in which the crawl took them in, with the time of each step
    session   what the stage's loop takes them from, and where its state goes
    compare   two states, walked through side by side
    run       all of it, partition by partition

The frontier's decisions are functions of (state, batch, time). The inputs stand in `discovered` and `fetched`; the batches and times
stand in the checkpoint records of the changelog, as far as it reaches back, and orders in `schedule`. With all three a replay takes the
same steps as the crawl did and its counters can be compared at every checkpoint. Without them records are put in order by their own
times: what was admitted and what became of it is still the same, because neither depends on the clock.
"""
