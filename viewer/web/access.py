"""Who is answered: whoever has the token of the printed address, from a page of this server alone.

Every request of this machine reaches the server, whoever made it: other users, and every page that is open in a
browser.
So a request is refused
    whose host is no name of this machine, as of a foreign name that was led to 127.0.0.1 (DNS rebinding);
    which a page of another origin sent, as the browser says in `Origin` or `Sec-Fetch-Site`;
    without the token: in the address of the page, in a header of all else, which no other page can add.
There are no cookies, so that nothing is sent by a browser by itself.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

HOSTS = ("127.0.0.1", "localhost")  # of any port: `ssh -L` gives another one
BEARER = "Bearer "
ANSWERED = "Open the address that `shiftjax view --web` printed, with its token."
FROM_PAGE = ("same-origin", "none")  # of `Sec-Fetch-Site`: a script of this page, or a person
FRAMES = ("http://localhost:*", "http://127.0.0.1:*")  # of notebooks, which show the page in a frame


def new_token() -> str:
    """256 random bits as text for an address."""
    return secrets.token_urlsafe(32)


def refusal(headers: Mapping[str, str], token: str, given: str, *, opens: bool) -> str:
    """Why a request is not answered, "" where it is.

    Args:
        headers: of the request. token: of the server. given: that of the address, "" where it has none.
        opens: whether the page is asked for, which a link of another one may do; all else its script alone asks for.
    """
    host = headers.get("Host", "")
    name = _name(host)
    if name not in HOSTS:
        return f"The host {name or host!r} is none of this server's: {', '.join(HOSTS)}. {ANSWERED}"
    origin, site = headers.get("Origin"), headers.get("Sec-Fetch-Site", "none")
    if origin is not None and origin != f"http://{host}":
        return f"The origin {origin!r} is another one than http://{host}: pages of others are not answered."
    linked = opens and headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
    if site not in FROM_PAGE and not linked:
        return "Pages of others are not answered."
    stated = headers.get("Authorization", "")
    presented = given if opens else stated.removeprefix(BEARER) if stated.startswith(BEARER) else ""
    if not hmac.compare_digest(presented.encode(), token.encode()):
        return f"The token is {'another one' if presented else 'missing'}. {ANSWERED}"
    return ""


def _name(host: str) -> str:
    """The name in a header `Host`, without its port; "" where there is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def security_headers(policy: str, *, framed: bool) -> dict[str, str]:
    """What every answer says to browsers.

    Args:
        policy: the content security policy of the page. framed: whether notebooks may show it in a frame.
    """
    frames = " ".join(FRAMES) if framed else "'none'"
    return {
        "Content-Security-Policy": f"{policy}; frame-ancestors {frames}; base-uri 'none'; form-action 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        **({} if framed else {"X-Frame-Options": "DENY"}),
    }
