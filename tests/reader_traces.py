"""What programs for reading feeds ask, one after the other, as far as it is public.

Facts from the sources of those that have them open (NetNewsWire, Capy Reader, Fluent Reader, Read You, Readrops, RSS
Guard, Liferea), and of the others (Reeder, News+, FeedMe) only what their users published of servers' logs: method,
place, query, form, and what must come. `{…}` is put in: a reader's token for changes, and times. All see the same six
items of two feeds (`reading`).
"""

from __future__ import annotations

from typing import NamedTuple

READ, STARRED, LIST = (f"user/-/state/com.google/{name}" for name in ("read", "starred", "reading-list"))
LONG = "tag:google.com,2005:reader/item/"
OLD, NEW = "https://1.example/feed", "https://new.example/rss"


class Asked(NamedTuple):
    """One request; `comes` is the text of the answer, the numbers of its items, or names that must be in it."""

    method: str
    place: str
    query: str = ""
    form: str = ""
    comes: str | list[int] | set[str] | None = None


GET, POST = "GET", "POST"
LOGIN, TOKEN, INFO = "accounts/ClientLogin", "reader/api/0/token", "reader/api/0/user-info"
FEEDS, EDIT, ADD = (f"reader/api/0/subscription/{name}" for name in ("list", "edit", "quickadd"))
TAGS, RENAME, DROP, MARK, UNREAD = (
    f"reader/api/0/{name}" for name in ("tag/list", "rename-tag", "disable-tag", "edit-tag", "unread-count")
)
SWEEP = "reader/api/0/mark-all-as-read"
IDS, ITEMS, STREAM = (f"reader/api/0/stream/{name}" for name in ("items/ids", "items/contents", "contents"))
WHO = "Email=ann&Passwd=a%20password"

