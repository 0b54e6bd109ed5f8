"""The fetcher: carries out fetch orders against the outside, politely and within caps, and reports every outcome."""
