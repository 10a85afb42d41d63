"""WHATWG's labels and html5lib's prescan: what a browser reads, decoded by an implementation of the standard."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from corpora.packages import has_npm, unpacked
from recrawl.crawl.reading import decoding

pytestmark = [pytest.mark.corpora, pytest.mark.skipif(not has_npm(), reason="needs node and npm")]
SAMPLES = {
    "gbk": "简体中文测试。€", "gb18030": "简体中文测试。€", "big5": "繁體中文測試。", "euc-jp": "日本語のテスト。①",
    "shift_jis": "日本語のテスト。①", "iso-2022-jp": "日本語のテスト。", "euc-kr": "한국어 시험. 똠",
    "utf-16le": "Füße, 日本語", "utf-16be": "Füße, 日本語", "utf-8": "Füße, 日本語",
}  # fmt: skip
PYTHON_NAMES = {"shift_jis": "cp932", "euc-kr": "cp949", "euc-jp": "euc_jp", "gbk": "gbk"}
BAD_BYTE = b"A\xffB"
_PRESCAN = re.compile(rb"#data\n(.*?)\n#encoding\n([^\n]*)\n?", re.DOTALL)


def labels() -> list[str]:
    """Every label of the standard, in lower case."""
    table = unpacked("@exodus/bytes") / "fallback/encoding.labels.js"
    script = (
        f"const table = await import({json.dumps(str(table))});"
        "console.log(JSON.stringify(Object.entries(table.default).flat(2)))"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60, check=True
    )
    return sorted(set(json.loads(done.stdout)))


def as_browsers_do(cases: list[tuple[str, bytes]]) -> list[tuple[str, str] | None]:
    """The name of each label's encoding, and the text; None for labels that are none."""
    asked = json.dumps({"cases": [[label, base64.b64encode(body).decode()] for label, body in cases]})
    script = Path(__file__).with_name("oracle.mjs")
    done = subprocess.run(
        ["node", str(script), str(_module())], input=asked, capture_output=True, text=True, timeout=120, check=True
    )
    return [tuple(answer) if answer else None for answer in json.loads(done.stdout)]


def _module() -> Path:
    return unpacked("@exodus/bytes") / "encoding.js"


@cache
def sample(name: str) -> bytes:
    """Bytes that tell an encoding from its neighbours: every byte of a small one, words and a bad byte of a large."""
    name = name.lower()
    if name in SAMPLES:
        bad = b"" if name.startswith("utf-16") else BAD_BYTE
        return SAMPLES[name].encode(PYTHON_NAMES.get(name, name), "ignore") + bad
    every = bytes(range(0x20, 0x3C)) + bytes(range(0x3F, 0x7F)) + bytes(range(0x80, 0x100))
    answer = as_browsers_do([(name, bytes((byte,))) for byte in every])
    return bytes(byte for byte, read in zip(every, answer, strict=True) if read and not _is_control(read[1]))


def _is_control(text: str) -> bool:
    """What an unassigned byte becomes in browsers; nobody sees it, so nothing is asked of it."""
    return "\x7f" <= text <= "\x9f"


def _cases() -> Iterator[tuple[str, str, bytes]]:
    """Name, label and body: the label said by the header, and by the document."""
    known = labels()
    named = as_browsers_do([(label, b"") for label in known])
    for label, answer in zip(known, named, strict=True):
        assert answer is not None
        body = sample(answer[0])
        yield f"{label} by header", label, body
        start = f"<!DOCTYPE html><meta charset={label}><p>".encode()
        yield f"{label} by document", _in_documents(answer[0], label), start + _ascii_compatible(answer[0], body)


def _in_documents(name: str, label: str) -> str:
    """As HTML has it: a document that can be read as far as its declaration is not UTF-16."""
    return {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(name.lower(), label)


def _ascii_compatible(name: str, body: bytes) -> bytes:
    return SAMPLES["utf-8"].encode() + BAD_BYTE if name.lower().startswith("utf-16") else body


def test_every_label_of_the_standard_is_read_as_browsers_read_it(judged):
    with judged("WHATWG labels") as corpus:
        cases = list(_cases())
        answers = as_browsers_do([(label, body) for _, label, body in cases])
        for (name, label, body), answer in zip(cases, answers, strict=True):
            assert answer is not None
            header = f"text/html; charset={label}" if name.endswith("header") else "text/html"
            corpus.check(name, answer[1], lambda b=body, h=header: decoding.utf8(b, h).decode())


def test_the_prescan_finds_what_html5lib_expects(judged):
    with judged("html5lib prescan") as corpus:
        cases = []
        root = unpacked("html5lib") / "html5lib/tests/testdata/encoding"
        for path in sorted(root.glob("*.dat")):
            for number, (data, label) in enumerate(_PRESCAN.findall(path.read_bytes() + b"\n")):
                body = data + b" " * max(0, 1100 - len(data)) + b"\n" + sample("windows-1252")
                cases.append((f"{path.name} {number}", label.decode().lower(), body))
        answers = as_browsers_do([(label, body) for _, label, body in cases])
        for (name, _, body), answer in zip(cases, answers, strict=True):
            assert answer is not None, name
            corpus.check(name, answer[1], lambda b=body: decoding.utf8(b, "text/html").decode())
