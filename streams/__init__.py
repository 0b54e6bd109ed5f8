"""The stateful processors."""
