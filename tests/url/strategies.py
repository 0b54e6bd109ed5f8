"""Texts that look like URLs to different degrees, for the property tests of this folder."""

from hypothesis import strategies as st

# fmt: off
_PIECES = st.sampled_from([
    "/", "//", ".", "..", "../", "./", "?", "#", "&", "=", ";", ":", "@", "%", "%2e", "%2E", "%41", "%7e", "%zz",
    "%%32e", "a", "B", "c.html", "-", "_", "~", "+", "'", '"', " ", "\t", "\n", "\\", "|", "^", "[", "]", "é", "\x00",
    "http:", "https:", "HTTP://", "http://", "https://", "mailto:", "javascript:", "data:", "//h", "user:pw@",
    "example.com", "EXAMPLE.com", "example.com.", "münchen.de", "xn--mnchen-3ya.de", "127.0.0.1", "0x7f.1", "[::1]",
    ":80", ":443", ":8080", ";jsessionid=1", "/..;jsessionid=2", "utm_source=x", "PHPSESSID=1", "sid=2", "z=1",
])
# fmt: on
hrefs = st.one_of(st.lists(_PIECES, max_size=12).map("".join), st.text(max_size=40))
absolute = st.builds(
    "".join, st.tuples(st.sampled_from(["http://", "https://"]), st.lists(_PIECES, max_size=12).map("".join))
)
texts = st.one_of(hrefs, absolute)
bases = st.sampled_from(
    [
        "http://example.com/",
        "https://example.com/a/b/c.html?q=1#f",
        "https://example.com:8443/a//b/",
        "http://example.com/%41/%7Eb/x",
        "http://example.com/%zz/%41/y?%",
        "http://[::1]:8080/a;jsessionid=9/b/",
        "http://127.0.0.1/x?",
    ]
)
