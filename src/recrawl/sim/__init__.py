"""The lab: worlds that reveal only what a crawl would show, and runs of policies in them."""
