"""The encodings of the web: which one a label names, and its characters, as browsers have it.

Labels and encodings are those of the WHATWG Encoding Standard, by which `iso-8859-1` and `ascii` are windows-1252,
`gb2312` is GBK and `shift_jis` is what Windows made of it. Python has all the tables, but stops at the first byte that
has no meaning, and lacks a few characters browsers know; here every byte comes out as something, at worst as U+FFFD,
and spoils no more than its own character. Labels only Python knows (`cp437`, `utf-32`) are read too.

Not as in the standard: some 190 characters of Big5 that hardly anybody writes are U+FFFD, because Python's table is of
an older date.

Which encoding a document is in, its header and its own first bytes say. HTML says it in a `meta` element, which is
looked for as browsers do: by a scan of bytes that knows comments, tags and quotes but no tree, and that gives up where
the bytes end inside a tag. XML says it in its declaration. A document that could be read so far is not UTF-16, whatever
it says: it is taken for UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from encodings.aliases import aliases
from functools import lru_cache

from recrawl.crawl.work_limit import slow_work

REPLACED = "\ufffd"
LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"
    " iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7"
    " iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8"
    " iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591"
    " iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
    " windows-1254 x-cp1254",
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso-2022-jp": "csiso2022jp iso-2022-jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "euc-kr": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601"
    " windows-949",
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    "utf-16be": "unicodefffe utf-16be",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
}
"""Encodings, and the labels that name them."""
_NAMES = {label: name for name, labels in LABELS.items() for label in labels.split()}
_NOT_FOR_DOCUMENTS = frozenset(("utf_7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"))
_OF_PYTHON = frozenset((*aliases, *aliases.values())) - _NOT_FOR_DOCUMENTS
_CODECS = {"macintosh": "mac_roman", "windows-874": "cp874", "ibm866": "cp866", "x-mac-cyrillic": "mac_cyrillic"}
_MISSING = {
    "koi8-u": {0xAE: "ў", 0xBE: "Ў"},
    "windows-1255": {0xCA: "\u05ba"},
    "x-user-defined": {code: chr(0xF700 + code) for code in range(0x80, 0x100)},
}
"""Single bytes that Python has otherwise."""


def encoding_of(label: str) -> str | None:
    """The name of the encoding a label means; None if it means nothing.

    >>> encoding_of(" Latin1 "), encoding_of("cp437"), encoding_of("utf-7")
    ('windows-1252', 'cp437', None)
    """
    label = label.strip("\t\n\f\r ").lower()
    if name := _NAMES.get(label):
        return name
    plain = re.sub(r"[-. ]", "_", label[:40])
    return plain if plain in _OF_PYTHON and _is_of_text(plain) else None


def decoded(body: bytes, name: str) -> str:
    """The characters of bytes in an encoding, by its name; what means nothing is U+FFFD.

    >>> decoded(b"100 \\x80 \\x81", "windows-1252"), decoded(b"\\x93\\xfa\\xff\\x96{", "shift_jis")
    ('100 € \\x81', '日\\ufffd本')
    """
    if name in _DECODERS:
        return _DECODERS[name](body)
    if name not in LABELS:
        return body.decode(name, "replace")
    return codecs.charmap_decode(body, "strict", _table(name))[0]


@lru_cache(maxsize=64)
def _table(name: str) -> str:
    """What each byte stands for. Windows leaves some of the C1 controls without meaning; browsers take them as such."""
    codec = "latin-1" if name == "x-user-defined" else _CODECS.get(name, name)
    others = _MISSING.get(name, {})
    characters = []
    for code in range(256):
        character = others.get(code) or bytes((code,)).decode(codec, "replace")
        characters.append(chr(code) if character == REPLACED and code < 0xA0 else character)
    return "".join(characters)


def _is_of_text(name: str) -> bool:
    try:
        return bool(getattr(codecs.lookup(name), "_is_text_encoding", False))
    except LookupError:
        return False


# -- encodings of several bytes a character

_ERRORS = "recrawl.charsets"
_LEADS = {
    "cp932": (0x81, 0x9F, 0xE0, 0xFC), "cp949": (0x81, 0xFE), "gb18030": (0x81, 0xFE), "big5hkscs": (0x81, 0xFE),
    "euc_jp": (0x8E, 0x8F, 0xA1, 0xFE),
}  # fmt: skip


def _meant(error: UnicodeError) -> tuple[str, int]:
    """What stands for bytes Python's table does not have, and where to go on.

    As in the standard: a first byte takes a second one with it unless that is ASCII, so that no markup is lost.
    """
    assert isinstance(error, UnicodeDecodeError)
    slow_work(1)
    codec, body, start = error.encoding, error.object, error.start
    bounds = _LEADS[codec]
    lead = body[start]
    if not any(low <= lead <= high for low, high in zip(bounds[::2], bounds[1::2], strict=True)):
        return ("€" if codec == "gb18030" and lead == 0x80 else REPLACED), start + 1
    if error.reason.startswith("incomplete"):
        rest = body[start + (2 if codec == "gb18030" else 1) : error.end]
        return REPLACED, start + 1 if rest and rest < b"\x80" else error.end
    size = 3 if codec == "euc_jp" and lead == 0x8F and 0xA1 <= body[start + 1] <= 0xFE else 2
    while size > 1 and body[start + size - 1 : start + size].isascii():
        size -= 1
    return _of_another_table(codec, body[start : start + size]) or REPLACED, start + size


def _of_another_table(codec: str, pair: bytes) -> str:
    """Rows that only Windows had: in EUC-JP those of Shift_JIS, in Big5 the euro sign."""
    try:
        if codec == "big5hkscs":
            return pair.decode("cp950") if pair[0] == 0xA3 else ""
        if codec == "euc_jp" and len(pair) == 2 and min(pair) >= 0xA1 and max(pair) <= 0xFE:
            row, cell = pair[0] - 0xA1, pair[1] - 0xA1 + 94 * ((pair[0] - 0xA1) % 2)
            lead = row // 2 + (0x81 if row < 62 else 0xC1)
            return bytes((lead, cell + (0x40 if cell < 0x3F else 0x41))).decode("cp932")
    except UnicodeDecodeError:
        pass
    return ""


codecs.register_error(_ERRORS, _meant)

_SHIFT_JIS = {0xF8F0: REPLACED, 0xF8F1: REPLACED, 0xF8F2: REPLACED, 0xF8F3: REPLACED}
_EUC_JP = str.maketrans("〜‖−¢£¬", "～∥－￠￡￢")
_BIG5 = str.maketrans("•､‾∼♁☉¥¢£", "‧﹑¯～⊕⊙￥￠￡")
_GB18030 = str.maketrans(
    "\ue5e5\ue78d\ue78e\ue78f\ue790\ue791\ue792\ue793\ue794\ue795\ue796\ue7c7\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864",
    "\u3000\ufe10\ufe12\ufe11\ufe13\ufe14\ufe15\ufe16\ufe17\ufe18\ufe19\u1e3f\u9fb4\u9fb5\u9fb6\u9fb7\u9fb8\u9fb9\u9fba\u9fbb",
)
"""Of characters that Python's tables have otherwise than the standard's."""
_ESCAPED = re.compile(rb"\x1b(\([BJI]|\$[@B])")


def _otherwise(codec: str, differences: dict[int, str] | dict[int, int]) -> Callable[[bytes], str]:
    return lambda body: body.decode(codec, _ERRORS).translate(differences)


def _iso_2022_jp(body: bytes) -> str:
    """Stretches between escape sequences, each in its own set; kanji are those of EUC-JP without the high bits."""
    first, *rest = _ESCAPED.split(body)
    slow_work(len(rest) // 2)
    said = [codecs.charmap_decode(first, "strict", _SETS[b"(B"])[0]]
    for place in range(0, len(rest), 2):
        if place and not rest[place - 1]:
            said.append(REPLACED)  # an empty stretch could hide something from whoever looked at the bytes
        shift, part = rest[place], rest[place + 1]
        if shift in _SETS:
            said.append(codecs.charmap_decode(part, "strict", _SETS[shift])[0])
        else:
            said.append(_DECODERS["euc-jp"](part.translate(_KANJI)))
    return "".join(said)


_ASCII = "".join(chr(code) if code < 0x80 and code not in (0x0E, 0x0F, 0x1B) else REPLACED for code in range(256))
_SETS = {
    b"(B": _ASCII,
    b"(J": _ASCII.replace("\\", "¥").replace("~", "‾"),
    b"(I": "".join(chr(0xFF40 + code) if 0x21 <= code <= 0x5F else REPLACED for code in range(256)),
}
_KANJI = bytes(
    code | 0x80 if 0x21 <= code <= 0x7E else code if code in (9, 10, 13, 32) else 0xFF for code in range(256)
)
_DECODERS: dict[str, Callable[[bytes], str]] = {
    "utf-8": lambda body: body.decode("utf-8", "replace"),
    "utf-16be": lambda body: body.decode("utf-16-be", "replace"),
    "utf-16le": lambda body: body.decode("utf-16-le", "replace"),
    "gb18030": _otherwise("gb18030", _GB18030),
    "big5": _otherwise("big5hkscs", _BIG5),
    "euc-jp": _otherwise("euc_jp", _EUC_JP),
    "euc-kr": _otherwise("cp949", {}),
    "shift_jis": _otherwise("cp932", _SHIFT_JIS),
    "iso-2022-jp": _iso_2022_jp,
    "replacement": lambda body: REPLACED if body else "",
}


# -- which encoding a document says it is in

LOOKED_AT = 16_384
"""Bytes of a document; browsers look at 1024 first, but change their mind later."""
LONGEST_HEADER = 1000
_CHARSET = r"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\"'\t\n\f\r ;,][^\t\n\f\r ;,]*))"
_IN_HEADER = re.compile(_CHARSET, re.IGNORECASE)
_IN_CONTENT = re.compile(_CHARSET.encode(), re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9_:.+ -]{1,40})", re.IGNORECASE)
_MARKUP = re.compile(rb"<(?:(!--)|(meta)[\t\n\f\r /]|/?[a-z][^\t\n\f\r >]*|([!/?]))", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"[\t\n\f\r /]*(?:(>)|([^\t\n\f\r />][^\t\n\f\r />=]*)[\t\n\f\r ]*)")
_VALUE = re.compile(rb"=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^\t\n\f\r >]*))")


def of_header(content_type: str) -> str | None:
    """The encoding a Content-Type names; None if it names none that is known.

    >>> of_header('text/html; charset="Latin1"'), of_header("text/html")
    ('windows-1252', None)
    """
    said = _IN_HEADER.search(content_type[:LONGEST_HEADER])
    return None if said is None else encoding_of(said[1] or said[2] or said[3] or "")


def of_document(body: bytes) -> str | None:
    """The encoding a document itself names; None if it names none that is known."""
    if (declared := _XML.search(body, 0, 2048)) and (name := encoding_of(declared[1].decode("ascii"))):
        return _readable(name)
    head, place = body[:LOOKED_AT], 0
    while found := _MARKUP.search(head, place):
        comment, meta, other = found.groups()
        if comment or other:
            place = head.find(b"-->" if comment else b">", found.start() + 2) + 1
            if not place:
                return None
            continue
        attributes, place = _attributes(head, found.end())
        if not place:
            return None
        if meta and (name := _of_meta(attributes)):
            return _readable(name)
    return None


def _of_meta(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return _named(attributes[b"charset"])
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    said = _IN_CONTENT.search(attributes.get(b"content", b""))
    return None if said is None else _named(said[1] or said[2] or said[3] or b"")


def _attributes(head: bytes, place: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, the first of each name, and where it ends; 0 where the bytes end first."""
    attributes: dict[bytes, bytes] = {}
    while found := _ATTRIBUTE.match(head, place):
        place = found.end()
        if found[1]:
            return attributes, place
        value = b""
        if head[place : place + 1] == b"=":
            said = _VALUE.match(head, place)
            if said is None:
                break
            value, place = said[1] or said[2] or said[3] or b"", said.end()
        attributes.setdefault(found[2].lower(), value)
    return attributes, 0


def _named(label: bytes) -> str | None:
    return encoding_of(label[:100].decode("ascii", "replace"))


def _readable(name: str) -> str:
    """Of a declaration that could be read byte by byte."""
    return {"utf-16be": "utf-8", "utf-16le": "utf-8", "x-user-defined": "windows-1252"}.get(name, name)
