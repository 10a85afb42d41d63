"""From bytes to what a document says: feeds, sitemaps and pages, read in bounded time and memory."""
