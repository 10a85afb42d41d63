"""A web of our own on loopback: sources that publish by known laws, an access log, and faults on demand.

For the demo, tests and benchmarks: what a crawler did is judged by what this web saw, not by what the crawler says.
"""
