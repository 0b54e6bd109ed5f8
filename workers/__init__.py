"""What touches the outside, a folder each with its role: fetcher, extractor, archiver. None has a changelog; that is for streams/."""
