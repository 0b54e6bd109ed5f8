"""The archiver: every response of the topic ``pages`` as records of WARC files, exactly once. Reading them is gregor/outputs/archive."""
