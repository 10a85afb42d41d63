"""The live crawler: intents in, observations out.

`decider` says what to fetch next (pure: no clock, no network, no disk); `fetcher` sends a request politely and within
the budget; `feeds`, `sitemaps` and `pages` read what came back; `pipeline` carries it all out. Nothing here chooses by
itself what is worth fetching, and nothing here knows which database it writes to.
"""
