"""What a worker shows to Prometheus: figures recorded by its loop, questions to the brokers, its disks."""
