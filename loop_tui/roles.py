"""What a piece of text means, turned into a style of the current theme.

Widgets and the layout name *roles* ("muted", "tool.failed", "heading"); only this module
knows colours, and it takes them from the theme's variables. One table for the entire
program instead of component classes: those cost a DOM node each at every restyle.

Three kinds of theme work: true colours (ours and Textual's), the terminal's own sixteen
("ansi" themes), where shades are the dim attribute, and `NO_COLOR`, where the cursor and the
marks are reversed. Text is never below a contrast of 4.5 : 1, whatever the theme says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.style import Style as RichStyle
from textual.color import Color
from textual.style import Style

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["ROLES", "Roles", "contrast", "roles_of"]

# role: colour, then attributes. "muted" and "faint" are shades of the foreground; "line" is
# for rules and borders, which are no text and may be weaker.
ROLES: Mapping[str, str] = {
    "text": "foreground",
    "bold": "foreground bold",
    "muted": "muted",
    "faint": "faint",
    "line": "line",
    "primary": "primary",
    "secondary": "secondary",
    "accent": "accent",
    "success": "success",
    "warning": "warning",
    "error": "error",
    "key": "primary bold",
    "title": "primary bold",
    # lists
    "unread": "primary",
    "pinned": "accent",
    "archived": "muted",
    "running": "success",
    "damaged": "error bold",
    "missing": "error",
    "mark": "accent",
    "bar": "primary",
    # rounds
    "round": "foreground bold",
    "round.time": "muted",
    "user": "foreground",
    "user.bar": "accent",
    "user.muted": "muted",
    "thinking": "secondary italic",
    "thinking.text": "muted italic",
    "tool": "primary",
    "tool.fold": "muted",
    "tool.target": "foreground",
    "tool.failed": "error",
    "tool.ok": "success",
    "tool.waiting": "muted",
    "tool.text": "muted",
    "tool.label": "secondary",
    "note": "accent",
    "note.error": "error",
    "note.text": "muted",
    "more": "primary",
    "damage": "error",
    # Markdown
    "heading": "primary bold",
    "heading.minor": "secondary bold",
    "marker": "primary",
    "code": "accent",
    "link": "primary underline",
    "link.url": "muted",
    "quote": "muted italic",
    "quote.bar": "line",
    "commentary": "muted",
    "table.head": "foreground bold",
    # fenced code
    "code.text": "foreground",
    "code.gutter": "line",
    "code.keyword": "secondary",
    "code.name": "primary",
    "code.string": "success",
    "code.number": "accent",
    "code.comment": "muted italic",
    "code.added": "success",
    "code.removed": "error",
}

# Backgrounds a line can lie on: theme variable and how much of it covers the background.
_GROUNDS: Mapping[str, tuple[str, float]] = {
    "": ("background", 1.0),
    "surface": ("surface", 1.0),
    "user": ("panel", 1.0),
    "code": ("surface", 1.0),
    "cursor": ("primary", 0.16),
    "cursor.blurred": ("foreground", 0.07),
    "marked": ("accent", 0.10),
    "find": ("accent", 0.30),
    "find.here": ("accent", 1.0),
    "selection": ("primary", 0.45),
}
_ATTRIBUTES = frozenset(("bold", "italic", "underline", "strike", "dim", "reverse"))
_BLACK, _WHITE = Color(0, 0, 0), Color(255, 255, 255)
_READABLE = 4.5
# Shares of the foreground: dark, light.
_SHADES = {"muted": (0.66, 0.80), "faint": (0.50, 0.64), "line": (0.26, 0.26)}
_REVERSED = frozenset(("cursor", "find", "find.here", "selection"))


def contrast(one: Color, other: Color) -> float:
    """Contrast ratio of two opaque colours, 1 to 21 (WCAG 2, relative luminance)."""

    def luminance(color: Color) -> float:
        def linear(value: int) -> float:
            share = value / 255
            return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)

        red, green, blue = map(linear, color.rgb)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _strongest(ground: Color) -> Color:
    """Black or white, whichever reads better on `ground`."""
    return max(_BLACK, _WHITE, key=lambda color: contrast(color, ground))


def _readable(color: Color, ground: Color, toward: Color) -> Color:
    """`color`, moved toward `toward` until it can be read on `ground`."""
    if contrast(color, ground) >= _READABLE:
        return color
    for step in range(1, 11):
        moved = color.blend(toward, step / 10, alpha=1.0)
        if contrast(moved, ground) >= _READABLE:
            return moved
    return _strongest(ground)


class Roles:
    """Styles of all roles for one set of theme variables; every answer is remembered."""

    def __init__(
        self, variables: Mapping[str, str], *, dark: bool = True, ansi: bool = False
    ) -> None:
        self._variables = variables
        self._dark = dark
        self._ansi = ansi
        self._styles: dict[tuple[str, str], Style] = {}
        self._rich: dict[tuple[str, str], RichStyle] = {}
        self._colors: dict[str, Color] = {}

    def style(self, role: str, ground: str = "") -> Style:
        """The style of `role` on `ground` (a background by name, see the module's table).

        A role may add attributes (``"primary bold"``) and name the ground it lies on itself
        (``"code.name@code"``); a `ground` given here wins. An unknown role is plain text.
        """
        key = (role, ground)
        found = self._styles.get(key)
        if found is None:
            found = self._styles[key] = self._resolve(role, ground)
        return found

    def rich(self, role: str, ground: str = "") -> RichStyle:
        """`style`, as the segments of a strip want it."""
        key = (role, ground)
        found = self._rich.get(key)
        if found is None:
            found = self._rich[key] = self.style(role, ground).rich_style
        return found

    def ground(self, name: str = "") -> Color:
        """The colour of a background."""
        variable, share = _GROUNDS.get(name, _GROUNDS[""])
        base = self._color("background")
        top = self._color(variable)
        if self._ansi or share >= 1.0:
            return top
        return base.blend(top, share, alpha=1.0)

    def _color(self, name: str) -> Color:
        found = self._colors.get(name)
        if found is None:
            fallback = "#000000" if name in ("background", "surface", "panel") else "#ffffff"
            found = Color.parse(self._variables.get(name, fallback))
            if found.a < 1.0 and not self._ansi and name != "background":
                found = self._color("background").blend(found, found.a, alpha=1.0)
            self._colors[name] = found
        return found

    def _resolve(self, role: str, ground: str) -> Style:
        role, _, own = role.partition("@")
        ground = ground or own
        name, *extra = role.split() or ("text",)
        color, *attributes = ROLES.get(name, "foreground").split()
        flags: dict[str, Any] = dict.fromkeys(_ATTRIBUTES.intersection(attributes + extra), True)
        if self._ansi:
            return self._resolve_ansi(color, ground, flags)
        back = self.ground(ground)
        shade = _SHADES.get(color)
        fore = self._color("foreground" if shade else color)
        if shade:
            fore = back.blend(fore, shade[0] if self._dark else shade[1], alpha=1.0)
        if ground == "find.here":
            fore = _strongest(back)
        elif color != "line":
            fore = _readable(fore, back, self._color("foreground"))
        return Style(background=back, foreground=fore, **flags)

    def _resolve_ansi(self, color: str, ground: str, flags: dict[str, Any]) -> Style:
        # Sixteen colours have no shades: weaker text is dim, and what lies under the cursor
        # or a find mark is reversed, which also decides without any colour.
        if color in _SHADES:
            flags["dim"] = True
            color = "foreground"
        if ground in _REVERSED:
            flags["reverse"] = True
            flags.pop("dim", None)
            if ground == "find.here":
                flags["bold"] = flags["underline"] = True
        elif ground == "marked":
            flags["bold"] = True
        return Style(background=self._color("background"), foreground=self._color(color), **flags)


_CACHE: dict[tuple[int, bool, bool], tuple[Mapping[str, str], Roles]] = {}


def roles_of(app: App[Any]) -> Roles:
    """The roles of the app's current theme.

    Keep the result only until `notify_style_update`: a new theme has new variables.
    """
    variables = app.theme_variables
    ansi, dark = app.native_ansi_color, app.current_theme.dark
    key = (id(variables), ansi, dark)
    found = _CACHE.get(key)
    if found is None or found[0] is not variables:
        # The mapping is kept beside its roles, so its id cannot be taken by another.
        _CACHE.clear()
        found = _CACHE[key] = (variables, Roles(variables, dark=dark, ansi=ansi))
    return found[1]
