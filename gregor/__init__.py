"""What the stages share: command line, pipeline, stage loop, transports, state, URLs."""
