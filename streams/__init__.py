"""The stateful processors, a folder each with its role. None touches the outside, and none imports a worker."""
