"""What on a page certainly changes by itself, and says nothing: ages, nonces, counters of visits, the page's own clock.

*Ages*: "5 minutes ago", "just now". In a sentence an age may be a limit ("bought less than 30 days ago") or a story,
and is content. So it is taken for one only where it stands for itself, alone in its line or set off in it, or behind a
word that dates something ("posted", "by Ann"); and where nothing before it makes it a condition. Where three lines or
more end in one, they are a list of dated things, and each stands for itself. Other languages than English are known
by their usual words, alone or set off.

*Nonces*: random tokens that are called so ("nonce", "session id", "ray id"); any other may be a checksum that somebody
waits for. *Counters of visits*: "Visitors: 12" alone in its line, "1,234 views" also set off in it. "Annual pass: 12
visits" is content.

*Clocks.* A date or time is content, and is what many pages are watched for. Only one that shows the moment of the fetch
may be a clock: to within minutes, or of the day where it has no time of day, in any of the world's time zones; in a
line of its own, or behind words such as "generated" or "today is". Once proves nothing, a page may have been changed a
minute ago; it has to be so at both of the visits that are compared, by the same zone. So clocks are only *found* here,
and compared by `digests`. In headings and tables, a date alone is never one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, pairwise
from typing import NamedTuple

from recrawl.crawl.reading.digests import Stamp
from recrawl.crawl.reading.worded_dates import WEEKDAYS, Written, as_written

BEHIND_S, AHEAD_S = 300.0, 120.0
"""How far a page's clock may be from ours: it may come from a cache."""
WEST_S, EAST_S = 12 * 3600.0, 14 * 3600.0
"""The last and the first to have a new day."""
MOST_STAMPS = 32
"""Of a page; dates and times beyond are content."""
LONGEST_ALONE = 60
SHORTEST = 3
"""Characters of "1分前"; nothing shorter changes by itself."""
_ZONES_S = tuple(
    60.0 * minutes
    for minutes in sorted(
        (*range(-12 * 60, 14 * 60 + 1, 60), -570, -210, 210, 270, 330, 345, 390, 525, 570, 630, 765), key=abs
    )
)
"""Of the world, seconds east of Greenwich."""
_WORD = r"[^\W\d_]{2,12}\.?"
_WEEKDAY = rf"(?:(?:{'|'.join(sorted(WEEKDAYS, key=len, reverse=True))})\.?,? )?"
_ORDINAL = r"[0-9]{1,2}(?:st|nd|rd|th|\.)?"
_DAY = (
    r"(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})(?![0-9])"
    rf"|{_ORDINAL}(?: of)? {_WORD},? [0-9]{{4}}|{_WORD} {_ORDINAL},? [0-9]{{4}})"
)
_ZONE = r"(?: ?\(?(?:UTC|GMT|Z|[A-Z]{2,4}T|[+-][0-9]{2}:?[0-9]{2})\b\)?)"
_TIME = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?: ?[ap]\.?m\b\.?)?"
_STAMP = (
    rf"{_WEEKDAY}(?P<day>{_DAY})(?:(?:T|,? ?(?:at |um |à |- |\| )?)(?P<time>{_TIME})(?P<zone>{_ZONE})?)?(?![0-9:])"
    rf"|(?P<time2>{_TIME})(?P<zone2>{_ZONE})?(?:,? (?:on |- |\| )?{_WEEKDAY}(?P<day2>{_DAY}))?(?![0-9:])"
)
_SAID = (
    r"today(?: is)?|it is(?: now)?|now|(?:current|local|server|page)(?: date| time)|date and time|time now|generated"
    r"|rendered|retrieved|accessed|fetched|loaded|served|printed|made|updated?|modified|refreshed|as of"
)
_SAID_STAMP = re.compile(rf"\b(?P<said>{_SAID})(?: (?:on|at|is))?(?: the)?:? (?P<stamp>{_STAMP})", re.IGNORECASE)
_MARKS = ("today", "now", "it is", "date", "time", "generated", "rendered", "retrieved", "accessed", "fetched",
          "loaded", "served", "printed", "made", "modified", "refreshed", "as of")  # fmt: skip
