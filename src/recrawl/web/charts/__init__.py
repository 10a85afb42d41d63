"""Charts, drawn on the server as SVG: they need no script, print well, and tell their content as text.

Colours and weights come from the style sheet by class, so that they follow light and dark; meaning is never carried by
colour alone: lines differ in dash, marks in shape. Every chart has a title and a sentence that says what it shows.
"""

from recrawl.web.charts.beliefs import belief_chart
from recrawl.web.charts.crawls import crawl_chart
from recrawl.web.charts.history import history_chart
from recrawl.web.charts.index_curve import index_chart
from recrawl.web.charts.numbers import number_chart, number_words
from recrawl.web.charts.prospects import prospect_chart
from recrawl.web.charts.spending import spend_bar

__all__ = [
    "belief_chart",
    "crawl_chart",
    "history_chart",
    "index_chart",
    "number_chart",
    "number_words",
    "prospect_chart",
    "spend_bar",
]
