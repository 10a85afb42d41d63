"""Where everything that must survive is kept: the catalogue, what was learned, what was found, what was said.

`records` is what a store keeps, `roles` the contract; `sqlite` is the embedded store, `postgres` the one for fleets.
What both do alike is in `sql`, `rows` and `retention`. A store holds and finds; it decides nothing.
"""
