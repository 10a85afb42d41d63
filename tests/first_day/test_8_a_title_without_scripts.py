"""Of a title in xhtml, the words of scripts are no part, whatever its prefix."""

from __future__ import annotations

import pytest

from recrawl.crawl.reading.readers import Document, read

FEED = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>Notes</title><entry><id>a</id>'
    '<title type="xhtml"><{0}div>Less <{0}script>alert(1)</{0}script>is <{0}em>more</{0}em></{0}div></title>'
    "</entry></feed>"
)


@pytest.mark.parametrize("prefix", ["", "xhtml:", "h:"])
def test_an_xhtml_title_keeps_no_script(prefix: str) -> None:
    (item,) = read(Document(url="https://a.example/", body=FEED.format(prefix).encode(), now=1.8e9)).items
    assert item.title == "Less is more"
