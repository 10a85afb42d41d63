"""Pages as people see them: a browser runs a page's scripts, and what it shows then is read like any other page.

::

    visitor ── document, as fetched ──► renderer                          the crawler's process
                                          │  messages over pipes
                                        worker ── page_visit ── Chromium  a process of its own, with its children
                                          │
                                        guarded_proxy ──► the network     one for each page

The document itself, and every other page that scripts or steps lead to, is fetched by the crawler's own fetcher:
robots.txt, politeness, budget and redirects are as ever. What the page asks for beyond that (scripts, data, pictures)
goes through a proxy of ours, which checks every address it connects to. The crawler's process holds no browser:
whatever a page does to one, it is ended with all its processes, and the next page gets a new one.

Refuses: addresses that are refused everywhere else, downloads, dialogs, windows, service workers, and pages that take
more time, memory, processes, requests or bytes than they may.
"""
