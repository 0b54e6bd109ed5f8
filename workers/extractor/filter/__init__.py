"""The caching URL filter of paper 001: what the frontier is known to have costs no message. It may forget, and never decides."""
