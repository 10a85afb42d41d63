"""Faults of the status line: refusals, storms, redirects that lead nowhere good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from recrawl.synthweb.wire import Exchange, http_date

Fault = Callable[[Exchange], Awaitable[bool]]
"""Carries out a fault; returns whether the connection may be used again."""

YEAR_S = 365 * 86400.0
HOPS = 12
HTML = {"Content-Type": "text/html; charset=utf-8"}


def refusal(status: int, form: str) -> Fault:
    """429 or 503 with a Retry-After in a given form."""

    async def refuse(x: Exchange) -> bool:
        seconds = YEAR_S if form == "year" else 5.0 if x.rule.seconds is None else x.rule.seconds
        said = {
            "": None, "seconds": f"{seconds:.0f}", "year": f"{seconds:.0f}",
            "date": http_date(x.entry.start + seconds + 1.0), "nonsense": "soon, perhaps; -1e999",
        }[form]  # fmt: skip
        if form in ("seconds", "year"):
            x.entry.retry_after_s = float(f"{seconds:.0f}")
        elif form == "date":
            x.entry.retry_after_s = float(int(x.entry.start + seconds + 1.0)) - x.entry.start
        x.answer(status, b"<h1>Not now</h1>", {**HTML, **({"Retry-After": said} if said else {})})
        return True

    return refuse


def rate_limited(status: int) -> Fault:
    """A refusal that says in other words than Retry-After when asking makes sense again."""

    async def refuse(x: Exchange) -> bool:
        x.entry.retry_after_s = float(round(5.0 if x.rule.seconds is None else x.rule.seconds))
        limit = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{x.entry.retry_after_s:.0f}"}
        x.answer(status, b"<h1>Enough</h1>", {**HTML, **limit})
        return True

    return refuse


def plain(status: int) -> Fault:
    """A bare error."""

    async def fail(x: Exchange) -> bool:
        x.answer(status, b"<h1>Sorry</h1>", HTML)
        return True

    return fail


def redirect(status: int, target: Callable[[Exchange], str | None]) -> Fault:
    """A redirect to wherever `target` says; without a Location if it says None."""

    async def go(x: Exchange) -> bool:
        where = target(x)
        x.answer(status, b"", {} if where is None else {"Location": where})
        return True

    return go


async def chain(x: Exchange) -> bool:
    """A dozen redirects in a row, then the document."""
    hop = int(x.request.query.get("hop", "0"))
    if hop < HOPS:
        x.answer(302, b"", {"Location": f"{x.path}?hop={hop + 1}"})
    else:
        x.entry.status = 200
        x.send(x.honest())
    return True


def _guest(x: Exchange) -> str:
    return f"{x.bases[(x.host + 1) % len(x.bases)]}/guest{x.path}"


def _ping_pong(x: Exchange) -> str:
    return f"{x.path}?turn={x.turn % 2}"


def _with_password(x: Exchange) -> str:
    scheme, _, rest = x.base.partition("://")
    return f"{scheme}://user:secret@{rest}/moved{x.path}"


STATUSES: dict[str, Fault] = {
    **{
        f"{status}{'_' + form if form else ''}": refusal(status, form)
        for status in (429, 503)
        for form in ("", "seconds", "date", "nonsense", "year")
    },
    "429_reset": rate_limited(429),
    "403_reset": rate_limited(403),
    "500": plain(500),
    "403": plain(403),
    "404": plain(404),
    "gone": plain(410),
    "moved": redirect(301, lambda x: f"/moved{x.path}"),
    "moved_308": redirect(308, lambda x: f"/moved{x.path}"),
    "redirect_temporary": redirect(302, lambda x: f"/moved{x.path}"),
    "redirect_loop": redirect(302, _ping_pong),
    "redirect_chain": chain,
    "redirect_other_host": redirect(302, _guest),
    "redirect_private": redirect(302, lambda x: f"http://10.0.0.1{x.path}"),
    "redirect_metadata": redirect(302, lambda x: "http://169.254.169.254/latest/meta-data/"),
    "redirect_loopback": redirect(302, lambda x: "http://127.0.0.1:9/"),
    "redirect_mapped": redirect(302, lambda x: "http://[::ffff:10.0.0.1]/"),
    "redirect_file": redirect(302, lambda x: "file:///etc/passwd"),
    "redirect_scheme": redirect(302, lambda x: "gopher://127.0.0.1:70/1"),
    "redirect_password": redirect(302, _with_password),
    "redirect_nowhere": redirect(302, lambda x: None),
    "redirect_garbage": redirect(302, lambda x: "http://[not an address/%zz"),
}