TRACES: dict[str, list[Asked]] = {
    "NetNewsWire": [
        Asked(POST, LOGIN, "", WHO),
        Asked(GET, TAGS, "output=json", comes={"tags"}),
        Asked(GET, FEEDS, "output=json", comes={"subscriptions"}),
        Asked(GET, TOKEN),
        Asked(GET, IDS, f"n=1000&output=json&ot={{month_ago}}&s={LIST}", comes=[6, 5, 4, 3, 2, 1]),
        Asked(GET, IDS, f"n=1000&output=json&s={LIST}&xt={READ}", comes=[6, 5, 4, 3, 2, 1]),
        Asked(GET, IDS, f"n=1000&output=json&s={STARRED}", comes=[]),
        Asked(POST, ITEMS, "", f"T={{token}}&output=json&i={LONG}6&i={LONG}1", [6, 1]),
        Asked(POST, MARK, "", f"T={{token}}&i={LONG}0000000000000006&a={READ}", "OK"),
        Asked(POST, MARK, "", f"T={{token}}&i={LONG}0000000000000001&a={STARRED}", "OK"),
        Asked(GET, IDS, f"n=1000&output=json&s={LIST}&xt={READ}", comes=[5, 4, 3, 2, 1]),
        Asked(GET, IDS, f"n=1000&output=json&s={STARRED}", comes=[1]),
        Asked(POST, ADD, "", "T={token}&quickadd=https://new.example/rss", {"numResults", "streamId"}),
        Asked(POST, EDIT, "", "T={token}&s=feed/3&ac=edit&t=New%20one", "OK"),
        Asked(POST, EDIT, "", "T={token}&s=feed/3&ac=edit&a=user/-/label/Caf%C3%A9%20%26%20Bar", "OK"),
        Asked(POST, EDIT, "", "T={token}&s=feed/3&ac=edit&r=user/-/label/Caf%C3%A9%20%26%20Bar&a=user/-/label/T", "OK"),
        Asked(POST, RENAME, "", "T={token}&s=user/-/label/T&dest=user/-/label/Tee", "OK"),
        Asked(POST, DROP, "", "T={token}&s=user/-/label/Tee", "OK"),
        Asked(POST, EDIT, "", "T={token}&s=feed/3&ac=unsubscribe", "OK"),
    ],
    "Capy Reader": [
        Asked(POST, LOGIN, WHO),
        Asked(GET, FEEDS, "output=json", comes={"subscriptions"}),
        Asked(GET, TOKEN),
        Asked(GET, IDS, f"s={LIST}&n=10000&xt={READ}&output=json", comes=[6, 5, 4, 3, 2, 1]),
        Asked(GET, IDS, f"s={STARRED}&n=10000&output=json", comes=[]),
        Asked(POST, ITEMS, "output=json", "i=0000000000000006&i=0000000000000003&T={token}", [6, 3]),
        Asked(POST, MARK, "output=json", f"i=0000000000000006&T={{token}}&a={READ}", "OK"),
        Asked(POST, MARK, "output=json", f"i=0000000000000006&T={{token}}&r={READ}", "OK"),
        Asked(POST, ADD, "output=json", "quickadd=https%3A%2F%2Fnew.example%2Frss&T={token}", {"streamName"}),
        Asked(POST, EDIT, "", "s=feed%2F3&ac=edit&a=user%2F-%2Flabel%2FTech&t=New&T={token}", "OK"),
    ],
    "Fluent Reader": [
        Asked(POST, LOGIN, "", WHO),
        Asked(GET, INFO, comes={"userId", "userName"}),
        Asked(GET, FEEDS, "output=json", comes={"subscriptions"}),
        Asked(GET, IDS, f"output=json&s={LIST}&xt={READ}&n=1000", comes=[6, 5, 4, 3, 2, 1]),
        Asked(GET, IDS, f"output=json&s={STARRED}&n=1000", comes=[]),
        Asked(GET, STREAM, "output=json&n=125", comes=[6, 5, 4, 3, 2, 1]),
        Asked(GET, STREAM, "output=json&n=125&ot={after_first}", comes=[6, 5, 4]),
        Asked(POST, MARK, "", f"i=1&i=2&a={READ}", "OK"),
        Asked(POST, SWEEP, "", "s=feed%2F2", "OK"),
        Asked(GET, IDS, f"output=json&s={LIST}&xt={READ}&n=1000", comes=[3]),
        Asked(GET, IDS, f"output=json&xt={READ}&n=1000", comes=[3]),
        Asked(GET, IDS, f"output=json&it={STARRED}&n=1000", comes=[]),
    ],
    "Read You": [
        Asked(POST, LOGIN, "", f"output=json&{WHO}&client=ReadYou&accountType=HOSTED_OR_GOOGLE&service=reader"),
        Asked(GET, TOKEN),
        Asked(GET, INFO, "output=json", comes={"userId"}),
        Asked(GET, FEEDS, "output=json", comes={"subscriptions"}),
        Asked(GET, IDS, f"output=json&s={READ}&ot={{month_ago}}&n=10000", comes=[]),
        Asked(GET, IDS, f"output=json&s={LIST}&xt={READ}&n=10000", comes=[6, 5, 4, 3, 2, 1]),
        Asked(POST, ITEMS, "output=json", "i=0000000000000005&T={token}", [5]),
        Asked(POST, MARK, "output=json", f"i={LONG}0000000000000005&a={STARRED}&T={{token}}", "OK"),
        Asked(POST, ADD, f"output=json&quickadd={NEW}", f"quickadd={NEW}&T={{token}}", {"numResults"}),
        Asked(POST, EDIT, "output=json", "ac=edit&s=feed/3&a=user/-/label/Tech&t=Three&T={token}", "OK"),
        Asked(POST, SWEEP, "output=json", "s=user/-/label/Tech&T={token}", "OK"),
        Asked(GET, IDS, f"output=json&s={READ}&ot={{month_ago}}&n=10000", comes=[6, 5, 4]),
    ],
    "Readrops": [
        Asked(POST, LOGIN, "", WHO),
        Asked(GET, TOKEN),
        Asked(GET, INFO, comes={"userName"}),
        Asked(GET, TAGS, "output=json", comes={"tags"}),
        Asked(GET, f"{STREAM}/{LIST}", f"xt={READ}&xt={STARRED}&n=2500&ot={{after_first}}", comes=[6, 5, 4]),
        Asked(GET, f"{STREAM}/{STARRED}", "n=1000", comes=[]),
        Asked(GET, IDS, f"xt={READ}&s={LIST}&n=5000", comes=[6, 5, 4, 3, 2, 1]),
        Asked(POST, MARK, "", f"T={{token}}&a={READ}&i={LONG}0000000000000004", "OK"),
        Asked(POST, MARK, "", "T={token}&a=user%2F-%2Flabel%2FEmpty", "OK"),
        Asked(POST, EDIT, "", f"T={{token}}&s=feed%2F{NEW}&ac=subscribe&a=user%2F-%2Flabel%2FTech", "OK"),
        Asked(POST, EDIT, "", "T={token}&s=feed%2F3&t=Three&a=user%2F-%2Flabel%2FNews&ac=edit", "OK"),
        Asked(POST, DROP, "", "T={token}&s=user%2F-%2Flabel%2FNews", "OK"),
    ],
    "RSS Guard": [
        Asked(POST, LOGIN, "", WHO),
        Asked(GET, TOKEN),
        Asked(GET, INFO, "output=json", comes={"userName"}),
        Asked(GET, FEEDS, "output=json", comes={"subscriptions"}),
        Asked(GET, IDS, "output=json&n=200000&s=user%2F-%2Fstate%2Fcom.google%2Fstarred&ot={month_ago}", comes=[]),
        Asked(GET, IDS, f"output=json&n=200000&s=user%2F-%2Fstate%2Fcom.google%2Freading-list&xt={READ}",
              comes=[6, 5, 4, 3, 2, 1]),
        Asked(POST, ITEMS, "output=json&n=200000", f"i={LONG}0000000000000006&i={LONG}0000000000000002", [6, 2]),
        Asked(GET, f"{STREAM}/feed%2F1", "output=json&n=100", comes=[3, 2, 1]),
        Asked(POST, MARK, "", f"a={READ}&i={LONG}0000000000000002&i={LONG}0000000000000003", "OK"),
        Asked(POST, EDIT, f"ac=subscribe&s=feed/{NEW}&t=New&a=user/-/label/Tech", "", "OK"),
    ],
    "Liferea": [
        Asked(POST, LOGIN, "", f"service=reader&{WHO}&source=liferea&continue=http://localhost"),
        Asked(GET, FEEDS, "output=json", comes={"subscriptions"}),
        Asked(GET, UNREAD, "output=json&all=true&client=liferea", comes={"unreadcounts", "max"}),
        Asked(GET, f"{STREAM}/feed/1", "client=liferea&n=10", comes=[3, 2, 1]),
        Asked(GET, IDS, "s=feed%2F1&client=liferea&n=50&output=json&merge=true", comes=[3, 2, 1]),
        Asked(POST, ITEMS, "", "output=json&mediaRss=true&T={token}&i=3&i=2&i=1", [3, 2, 1]),
        Asked(GET, TOKEN),
        Asked(POST, MARK, "client=liferea",
              f"i={LONG}0000000000000003&s=feed%2F{OLD}&a={READ}&ac=edit-tags&T={{token}}&async=true", "OK"),
        Asked(POST, MARK, "client=liferea",
              f"i={LONG}0000000000000003&s=feed%2F{OLD}&r={READ}&ac=edit-tags&T={{token}}&async=true", "OK"),
        Asked(POST, EDIT, "client=liferea",
              "s=feed%2Fhttps%3A%2F%2Fnew.example%2Frss&i=null&ac=subscribe&T={token}", "OK"),
        Asked(POST, EDIT, "client=liferea", "s=feed/3&a=user/-/label/Tech&ac=edit&T={token}&async=true", "OK"),
        Asked(POST, EDIT, "client=liferea", "s=feed/3&i=null&ac=unsubscribe&T={token}", "OK"),
    ],
    "Reeder": [
        Asked(POST, LOGIN, "", f"accountType=HOSTED_OR_GOOGLE&{WHO}&service=reader"),
        Asked(GET, TOKEN),
        Asked(GET, IDS, f"s={LIST}&xt={READ}&n=1000&output=json", comes=[6, 5, 4, 3, 2, 1]),
        Asked(POST, ITEMS, "", "output=json&T=x&i=0000000000000006&i=0000000000000001", [6, 1]),
        Asked(POST, MARK, "", f"T=x&i=0000000000000001&a={READ}", "OK"),
    ],
    "News+": [
        Asked(POST, LOGIN, "", f"accountType=GOOGLE&{WHO}&service=reader"),
        Asked(GET, TAGS, "client=newsplus&output=json&ck=1538982165918", comes={"tags"}),
        Asked(GET, FEEDS, "client=newsplus&output=json&ck=1538982165918", comes={"subscriptions"}),
        Asked(GET, UNREAD, "client=newsplus&output=json&ck=1538982165918", comes={"unreadcounts"}),
        Asked(GET, f"{STREAM}/user%2F-%2Fstate%2Fcom.google%2Freading-list",
              f"client=newsplus&ck=1473611612571&xt={READ}&c=4&n=1000&r=n", comes=[3, 2, 1]),
        Asked(POST, SWEEP, "", f"T={{token}}&s={LIST}&ts={{now_ns}}", "OK"),
        Asked(GET, IDS, f"s={LIST}&xt={READ}&n=1000&client=newsplus", comes=[]),
    ],
    "FeedMe": [
        Asked(POST, LOGIN, "", WHO),
        Asked(POST, ITEMS, "output=json", f"i={LONG}0000000000000006", [6]),
        Asked(POST, MARK, "", f"T=&i={LONG}0000000000000006&a={STARRED}", "OK"),
    ],
}  # fmt: skip
