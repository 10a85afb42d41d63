"""What people use today: the revisit rules of crawlers and feed readers, one per file, as baselines.

Each keeps an interval per target, set by what its last visits found, and knows nothing of a budget: as shipped it
serves whoever is most overdue and leaves unspent what no timer asks for. `filled=True` makes it use the whole budget,
by serving whoever is oldest in units of its own interval.
"""
