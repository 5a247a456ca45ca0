"""Who is answered by a server of a page, and how everything else is refused, over real HTTP."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import shiftjax
from shiftjax.ensembles.store import store
from shiftjax.viewer.web import access, connections
from shiftjax.viewer.web.server import PageServer
from tests.support.served_pages import asked, error_of, serving

MEMBERS = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    result = shiftjax.simulate("four_bar", 0.02, output_step=0.01, vary={"coupler.mass": [1.0, 1.5, 2.0]}, keep="all")
    place: Path = store.write(result, tmp_path_factory.mktemp("served") / "bars.zarr")
    with serving(place) as page_server:
        yield page_server


@pytest.mark.parametrize("path", ["/", "/study", "/state", "/members/0", "/etc/passwd"])
def test_without_the_token_nothing_is_given(server: PageServer, path: str) -> None:
    for words, headers in (
        ("missing", {}),
        ("missing", {"Cookie": f"token={server.site.token}"}),
        ("another one", {"Authorization": "Bearer nonsense"}),
        ("missing", {"Authorization": f"Basic {server.site.token}"}),
    ):
        status, _, content = asked(server, path, headers, token=False)
        text = content.decode()
        if path == "/":
            words = "missing"  # its token stands in the address
        assert status == 403 and f"The token is {words}. Open the address that `shiftjax view --web` printed" in text
    status, _, _ = asked(server, "/?token=nonsense", token=False)
    assert status == 403
    assert asked(server, f"/study?token={server.site.token}", token=False)[0] == 403, "an address alone gives the page"


def test_other_origins_and_other_hosts_are_not_answered(server: PageServer) -> None:
    mine = f"http://127.0.0.1:{server.port}"
    wrong: list[dict[str, str]] = [
        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"https://127.0.0.1:{server.port}"},
        {"Origin": f"http://127.0.0.1:{server.port + 1}"}, {"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::1"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    ]  # fmt: skip
    for headers in wrong:
        status, given, content = asked(server, "/study", headers)
        assert status == 403 and ("of others" in error_of(content) or "none of this" in error_of(content)), headers
        assert "Access-Control-Allow-Origin" not in given
    for headers in ({"Origin": mine}, {"Host": "localhost:9000"}, {"Host": "localhost:9000", "Origin": "http://localhost:9000"},
                    {"Sec-Fetch-Site": "same-origin"}):  # fmt: skip
        assert asked(server, "/study", headers)[0] == 200, headers
    page = f"/?token={server.site.token}"
    linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert asked(server, page, linked, token=False)[0] == 200, "a notebook's frame opens it"
    assert asked(server, page, {**linked, "Sec-Fetch-Mode": "no-cors"}, token=False)[0] == 403


def test_the_server_listens_on_this_machine_alone(server: PageServer) -> None:
    listening = server._socket
    assert listening.getsockname()[0] == "127.0.0.1" and listening.family == socket.AF_INET


@pytest.mark.parametrize("path", ["/", "/study", "/members/0", "/members/999", "/nothing"])
def test_every_answer_has_the_headers_that_browsers_obey(server: PageServer, path: str) -> None:
    for token in (True, False):
        page = f"/?token={server.site.token}" if path == "/" and token else path
        _, headers, _ = asked(server, page, token=token)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy
        scripts = policy.partition("script-src ")[2].partition(";")[0]
        assert "unsafe-inline" not in scripts and (scripts.startswith("'sha256-") or path != "/" or not token)
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
        assert "Server" not in headers and "Set-Cookie" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd", "/members/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/members/..%2f0",
        "//etc/passwd", "/members/-1", "/members/0x1", "/members/", "/members/1/", "/members/1e3", "/members/%00",
        "/static/served.js",
        "/members/" + "9" * 40, "/bars.zarr/zarr.json", "/zarr.json", "/member",
    ],
)  # fmt: skip
def test_there_is_no_way_to_a_file(server: PageServer, path: str) -> None:
    status, _, content = asked(server, path)
    assert status == 404 and b"root:" not in content and error_of(content) == "There is nothing of this address."


def test_unknown_members_and_other_methods_have_one_clear_answer(server: PageServer) -> None:
    status, _, content = asked(server, f"/members/{MEMBERS}")
    assert status == 404 and error_of(content) == f"member {MEMBERS}: there are members 0 to {MEMBERS - 1}."
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        status, headers, _ = asked(server, "/study", method=method)
        assert status == 405 and headers["Allow"] == "GET"


def test_requests_that_are_no_http_or_too_long_end_their_connection_alone(server: PageServer) -> None:
    for text in (b"\x16\x03\x01 nonsense\r\n\r\n", b"GET /study HTTP/1.1\r\nHost: 127.0.0.1\r\nA: " + b"x" * 200_000):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            try:
                connection.sendall(text)
                said = connection.recv(200)
            except ConnectionError:
                said = b""
            assert not said.startswith(b"HTTP/1.1 200")
    assert asked(server, "/state")[0] == 200


@pytest.mark.parametrize("headers", [{}, {"Host": ""}, {"Host": "["}])
def test_a_request_without_a_host_is_refused(headers: dict[str, str]) -> None:
    assert "none of this server's" in access.refusal(headers, "t", "t", opens=True)


def test_a_refusal_repeats_a_name_as_it_was_sent(server: PageServer) -> None:
    status, _, content = asked(server, "/study", {"Host": "a%25s"})
    assert status == 403 and error_of(content).startswith("The host 'a%25s' is none of this server's")


def test_a_body_that_does_not_come_ends_its_connection(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody without the token cannot hold connections by requests that never end."""
    monkeypatch.setattr(connections, "STRANGE", 0.3)
    with serving(Path(server.site.served.study.where)) as impatient:
        with socket.create_connection(("127.0.0.1", impatient.port), timeout=20) as connection:
            connection.sendall(b"POST /study HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nab")
            while connection.recv(1000):
                pass