_ALONE = re.compile(_STAMP, re.IGNORECASE)
_TOKEN_NAMES = (
    r"nonce|(?:csrf|xsrf|security|session|request)?[ _-]?token|(?:session|request|trace|ray|correlation|visitor|event)"
    r"[ _-]?id"
)
_NUMBER = r"[0-9](?:[0-9,. ]{0,13}[0-9])?(?: ?[km])?"
_VIEWS = r"(?:page ?)?views?|reads|(?:people|users?|guests?|members?|visitors?) online"
_VISITS = r"(?:unique )?(?:visitors?|visits?)|online"
"""Alone in a line only: beside other words they may be what a ticket is good for, or a kind of course."""
_SO_FAR = r"(?: (?:so far|today|in total|now))?"
_FROM, _TO = r"(?:^|[|·•–—] ?| - )", r"(?=$| ?[|·•–—]| - )"
_SEEN = r"(?:(?:this|the) (?:page|site|website|article|post|topic|thread|entry|item|video) (?:has been|was) )?"
_CERTAIN = tuple(
    (marks, why, where, re.compile(pattern, re.IGNORECASE))
    for marks, why, where, pattern in (
        (
            ("nonce", "token", "id"),
            "token",
            "anywhere",
            rf"\b(?:{_TOKEN_NAMES})\b['\"]?(?: is| =|:|=)? ?['\"]?(?P<noise>[A-Za-z0-9+/_=-]{{16,512}})",
        ),
        (("view", "reads", "online"), "count", "anywhere", rf"{_FROM}(?P<noise>{_NUMBER} ?(?:{_VIEWS})){_SO_FAR}{_TO}"),
        (("view", "online"), "count", "anywhere", rf"{_FROM}(?:{_VIEWS}){_SO_FAR}: ?(?P<noise>{_NUMBER}){_TO}"),
        (("visit", "online"), "count", "loose", rf"^(?P<noise>{_NUMBER} ?(?:{_VISITS})){_SO_FAR}$"),
        (("visit", "online"), "count", "loose", rf"^(?:{_VISITS}){_SO_FAR}: ?(?P<noise>{_NUMBER})$"),
        (
            ("viewed", "visited"),
            "count",
            "anywhere",
            rf"{_FROM}{_SEEN}(?:viewed|visited) (?P<noise>{_NUMBER}) times(?:{_TO}|(?=[.!]| since | today| so far))",
        ),
    )
)
"""What a line must contain something of to be worth looking, what it is, whether it may stand in headings and tables
("anywhere") or not ("loose"), and the pattern."""
_THREE_DIGITS = re.compile(r"[0-9][^0-9]*[0-9][^0-9]*[0-9]")
"""Of these is every date and every time of day."""
_HEXADECIMAL = re.compile(r"[0-9a-fA-F-]+")


class Noise(NamedTuple):
    """A part of a line: what it is ("age", "token", "count" or "clock"), and of a clock what it says."""

    start: int
    end: int
    why: str
    stamp: Stamp | None = None


def without_noise(
    lines: list[str], firm: Collection[int], now: float, kept: Collection[int] = ()
) -> tuple[list[str], list[Stamp]]:
    """Lines with placeholders for what changes by itself and what may be a clock, and what these say.

    Parameters
        firm: numbers of lines in headings and tables
        now: of the fetch, Unix seconds
        kept: numbers of lines that always count

    >>> without_noise(["Posted 3 minutes ago", "Now 5.99 until 7 May 2026", "Updated 7 May 2026"], (), 0.0)
    (['Posted ⟨age⟩', 'Now 5.99 until 7 May 2026', 'Updated ⟨clock⟩'], [Stamp(text='7 May 2026', near='')])
    """
    steady: list[str] = []
    stamps: list[Stamp] = []
    marked = Marked.of(lines)
    for number, line in enumerate(lines):
        found = [] if number in kept else noise_in(line, number in firm, now, MOST_STAMPS - len(stamps), marked)
        if found:
            stamps += [each.stamp for each in found if each.stamp is not None]
            line = _masked(line, found)
        steady.append(line)
    return steady, stamps


