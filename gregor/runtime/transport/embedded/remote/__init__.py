"""Stages in processes of their own on the embedded transport: the log stays in one process, their sessions reach it through a socket."""
