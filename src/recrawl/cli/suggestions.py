"""A group of commands that, given a name that is none of them, says which are near it.

Options need nothing of the kind: click suggests the nearest itself. Of commands it knows only those that are loaded.
"""

from __future__ import annotations

import click


class Suggesting(click.Group):
    """Names the commands nearest to one that there is not."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command named first; UsageError with the nearest if there is none."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}.{self._nearest(ctx, name)}")
        return super().resolve_command(ctx, args)

    def _nearest(self, ctx: click.Context, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), self.list_commands(ctx))
        return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
