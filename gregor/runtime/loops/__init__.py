"""The stage loops: the one place that knows of checkpoints. Stages decide, a loop commits what they decided. No loop knows a URL."""
