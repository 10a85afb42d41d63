"""The Google Reader API, as programs for reading feeds speak it: FreshRSS, Miniflux and others answer to it too.

    stream_ids   numbers of items and names of streams, in all the ways they are written
    parameters   what a request says, in its query and in its body
    credentials  passwords of readers, and the tokens they get for them
    door         who is let in
    subscriptions  what somebody reads
    streams      which items are asked for
    answers      what is said of sources and items
    interest     which of what readers do says what they are interested in
    acts         what readers change
    routes       the addresses

A reader sees their own subscriptions, and what they starred or labelled, and nothing else: not the pages, not the other
API, and nothing of another reader.
"""
