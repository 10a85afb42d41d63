"""Beliefs in, "who is next" out: rankings, budgets and the calendar."""
