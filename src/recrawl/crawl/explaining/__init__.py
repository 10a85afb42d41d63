"""Why the schedule is as it is, and what would change it: for people and programs that ask."""
