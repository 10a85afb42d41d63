"""The tools as the official SDK serves them: names, descriptions, bounds of what they take, and who is asked first.

Tools that only look are marked as such; `add_source`, the only one that changes anything, asks the user through the
client, and where the client cannot ask, has the same call made twice (`confirmation`). The SDK reads the annotations of
functions made here, so they are no strings.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from recrawl import __version__
from recrawl.crawl.reading.plain_text import told
from recrawl.errors import RecrawlError
from recrawl.web.mcp.answers import MOST, Answers
from recrawl.web.mcp.confirmation import Confirmations
from recrawl.web.mcp.untrusted import NOTICE

INSTRUCTIONS = (
    "recrawl watches feeds, sitemaps and pages, and fetches each when that is worth it. Ask it what is new, what "
    f"changed, and why a source is fetched when it is. {NOTICE}"
)
LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=True)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)

Since = Annotated[str, Field(max_length=30, description="Only what was found in this time: 6h, 2d, 1w. Empty: ever.")]
Tag = Annotated[str, Field(max_length=200, description="Only of sources with this tag. Empty: of all.")]
Limit = Annotated[int, Field(ge=1, le=MOST, description="Entries at most.")]
Name = Annotated[str, Field(max_length=2000, description="A source: id, address, or a part of address or title.")]
Words = Annotated[str, Field(min_length=1, max_length=500, description="All of these words; libr* is a beginning.")]
Budget = Annotated[str, Field(max_length=30, description="Requests: 60/min, 2000/h, 20000/day.")]
Address = Annotated[str, Field(min_length=1, max_length=10_000, description="Of a feed, a sitemap, a page or a site.")]
Tags = Annotated[list[str], Field(max_length=20, description="Words to find it by.")]
Importance = Annotated[float, Field(gt=0, le=1e6, description="What one of its items is worth; 1 is usual.")]
Code = Annotated[str, Field(max_length=100, description="What the first call returned as `confirm`, if it did.")]
Told = TypeVar("Told")


class Consent(BaseModel):
    """What a user is asked for."""

    add: bool = Field(description="Watch this address")


class Unasked(BaseModel):
    """The client cannot ask its user."""


def make_server(answers: Answers) -> MCPServer[Any]:
    """A server with all tools; it says nothing until a transport runs it."""
    server: MCPServer[Any] = MCPServer(
        "recrawl", title="recrawl", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    _add_looking(server, answers)
    _add_adding(server, answers)
    return server


def _add_looking(server: MCPServer[Any], answers: Answers) -> None:
    @server.tool(annotations=LOOKS, title="What is new")
    def whats_new(since: Since = "24h", tag: Tag = "", limit: Limit = 20) -> dict[str, Any]:
        """Items and changes of pages that were found last, the latest first."""
        return _said(lambda: answers.whats_new(since, tag, limit))

    @server.tool(annotations=LOOKS, title="Search")
    def search(query: Words, since: Since = "", tag: Tag = "", limit: Limit = 20) -> dict[str, Any]:
        """Search everything that was found, the best first."""
        return _said(lambda: answers.search(query, since, tag, limit))

    @server.tool(annotations=LOOKS, title="What changed")
    def changes(source: Name = "", since: Since = "7d", tag: Tag = "", limit: Limit = 10) -> dict[str, Any]:
        """Show what changed on watched pages, the latest first: lines with + came, lines with - went."""
        return _said(lambda: answers.changes(source, since, tag, limit))

    @server.tool(annotations=LOOKS, title="Why it is fetched when it is")
    def why(source: Name) -> dict[str, Any]:
        """Explain when a source is fetched next and why: estimates, price, holds, last fetches. Times in seconds."""
        return _said(lambda: answers.why(source))

    @server.tool(annotations=LOOKS, title="Another budget")
    def whatif(budget: Budget) -> dict[str, Any]:
        """Say what another budget of requests would bring; nothing is changed."""
        return _said(lambda: answers.whatif(budget))


def _add_adding(server: MCPServer[Any], answers: Answers) -> None:
    codes = Confirmations()

    def consent(url: str, ctx: Context[Any, Any]) -> Elicit[Consent] | Unasked:
        address = _said(lambda: answers.refusal(url))
        return Elicit(f"Watch {told(address, 500)} with recrawl?", Consent) if _can_ask(ctx) else Unasked()

    @server.tool(annotations=ADDS, title="Add a source")
    def add_source(
        url: Address,
        asked: Annotated[ElicitationResult[Consent], Resolve(consent)],
        tags: Tags = [],  # noqa: B006  # never changed; a default for the schema
        importance: Importance = 1.0,
        confirm: Code = "",
    ) -> dict[str, Any]:
        """Watch another address from now on. The user is asked first."""
        given = {"tags": tags, "importance": importance}
        if isinstance(asked, AcceptedElicitation) and isinstance(asked.data, Unasked):
            refusal = _twice(codes, answers, url, given, confirm)
            if refusal is not None:
                return refusal
        elif not (isinstance(asked, AcceptedElicitation) and asked.data.add):
            raise ToolError("the user did not agree; nothing was added")
        return _said(lambda: answers.add(url, given))


def _can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether the client says that it can put a form before its user."""
    said = ctx.client_capabilities
    form = said.elicitation if said is not None else None
    return form is not None and (form.form is not None or form.url is None)


def _twice(
    codes: Confirmations, answers: Answers, url: str, given: dict[str, Any], confirm: str
) -> dict[str, Any] | None:
    """What to answer the first time; None once the same is said again."""
    what, now = json.dumps([_said(lambda: answers.refusal(url)), given], sort_keys=True), answers.context.now()
    if confirm and codes.given(confirm, what, now):
        return None
    wrong = "this code is not for this call, or too old: " if confirm else ""
    return {
        "added": False,
        "confirm": codes.ask(what, now),
        "next": f"{wrong}nothing was added yet. Ask the user; if they agree, call again with the same and this code.",
    }


def _said(ask: Callable[[], Told]) -> Told:
    """An answer, or the reason there is none in words for the model."""
    try:
        return ask()
    except RecrawlError as error:
        raise ToolError(told(str(error), 1000)) from error
