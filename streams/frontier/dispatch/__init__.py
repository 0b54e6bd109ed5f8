"""From queued to ordered: whose turn it is, in which order, how politely, under which lease. Nothing is fetched here."""
