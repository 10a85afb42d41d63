"""The web face: pages, an API and metrics over a store, whether or not a crawler is at work on it.

`safety` decides who may come in, `views` ask the store and compute, `charts` draw, `pages` and `api` answer, as HTML
and as JSON, from the same views. Nothing here fetches anything from the web, and nothing that came from it is trusted:
text is escaped where it is shown, links are followed only if they are http or https.
"""
