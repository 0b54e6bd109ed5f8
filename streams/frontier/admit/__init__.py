"""From discovered to queued: which URLs of a batch are new, within the limits, and in no trap. Nothing is ordered here."""
