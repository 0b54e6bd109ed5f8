"""Programs behind every figure that the project states; each prints a table, the machine and the versions."""
