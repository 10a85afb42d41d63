from __future__ import annotations

import stat
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from recrawl.errors import ConfigError, ParameterError
from recrawl.web.safety.access import make_access
from recrawl.web.safety.credentials import Credentials, hashed, matches, read_file, write_file
from recrawl.web.safety.hosts import HostList
from recrawl.web.safety.proxies import Proxies
from recrawl.web.safety.request_bodies import BodyError, form_fields
from recrawl.web.safety.sessions import Sessions, cookie_in, set_cookie
from recrawl.web.safety.throttle import Throttle


class TestHosts:
    def test_loopback_answers_to_its_own_names_only(self) -> None:
        hosts = HostList("127.0.0.1")
        for name in ("localhost", "localhost:8080", "127.0.0.1:1", "[::1]:80", "LOCALHOST"):
            assert hosts.allows(name), name
        for name in ("evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", None, "localhost:80:80", "a/b", "[::1"):
            assert not hosts.allows(name), name

    def test_names_may_be_added(self) -> None:
        assert HostList("127.0.0.1", ["Crawl.Example"]).allows("crawl.example:443")

    def test_elsewhere_addresses_are_answered_but_not_names_of_strangers(self) -> None:
        hosts = HostList("0.0.0.0")
        assert hosts.allows("192.168.1.5:8080")
        assert hosts.allows("[fd00::1]:8080")
        assert not hosts.allows("rebound.example")


class TestPasswords:
    def test_a_password_matches_its_own_line_only(self) -> None:
        line = hashed("correct horse")
        assert matches("correct horse", line)
        assert not matches("correct hors", line)
        assert "correct" not in line

    def test_two_lines_of_one_password_differ(self) -> None:
        assert hashed("correct horse") != hashed("correct horse")

    def test_a_short_password_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="8 to 1024 characters"):
            hashed("short")

    def test_a_file_holds_the_hash_for_its_owner_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "store.password"
        write_file(file, "correct horse")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert matches("correct horse", read_file(file))

    @pytest.mark.parametrize("text", ["", "plain", "scrypt$15$8$1$x", "scrypt$99$8$1$YQ==$YQ==", "md5$1$1$1$YQ==$YQ=="])
    def test_a_file_that_holds_something_else_is_refused(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "store.password"
        file.write_text(text)
        with pytest.raises(ConfigError, match=r"store\.password"):
            read_file(file)

    def test_a_token_opens_as_well(self) -> None:
        credentials = Credentials(token="0123456789abcdef")
        assert credentials.locked
        assert credentials.takes("0123456789abcdef")
        assert not credentials.takes("0123456789abcdeg")
        assert not Credentials().takes("")

    def test_a_short_token_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="at least 16"):
            Credentials(token="short")


class TestDoor:
    def test_loopback_needs_nothing(self, tmp_path: Path) -> None:
        assert not make_access("127.0.0.1", str(tmp_path / "a.db"), {}).credentials.locked

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org"])
    def test_any_other_address_needs_a_password(self, tmp_path: Path, host: str) -> None:
        store = str(tmp_path / "a.db")
        with pytest.raises(ConfigError, match="set a password first"):
            make_access(host, store, {})
        assert make_access(host, store, {"RECRAWL_PASSWORD": "correct horse"}).credentials.locked
        assert make_access(host, store, {"RECRAWL_TOKEN": "0123456789abcdef"}).credentials.locked

    def test_a_password_beside_the_store_is_found(self, tmp_path: Path) -> None:
        write_file(tmp_path / "a.db.password", "correct horse")
        assert make_access("0.0.0.0", str(tmp_path / "a.db"), {}).credentials.takes("correct horse")

    def test_a_named_file_must_be_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            make_access("127.0.0.1", "a.db", {}, file=tmp_path / "none")


class TestSessions:
    def test_a_cookie_is_read_back(self) -> None:
        sessions = Sessions()
        session = sessions.begin(1000.0, member=True)
        assert sessions.read(sessions.cookie(session), 1001.0) == session

    def test_a_cookie_that_was_changed_is_worth_nothing(self) -> None:
        sessions = Sessions()
        cookie = sessions.cookie(sessions.begin(1000.0, member=False))
        id, expires, _, signature = cookie.split(".")
        for forged in (
            f"{id}.{expires}.1.{signature}",
            f"{id}.9999999999.0.{signature}",
            cookie[:-1],
            "",
            "...",
            "a.b.c.d",
        ):
            assert sessions.read(forged, 1001.0) is None

    def test_a_cookie_of_another_start_is_worth_nothing(self) -> None:
        cookie = Sessions().cookie(Sessions().begin(0.0, member=True))
        assert Sessions().read(cookie, 1.0) is None

    def test_it_ends_by_itself_and_when_told(self) -> None:
        sessions = Sessions()
        session = sessions.begin(1000.0, member=True)
        assert sessions.read(sessions.cookie(session), session.expires + 1.0) is None
        sessions.end(session)
        assert sessions.read(sessions.cookie(session), 1001.0) is None

    def test_a_form_token_belongs_to_one_session(self) -> None:
        sessions = Sessions()
        one, other = sessions.begin(0.0, member=True), sessions.begin(0.0, member=True)
        assert sessions.vouches(one, one.token)
        assert not sessions.vouches(one, other.token)
        assert not sessions.vouches(one, "")
        assert not sessions.vouches(None, one.token)

    def test_scripts_and_other_sites_never_get_the_cookie(self) -> None:
        header = set_cookie("x", secure=True)
        assert "HttpOnly" in header
        assert "SameSite=Strict" in header
        assert "Secure" in header
        assert cookie_in(header) == "x"


