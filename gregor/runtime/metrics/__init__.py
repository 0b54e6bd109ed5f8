"""What a worker shows to Prometheus: figures of its loop, answers of the brokers, its disks. A role's own metrics are in its folder."""