def hello(server: PageServer, connection: socket.socket, token: str) -> bytes:
    """The beginning of the answer to a request on a connection that stays; b"" where it is closed."""
    request = f"GET /state HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    try:
        connection.sendall(request.encode())
        return connection.recv(2000)
    except ConnectionError:
        return b""


def test_who_has_shown_no_token_is_waited_for_shortly(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request, and after one that was refused; a connection that has shown the token stays."""
    monkeypatch.setattr(connections, "STRANGE", 2.0)  # long enough for both requests on a busy machine
    with serving(Path(server.site.served.study.where)) as guarded, ExitStack() as stack:
        silent, refused, known = (
            stack.enter_context(socket.create_connection(("127.0.0.1", guarded.port), timeout=20)) for _ in range(3)
        )
        assert hello(guarded, refused, "nonsense").startswith(b"HTTP/1.1 403")
        assert hello(guarded, known, guarded.site.token).startswith(b"HTTP/1.1 200")
        assert silent.recv(100) == refused.recv(100) == b"", "closed by the server"
        assert hello(guarded, known, guarded.site.token).startswith(b"HTTP/1.1 200")


def test_many_who_have_shown_no_token_make_room(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of them is closed for the newest; who has the token is none of them."""
    monkeypatch.setattr(connections, "CROWD", 3)
    with serving(Path(server.site.served.study.where)) as guarded, ExitStack() as stack:

        def opened() -> socket.socket:
            return stack.enter_context(socket.create_connection(("127.0.0.1", guarded.port), timeout=20))

        known = opened()
        assert hello(guarded, known, guarded.site.token).startswith(b"HTTP/1.1 200")
        strangers = [opened() for _ in range(5)]
        assert [one.recv(100) for one in strangers[:2]] == [b"", b""], "two more than there may be"
        assert hello(guarded, strangers[4], guarded.site.token).startswith(b"HTTP/1.1 200")
        assert hello(guarded, known, guarded.site.token).startswith(b"HTTP/1.1 200")
