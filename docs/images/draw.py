"""Draw the pictures of the documentation: ``python docs/images/draw.py``."""

from __future__ import annotations

from pathlib import Path

from recrawl.cli.lab import index_and_price

index_and_price().save(Path(__file__).parent)
