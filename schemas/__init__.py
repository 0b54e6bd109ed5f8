"""The records of every topic: one file a topic, frozen Structs, readable JSON. Nothing here imports the rest of the project.

Times are integers in milliseconds since the Unix epoch (``*_ms``), durations too; sizes are bytes. A field that a reader does not
know is ignored and a missing optional field takes its default, so that old and new workers read each other's records.
"""