class TestThrottle:
    def test_after_a_few_attempts_one_has_to_wait(self) -> None:
        throttle = Throttle(burst=3, every_s=10)
        assert [throttle.wait_s("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
        assert throttle.wait_s("a", 0.0) == pytest.approx(10.0)
        assert throttle.wait_s("a", 10.0) == 0.0

    def test_others_are_not_kept_waiting(self) -> None:
        throttle = Throttle(burst=1)
        throttle.wait_s("a", 0.0)
        assert throttle.wait_s("a", 0.0) > 0.0
        assert throttle.wait_s("b", 0.0) == 0.0

    def test_many_together_are_limited_too(self) -> None:
        throttle = Throttle(burst_of_all=5, every_s_of_all=2)
        waits = [throttle.wait_s(str(k), 0.0) for k in range(8)]
        assert waits[:5] == [0.0] * 5
        assert all(wait > 0.0 for wait in waits[5:])

    def test_looking_takes_nothing(self) -> None:
        throttle = Throttle(burst=1)
        assert [throttle.wait_s("a", 0.0, take=False) for _ in range(3)] == [0.0] * 3
        throttle.wait_s("a", 0.0)
        assert throttle.wait_s("a", 0.0, take=False) > 0.0

    def test_memory_is_bounded(self) -> None:
        throttle = Throttle(clients=10, burst_of_all=1e9)
        for k in range(1000):
            throttle.wait_s(str(k), 0.0)
        assert len(throttle._buckets) == 10


class TestForms:
    def test_a_file_is_read_as_text(self) -> None:
        body = (
            b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nabc\r\n'
            b'--x\r\nContent-Disposition: form-data; name="list"; filename="a.opml"\r\nContent-Type: text/xml\r\n\r\n'
            b"<opml>\xc3\xa4\r\n</opml>\r\n--x--\r\n"
        )
        assert form_fields("multipart/form-data; boundary=x", body) == {"csrf": "abc", "list": "<opml>ä\r\n</opml>"}

    @pytest.mark.parametrize("kind", ["application/json", "", "é"])
    def test_what_is_no_form_has_no_fields(self, kind: str) -> None:
        assert form_fields(kind, b"\xff\x00--x\r\n\r\n&&==") == {}

    @pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary="])
    def test_parts_without_a_boundary_are_refused(self, kind: str) -> None:
        with pytest.raises(BodyError, match="what is between them"):
            form_fields(kind, b"--x\r\n\r\n--x--")

    def test_as_browsers_write_it(self) -> None:
        kind = 'multipart/form-data; charset=utf-8; boundary="----Web Kit"'
        body = (
            b'------Web Kit\r\ncontent-disposition: form-data; name="a"\r\n\r\n\xc3\xa4\r\n'
            b'------Web Kit\r\nContent-Type: text/plain\r\nContent-Disposition: form-data;name="b"\r\n\r\n\r\n'
            b'------Web Kit\r\nContent-Disposition: form-data; filename="name=x"; name="c"\r\n\r\nx\r\n\r\n'
            b"------Web Kit--\r\nepilogue"
        )
        assert form_fields(kind, body) == {"a": "ä", "b": "", "c": "x\r\n"}

    def test_parts_within_parts_are_text(self) -> None:
        inner = '--y\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nforged\r\n--y--'
        head = 'Content-Disposition: form-data; name="a"\r\nContent-Type: multipart/mixed; boundary=y'
        body = f"--x\r\n{head}\r\n\r\n{inner}\r\n--x--"
        assert form_fields("multipart/form-data; boundary=x", body.encode()) == {"a": inner}


class TestProxies:
    def test_the_client_is_the_last_address_no_proxy_of_ours_has(self) -> None:
        proxies = Proxies(["127.0.0.1", "10.0.0.0/8", "fd00::/8"])

        def client(*lines: str) -> str | None:
            return proxies.client(Headers(raw=[(b"x-forwarded-for", line.encode()) for line in lines]))

        assert client("192.0.2.1") == "192.0.2.1"
        assert client("1.1.1.1, 192.0.2.1, 10.0.0.1") == "192.0.2.1"
        assert client("1.1.1.1", "192.0.2.1:4711", "[fd00::1]:80") == "192.0.2.1"
        assert client("10.0.0.2, 10.0.0.1") == "10.0.0.2"
        assert client("1.1.1.1, unknown, 10.0.0.1") == "10.0.0.1"
        assert client("", "nonsense") is None
        assert client() is None

    def test_addresses_in_any_form_are_known(self) -> None:
        assert Proxies(["10.0.0.0/8"]).trust("::ffff:10.0.0.1")
        assert not Proxies(["10.0.0.0/8"]).trust("11.0.0.1")
        assert not Proxies().trust("127.0.0.1")
        assert not Proxies(["127.0.0.1"]).trust("")
