"""A web of our own on loopback: sources that publish by known laws, an access log, and faults on demand.

For the demo, tests and benchmarks: what a crawler did is judged by what this web saw, not by what the crawler says.

`laws` (how sources publish) and `list_laws` (how honestly sites tell of changes) → `world` (sources and hosts from a
seed) → `documents` and `site_lists` (bytes) → `server` (HTTP, and the `admin` at `/_synthweb/`) with `faults` and a
`hub`; `ledger` scores an access log against the truth and finds broken rules; `process` runs it all in a process of its
own.
"""
