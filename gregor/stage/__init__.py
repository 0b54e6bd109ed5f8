"""The stage loop: the one place that knows of checkpoints. Stages decide, the loop commits what they decided."""
