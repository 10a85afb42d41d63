"""Mathematics: arrays in, arrays out, each formula once, with its source beside it.

A kernel is a small compiled function over scalars or flat arrays; beside it stands a wrapper that checks, broadcasts
and names what is wrong. Kernels know nothing of time, policies or the web. Every kernel is finite for every finite
valid input.
"""
