"""How sources come into the catalogue: lists in files, fields checked, sites looked up, addresses previewed."""
