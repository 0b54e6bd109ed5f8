"""The frontier's state as bytes: servers and their queues, deltas of a checkpoint, known URLs. No decision is made here."""