class Marked(NamedTuple):
    """What a text has marks of, so that its lines are not looked at for what is nowhere in it."""

    said: bool = True
    certain: tuple[tuple[tuple[str, ...], str, str, re.Pattern[str]], ...] = _CERTAIN
    aged: bool = True
    listed: bool = False
    """Lines of it end in ages, so that these date what stands before them."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> Marked:
        """A text."""
        lower = "\n".join(lines).lower()
        certain = tuple(each for each in _CERTAIN if any(mark in lower for mark in each[0]))
        aged = any(mark in lower for mark in _AGE_MARKS)
        return cls(any(mark in lower for mark in _MARKS), certain, aged, aged and _dates_lines(lines))


_ALL_MARKS = Marked()


def noise_in(
    line: str, firm: bool, now: float, most_stamps: int = MOST_STAMPS, marked: Marked = _ALL_MARKS
) -> list[Noise]:
    """What of a line changes by itself or may be a clock, in order, no two of them overlapping."""
    if len(line) < SHORTEST:
        return []
    lower = line.lower()
    stamped = _THREE_DIGITS.search(line)
    found = list(islice(_stamps(line, lower, firm, now, marked.said), most_stamps)) if stamped else []
    if marked.aged and any(mark in lower for mark in _AGE_MARKS):
        found += [Noise(start, end, "age") for start, end in ages_in(line, marked.listed)]
    for marks, why, where, pattern in marked.certain:
        if any(mark in lower for mark in marks) and not (firm and where == "loose"):
            for match in pattern.finditer(line):
                start, end = match.span("noise")
                if why != "token" or _is_random(line[start:end]):
                    found.append(Noise(start, end, why))
    return _apart(found) if found else []


def _apart(found: list[Noise]) -> list[Noise]:
    """In order, without what overlaps with one before."""
    kept: list[Noise] = []
    for each in sorted(found, key=lambda one: (one.start, one.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _masked(line: str, found: list[Noise]) -> str:
    kept, place = [], 0
    for each in found:
        kept += [line[place : each.start], f"⟨{each.why}⟩"]
        place = each.end
    return "".join([*kept, line[place:]])


def _stamps(line: str, lower: str, firm: bool, now: float, said_anywhere: bool) -> Iterator[Noise]:
    """Where a clock may be: alone in a line (with seconds, if it is a time alone), or behind words that say so."""
    if len(line) <= LONGEST_ALONE and not firm and (alone := _ALONE.fullmatch(line)):
        if alone["day"] or alone["day2"] or (alone["time2"] or "").count(":") == 2:
            yield Noise(0, len(line), "clock", _stamp(line, alone, now))
        return
    if said_anywhere and any(mark in lower for mark in _MARKS):
        for said in _SAID_STAMP.finditer(line):
            timed = said["time"] or said["time2"]
            if timed or said["said"].lower() != "as of":
                yield Noise(*said.span("stamp"), "clock", _stamp(said["stamp"], said, now))


def _stamp(text: str, found: re.Match[str], now: float) -> Stamp:
    day, time = found["day"] or found["day2"] or "", found["time"] or found["time2"] or ""
    zone = (found["zone"] or found["zone2"] or "").strip(" ()")
    said = as_written(f"{day} {time} {zone}".strip()) or as_written(f"{day} {time}".strip())
    return Stamp(text, "" if said is None else _near(said, now))


def _near(said: Written, now: float) -> str:
    """How it stands to the moment of the fetch: "day" if on that day, the zone by which it is that time, or nothing."""
    if said.time is None:
        earliest, latest = (datetime.fromtimestamp(now + shift, UTC).date() for shift in (-WEST_S, EAST_S))
        return "day" if any(earliest <= day.date() <= latest for day in said.days) else ""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = said.days or [today + timedelta(days=shift) for shift in (-1, 0, 1)]
    for east_s in _ZONES_S if said.east_s is None else (said.east_s,):
        for day in days:
            if -BEHIND_S <= day.timestamp() + said.time.total_seconds() - east_s - now <= AHEAD_S:
                return f"{east_s / 60.0:+.0f}"
    return ""


def _is_random(word: str) -> bool:
    """A random token has digits and letters, and is hexadecimal or keeps changing case; words and numbers do not."""
    if not any(character.isdigit() for character in word) or not any(character.isalpha() for character in word):
        return False
    if _HEXADECIMAL.fullmatch(word):
        return True
    sorts = ["0" if character.isdigit() else "a" if character.islower() else "A" for character in word]
    switches = sum(one != other for one, other in pairwise(sorts))
    return len(word) >= 20 and len(set(sorts)) == 3 and switches * 3 >= len(word)


# -- ages

REACH = 200
"""Characters before an age that are looked at."""
_UNIT = r"(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|years?)"
_AGE = re.compile(
    r"(?<![0-9][,.])(?:\b(?:about|around|approximately|almost|nearly) |~ ?)?"
    rf"\b(?:[0-9]{{1,5}}|an?|one|(?:a )?few|(?:a )?couple(?: of)?) ?{_UNIT}"
    rf"(?:,? (?:and )?[0-9]{{1,2}} ?{_UNIT}){{0,2}} ago\b|\bjust now\b",
    re.IGNORECASE,
)
_AGE_MARKS = (" ago", "just now", "vor ", "il y a ", "hace ", " fa", "há ", " geleden", " sedan", " siden", " temu",
              " назад", " önce", "前", "전")  # fmt: skip
_ABROAD = re.compile(
    r"\bvor (?:etwa |ca\. |rund )?(?:[0-9]{1,5}|eine[rm]|einigen|wenigen) "
    r"(?:Sek(?:unden?|\.)|Min(?:uten?|\.)|Stunden?|Std\.|Tag(?:en)?|Wochen?|Monat(?:en)?|Jahr(?:en)?)"
    r"|\bil y a (?:environ )?(?:[0-9]{1,5}|une?|quelques) "
    r"(?:secondes?|minutes?|min|heures?|h|jours?|j|semaines?|mois|ans?)\b"
    r"|\bhace (?:[0-9]{1,5}|un[ao]?s?) (?:segundos?|minutos?|min|horas?|h|días?|semanas?|mes(?:es)?|años?)\b"
    r"|\bhá (?:cerca de )?(?:[0-9]{1,5}|uma?) (?:segundos?|minutos?|min|horas?|h|dias?|semanas?|m[êe]s(?:es)?|anos?)\b"
    r"|\b(?:[0-9]{1,5}|un[ao']?) ?(?:second[oi]|minut[oi]|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]) fa\b"
    r"|\b(?:[0-9]{1,5}|een) (?:seconden?|min(?:uut|uten)|uur|uren|dag(?:en)?|we(?:ek|ken)|maand(?:en)?|ja(?:ar|ren)) "
    r"geleden\b"
    r"|\bfö?o?r (?:[0-9]{1,5}|en|ett?) [a-zåäöæø]{2,10} (?:sedan|siden)\b"
    r"|\b[0-9]{1,5} (?:[a-ząćęłńóśźż]{2,9} temu|[а-яё]{2,9} назад|(?:saniye|dakika|saat|gün|hafta|ay|yıl) önce)\b"
    r"|[0-9]{1,5} ?(?:秒|分|分钟|分鐘|時間|小时|小時|日|天|週間|周|か月|ヶ月|个月|個月|年)前"
    r"|[0-9]{1,5} ?(?:초|분|시간|일|주|개월|달|년) ?전",
    re.IGNORECASE,
)
LISTED = 3
"""Lines that end in an age, of a list of dated things."""
_APART = "|·•,;:()[]–—/"
_NAME = r"[@\w][\w.'/-]{0,40}"
_AFTER = re.compile(
    rf"(?: (?:by|in|from|via)(?: {_NAME}){{1,4}})?(?:$|[.!](?= |$)| ?[{re.escape(_APART)}]| - )", re.IGNORECASE
)
_DATED = frozenset((
    "posted", "published", "updated", "modified", "changed", "revised", "edited", "commented", "replied", "answered",
    "asked", "submitted", "uploaded", "shared", "written", "reviewed", "created", "added", "joined", "opened", "closed",
    "merged", "committed", "pushed", "released", "refreshed", "checked", "generated", "fetched", "read", "viewed",
    "seen", "active",
))  # fmt: skip
_LATEST = frozenset(("activity", "post", "reply", "comment", "message", "visit", "login", "update", "edit", "change"))
"""These date something behind "last"."""
_LIMITS = frozenset(("than", "over", "under", "within", "least", "most", "for", "who", "that", "which"))
"""Before an age, within the same part of a line."""
_CONDITIONS = frozenset(("if", "unless", "whether"))
"""Before an age, within the same sentence."""


def ages_in(line: str, listed: bool = False) -> Iterator[tuple[int, int]]:
    """Where the ages of a line begin and end; `listed`: it may be one of a list of dated things.

    >>> [*ages_in("Posted 3 minutes ago")], [*ages_in("Bought less than 30 days ago")], [*ages_in("vor 3 Tagen")]
    ([(7, 20)], [], [(0, 11)])
    """
    for found in chain(_AGE.finditer(line), _ABROAD.finditer(line)):
        before = line[max(0, found.start() - REACH) : found.start()].lower()
        if not _AFTER.match(line, found.end()):
            continue
        if _may_end_in_an_age(before) or (listed and found.end() == len(line) and _may_be_dated(before)):
            yield found.span()


def _dates_lines(lines: Sequence[str]) -> bool:
    """Whether several lines end in an age that may date what stands before."""
    ending = (line for line in lines if any(mark in line.lower() for mark in _AGE_MARKS))
    dated = (
        line
        for line in ending
        if any(
            found.end() == len(line) and _may_be_dated(line[max(0, found.start() - REACH) : found.start()].lower())
            for found in chain(_AGE.finditer(line), _ABROAD.finditer(line))
        )
    )
    return sum(1 for _ in islice(dated, LISTED)) == LISTED


def _may_be_dated(before: str) -> bool:
    return _LIMITS.union(_CONDITIONS).isdisjoint(word.strip(_APART) for word in before.split())


def _may_end_in_an_age(before: str) -> bool:
    """Of what stands before one, in lower case."""
    part = _behind_the_last(_APART, before.replace(" - ", " – ")).split()
    if part and not (_dates(part) and _LIMITS.isdisjoint(part)):
        return False
    if not any(word in before for word in _CONDITIONS):
        return True
    sentence = _behind_the_last("|·•.!?", before).split()
    return _CONDITIONS.isdisjoint(word.strip(_APART) for word in sentence)


def _dates(words: list[str]) -> bool:
    """Whether what follows these words is the age of something."""
    return words[-1] in _DATED or (words[-1] in _LATEST and words[-2:-1] == ["last"]) or "by" in words[-4:-1]


def _behind_the_last(characters: str, text: str) -> str:
    return text[max(map(text.rfind, characters)) + 1 :]
