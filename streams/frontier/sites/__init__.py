"""Where a coordinator places sites: a partition as the home of some and the slot of others. Nothing here runs with placement by hash."""
