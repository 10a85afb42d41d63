"""What is found goes somewhere: to a file, a webhook, a command, to people.

Events are committed with the crawl that found them and handed on only afterwards, in order, each outlet from its own
cursor in the store. A cursor moves after a delivery, so a crash repeats events rather than loses them; the ids in them
make repeats harmless. A dead outlet delays neither crawling nor the other outlets.
"""

from recrawl.crawl.outlets.all_outlets import EventStore, Outlets
from recrawl.crawl.outlets.base import NotDeliveredError, Outlet, OutletClosedError, RefusedError
from recrawl.crawl.outlets.command import CommandOutlet
from recrawl.crawl.outlets.delivery import OutletStatus
from recrawl.crawl.outlets.file import FileOutlet
from recrawl.crawl.outlets.gathered_delivery import Gathering
from recrawl.crawl.outlets.notification import NotificationOutlet
from recrawl.crawl.outlets.webhook import WebhookOutlet

__all__ = [
    "CommandOutlet",
    "EventStore",
    "FileOutlet",
    "Gathering",
    "NotDeliveredError",
    "NotificationOutlet",
    "Outlet",
    "OutletClosedError",
    "OutletStatus",
    "Outlets",
    "RefusedError",
    "WebhookOutlet",
]
