"""Beliefs in, "who is next" out: the calendar (event-driven, exact), the scan (dense), and what may be spent.

This room ranks by the continuous index and counts tokens. It does not learn, does not fetch, and takes the time as an
argument.
"""
