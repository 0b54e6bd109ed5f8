"""A web without a network: pages made from their number, and a link of a given bandwidth. Nothing here opens a socket."""
