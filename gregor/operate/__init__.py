"""What a person does with a crawl beside running it: look at it, hold it back, put records back, trim its topics. No stage runs here.

Everything here works on the port alone, so that it is the same on a cluster and in the folder of a crawl on one machine.
"""
