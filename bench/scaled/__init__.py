"""What bench/scaling.py runs and computes with."""
