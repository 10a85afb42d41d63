"""One document at a time, from address to bytes: politely, within the budget, and safe from strangers' servers."""
