"""Observations in, beliefs out: means and spreads of value and rate, learned from what crawls reveal."""
