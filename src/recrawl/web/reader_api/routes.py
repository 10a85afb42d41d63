"""The addresses of the API: those Google had, and the same below `/api/greader.php`, where many programs look."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
import structlog
from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from recrawl.errors import ParameterError, StoreError
from recrawl.logs import fault
from recrawl.store.reader_records import Reader
from recrawl.web.context import Context
from recrawl.web.metrics import Measures
from recrawl.web.reader_api import answers, atom, parameters
from recrawl.web.reader_api.acts import Acts, item_numbers
from recrawl.web.reader_api.credentials import write_token
from recrawl.web.reader_api.door import Doorkeeper, TooManyError
from recrawl.web.reader_api.parameters import AskedWrongError, Parameters
from recrawl.web.reader_api.streams import asked
from recrawl.web.reader_api.subscriptions import Subscriptions
from recrawl.web.safety.callers import read_within
from recrawl.web.safety.readers import PREFIXES

MOST_IDS, MOST_ITEMS = 10_000, 1000
MOST_ANSWER = 8 * 1024 * 1024
"""Characters of the content of one answer: a page of a stream ends there, and the next goes on."""
MOST_LIST, MOST_LISTS = 10 * 1024 * 1024, 4
"""Bytes of an OPML list, and lists in memory at once."""
MOST_OF_STRANGERS = 16 * 1024
"""Bytes of a form that is read before it is known whose it is."""
UNAUTHORIZED = {"WWW-Authenticate": 'GoogleLogin realm="recrawl", service="reader"'}

Work = Callable[[Reader, Parameters], Response]
Who = Callable[[Request], Awaitable[tuple[Reader, Parameters] | None]]


def router(context: Context, measures: Measures) -> APIRouter:
    """All of them."""
    return _Routes(context, measures).router


class _Routes:
    def __init__(self, context: Context, measures: Measures) -> None:
        self._context, self._store = context, context.store
        self._door = Doorkeeper(context.store, context.clock)
        self._acts = Acts(context, measures)
        self._lists = 0
        self.router = APIRouter(include_in_schema=False)
        for prefix in PREFIXES:
            self.router.add_api_route(f"{prefix}/accounts/ClientLogin", self._log_in, methods=["POST"])
            self._add(f"{prefix}/reader/api/0")
            for path in ("/reader/api/0/subscription/export", "/reader/subscriptions/export"):
                self._get(prefix + path, self._export)
            self.router.add_api_route(f"{prefix}/reader/api/0/subscription/import", self._import, methods=["POST"])
            self._get(prefix + "/reader/atom/{stream:path}", self._atom)
        self.router.add_api_route(PREFIXES[1], lambda: PlainTextResponse("OK"), methods=["GET"])

    def _add(self, base: str) -> None:
        self._get(f"{base}/token", lambda reader, _: PlainTextResponse(write_token(reader) + "\n"))
        self._get(f"{base}/user-info", lambda reader, _: _json(answers.user_info(reader)))
        self._get(f"{base}/subscription/list", self._subscriptions)
        self._get(f"{base}/tag/list", self._tags)
        self._get(f"{base}/unread-count", self._unread)
        self._get(f"{base}/stream/items/ids", self._ids, "POST")
        self._add_route(f"{base}/stream/items/contents", self._items, ["GET", "POST"], self._who_in_form)
        self._get(f"{base}/stream/contents", self._contents, "POST")
        self._get(f"{base}/stream/contents/{{stream:path}}", self._contents, "POST")
        self._post(f"{base}/edit-tag", self._acts.edit_tags)
        self._post(f"{base}/mark-all-as-read", self._acts.mark_all)
        self._post(f"{base}/rename-tag", self._acts.rename_label)
        self._post(f"{base}/disable-tag", self._acts.drop_label)
        self._post(f"{base}/subscription/edit", self._acts.edit)
        self._add_route(f"{base}/subscription/quickadd", self._quick_add, ["POST"])

    def _get(self, path: str, work: Work, *more: str) -> None:
        self._add_route(path, work, ["GET", *more])

    def _post(self, path: str, act: Callable[[Reader, Parameters], None]) -> None:
        def work(reader: Reader, given: Parameters) -> Response:
            act(reader, given)
            return PlainTextResponse("OK")

        self._add_route(path, work, ["POST"])

    def _add_route(self, path: str, work: Work, methods: list[str], who: Who | None = None) -> None:
        async def answer(request: Request) -> Response:
            return await self._answered(request, work, who or self._who)

        self.router.add_api_route(path, answer, methods=methods)

    async def _who(self, request: Request) -> tuple[Reader, Parameters] | None:
        """Whoever it is, first; then what they want. Nothing of a stranger's is read."""
        reader = await run_in_threadpool(self._door.reader, request)
        return None if reader is None else (reader, await parameters.read(request))

    async def _who_in_form(self, request: Request) -> tuple[Reader, Parameters] | None:
        """Liferea 1.14 asks for items with its token in the form alone, so that of a short one is read.

        A token in the query is none: queries are written into logs.
        """
        if request.method != "POST" or "authorization" in request.headers:
            return await self._who(request)
        given = await parameters.read(request, MOST_OF_STRANGERS)
        shown = "" if "T" in request.query_params else given.first("T")
        reader = await run_in_threadpool(self._door.whose, request, shown)
        return None if reader is None else (reader, given)

    async def _answered(self, request: Request, work: Work, who: Who) -> Response:
        try:
            found = await who(request)
            if found is None:
                return PlainTextResponse("Unauthorized\n", 401, UNAUTHORIZED)
            reader, given = found
            if "stream" in request.path_params:
                given = Parameters([("stream", request.path_params["stream"]), *given.pairs()])
            return await run_in_threadpool(work, reader, given)
        except Exception as error:
            return _trouble(request, error)

    async def _log_in(self, request: Request) -> Response:
        try:
            given = await parameters.read(request)
            name, password = given.first("Email"), given.first("Passwd")
            token = await run_in_threadpool(self._door.log_in, request, name, password)
        except Exception as error:
            return _trouble(request, error)
        if token is None:
            return PlainTextResponse("Error=BadAuthentication\n", 401)
        lines = {"SID": token, "LSID": token, "Auth": token}
        if given.first("output") == "json":
            return _json(lines)
        return PlainTextResponse("".join(f"{name}={value}\n" for name, value in lines.items()))

    def _subscriptions(self, reader: Reader, _: Parameters) -> Response:
        return _json(answers.subscription_list(self._store.subscribed(reader.id)))

    def _tags(self, reader: Reader, _: Parameters) -> Response:
        return _json(answers.tag_list(self._store.subscribed(reader.id), self._store.item_labels(reader.id)))

    def _unread(self, reader: Reader, given: Parameters) -> Response:
        everything = given.first("all") in ("1", "true")
        counts = self._store.unread(reader.id)
        return _json(answers.unread_count(self._store.subscribed(reader.id), counts, everything))

    def _quick_add(self, reader: Reader, given: Parameters) -> Response:
        return _json(self._acts.quick_add(reader, given))

    def _ids(self, reader: Reader, given: Parameters) -> Response:
        question = asked(reader, Subscriptions(self._store, reader), given, MOST_IDS)
        found = self._store.stream(reader.id, question.stream) if question.stream is not None else []
        page = found[: question.limit]
        return _json(answers.item_refs(page, page[-1] if len(found) > question.limit else None))

    def _contents(self, reader: Reader, given: Parameters) -> Response:
        name, items, more = self._page(reader, given)
        return _json(answers.stream_contents(name, items, self._context.now(), more))

    def _atom(self, reader: Reader, given: Parameters) -> Response:
        name, items, _ = self._page(reader, given)
        return Response(atom.document(name, items, self._context.now()), media_type="application/atom+xml")

    def _page(self, reader: Reader, given: Parameters) -> tuple[str, list[dict[str, Any]], int | None]:
        """A page of a stream in full: its name, items, and where the next goes on."""
        subscriptions = Subscriptions(self._store, reader)
        question = asked(reader, subscriptions, given, MOST_ITEMS, given.first("stream") or None)
        found = self._store.stream(reader.id, question.stream) if question.stream is not None else []
        page = found[: question.limit]
        items, last = self._written(reader, subscriptions, page)
        more = last is not None and last != found[-1]
        return question.name, items, last if more else None

    def _written(
        self, reader: Reader, subscriptions: Subscriptions, numbers: Sequence[int]
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Items in their order, as many as go into one answer, and the last number of them that was looked at."""
        readings = {each.item.id: each for each in self._store.reading(reader.id, numbers)}
        sources = subscriptions.of({each.item.source for each in readings.values()})
        contents = self._store.contents(list(readings))
        written: list[dict[str, Any]] = []
        size, last = 0, None
        for number in numbers:
            reading = readings.get(number)
            if reading is not None:  # it may have gone meanwhile
                kept = contents.get(number)
                content = answers.content_of(reading.item, kept)
                size += len(content)
                if written and size > MOST_ANSWER:
                    break
                written.append(answers.item(reading, sources, content, kept.author if kept is not None else ""))
            last = number
        return written, last

    def _items(self, reader: Reader, given: Parameters) -> Response:
        numbers = item_numbers(given.all("i"), MOST_ITEMS)
        items, _ = self._written(reader, Subscriptions(self._store, reader), numbers)
        return _json(answers.stream_contents(answers.READING_LIST, items, self._context.now()))

    def _export(self, reader: Reader, _: Parameters) -> Response:
        return Response(self._acts.written_list(reader), media_type="text/x-opml")

    async def _import(self, request: Request) -> Response:
        counted = False
        try:
            reader = await run_in_threadpool(self._door.reader, request)
            if reader is None:
                return PlainTextResponse("Unauthorized\n", 401, UNAUTHORIZED)
            if self._lists >= MOST_LISTS:
                raise AskedWrongError("other lists are being taken in: try again in a moment", 503)
            self._lists += 1
            counted = True
            body = await read_within(request, MOST_LIST)
            if body is None:
                raise AskedWrongError(f"a list of more than {MOST_LIST} bytes is not read", 413)
            taken = await run_in_threadpool(self._acts.take_list, reader, body)
            return PlainTextResponse(f"OK: {taken}\n")
        except Exception as error:
            return _trouble(request, error)
        finally:
            self._lists -= counted


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _trouble(request: Request, error: Exception) -> Response:
    """Every error becomes a line a person can read."""
    if isinstance(error, AskedWrongError):
        return _line(error.words, error.status)
    if isinstance(error, TooManyError):
        return _line(str(error), 429, {"Retry-After": str(math.ceil(error.wait_s))})
    if isinstance(error, ParameterError):
        return _line(str(error), 400)
    if isinstance(error, StoreError):
        return _line(str(error), 409 if "more than" in str(error) else 503)
    structlog.get_logger("recrawl").error("a request failed", path=request.url.path, **fault(error))
    return _line("Something went wrong here; the log says what.", 500)


def _line(words: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(words.encode("utf-8", "replace").decode() + "\n", status, headers)
