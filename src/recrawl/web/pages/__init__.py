"""The pages. Each module has one router; what a page shows comes from `views`, what it looks like from `templates`."""
