"""A reader's program, as plain as it can be: asks an application or a server in the words of the Google Reader API."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from recrawl.store.reader_records import Reader, Wanted
from recrawl.store.records import Batch, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.roles import Store
from recrawl.web.reader_api.credentials import token_of
from recrawl.web.safety.credentials import hashed
from visitor import Answer, Visitor

API = "/api/greader.php/reader/api/0/"
READING_LIST, READ, STARRED = (f"user/-/state/com.google/{name}" for name in ("reading-list", "read", "starred"))
FORM = {"content-type": "application/x-www-form-urlencoded"}
Given = list[tuple[str, str]]


def made_reader(store: Store, name: str = "ann", at: float = 0.0) -> Reader:
    """Somebody who has a token already; passwords take long to hash."""
    reader = Reader(name=name, password=_password(), key=f"the key of {name}", added=at)
    reader.id = store.add_reader(reader)
    return reader


@cache
def _password() -> str:
    return hashed("a password")


def found(store: Store, source: int, keys: range, at: float, **more: object) -> None:
    """A crawler finds items of a source at a time."""
    items = [
        Item(source=source, key=k, title=f"T{k}", link=f"https://{source}.example/{k}", summary="a < b",
             published=at - 60.5, first_seen=at, **more)  # type: ignore[arg-type]
        for k in keys
    ]  # fmt: skip
    crawl = Crawl(source=source, at=at, outcome="new")
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=source, last=at), items=items)]))


def reader_of_two(store: Store, now: float) -> Reader:
    """Reads two sources with three items each; items 1 to 3 are of the first."""
    reader = made_reader(store)
    wanted = [Wanted(source=Source(url=f"https://{k}.example/feed"), labels=labels) for k, labels in
              ((1, ("News",)), (2, ("News", "Tech")))]  # fmt: skip
    store.subscribe(reader.id, wanted, now - 500.0)
    found(store, 1, range(3), now - 300.25)
    found(store, 2, range(3), now - 100.125)
    return reader


@dataclass
class Program:
    """One client of one reader."""

    visitor: Visitor
    auth: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, visitor: Visitor, reader: Reader, now: float) -> Program:
        return cls(visitor, token_of(reader, now))

    def get(self, path: str, *given: tuple[str, str]) -> Answer:
        return self._ask("GET", f"{_place(path)}?{urlencode(given)}")

    def post(self, path: str, *given: tuple[str, str], query: Given | None = None) -> Answer:
        return self._ask("POST", f"{_place(path)}?{urlencode(query or [])}", urlencode(given).encode(), FORM)

    def _ask(self, method: str, path: str, body: bytes = b"", more: dict[str, str] | None = None) -> Answer:
        shown = {"authorization": f"GoogleLogin auth={self.auth}"} if self.auth else {}
        return self.visitor.ask(method, path.removesuffix("?"), body, {**shown, **self.headers, **(more or {})})

    def ids(self, *given: tuple[str, str]) -> list[int]:
        """All pages of a stream's numbers."""
        found: list[int] = []
        more: Given = []
        while True:
            answer = self.get("stream/items/ids", *given, *more).json
            found += [int(each["id"]) for each in answer["itemRefs"]]
            if "continuation" not in answer:
                return found
            more = [("c", answer["continuation"])]

    def contents(self, stream: str, *given: tuple[str, str]) -> dict[str, Any]:
        answer: dict[str, Any] = self.get(f"stream/contents/{quote(stream, safe='')}", *given).json
        return answer

    def unread(self) -> dict[str, int]:
        answer = self.get("unread-count", ("output", "json")).json
        return {each["id"]: each["count"] for each in answer["unreadcounts"]}


def _place(path: str) -> str:
    return path if path.startswith("/") else API + path
