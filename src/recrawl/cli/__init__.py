"""The command line: one module per command, heavy parts imported only when a command runs."""
