"""Who may come in, and what may be said: host names, passwords, sessions, forged requests, sizes, headers."""
