"""Pushes: others tell us that something has changed, by WebSub or by IndexNow, and it becomes a signal (`signals`)."""
