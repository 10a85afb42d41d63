"""A fleet: many crawlers that share a store, a budget and one price. `docs/fleet.md` describes it.

A shard is the pipeline of the single program over the part of the store it has under lease; the coordinator moves the
price and shares out the budget. Everything that decides is pure and told the time (`grants`, `members`, `placement`);
only `ray_actors` knows Ray.
"""
