"""Where everything that must survive is kept: the catalogue, what was learned, what was found, what was said.

`base` is the contract, `sqlite` the embedded store. A store holds and finds; it decides nothing.
"""
