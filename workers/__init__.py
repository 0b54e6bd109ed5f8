"""What touches the outside: fetcher, extractor, archiver."""
