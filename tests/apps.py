"""Pages that are nothing without a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from aiohttp import web

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WITH_BROWSER = {"browser.sandbox": False, "browser.timeout": "30s"}
"""Tests may run as root, who has no sandbox."""


def app(script: str) -> Callable[[], web.Response]:
    """An answer that is an empty page with a script."""
    page = f"<!doctype html><title>App</title><body><div id='root'></div><script>{script}</script></body>"
    return lambda: web.Response(text=page, content_type="text/html")


def saying(text: str) -> Callable[[], web.Response]:
    """An app that says something as soon as its script runs."""
    return app(f"document.getElementById('root').innerHTML = '<p>{text}</p>'")
