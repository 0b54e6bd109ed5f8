"""The address guard judges addresses as they are, not as they are spelt."""

from __future__ import annotations

import pytest

from workers.fetcher.addresses import AddressGuard

# fmt: off
REFUSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::",
    "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:0:7f00:1::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::",
    "2002:808:808::", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd00::1", "fe80::1", "fe80::1%lo", "fec0::1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "172.15.255.255",
    "172.32.0.1", "192.0.1.1", "198.17.255.255", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2001:200::1",
]
# fmt: on


@pytest.mark.parametrize("address", REFUSED)
def test_a_special_address_is_refused_with_the_way_to_allow_it(address: str) -> None:
    objection = AddressGuard().objection(address)
    assert objection is not None
    assert "fetch.allow_addresses" in objection


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_passes_only_for_a_crawl_with_a_contact(address: str) -> None:
    assert AddressGuard().objection(address) is None
    assert "crawl.contact" in (AddressGuard(public=False).objection(address) or "")


def test_an_exception_holds_for_its_block_and_for_mapped_spellings_of_it_alone() -> None:
    guard = AddressGuard(["127.0.0.0/8", "fd00::/8"])
    assert guard.objection("127.1.2.3") is None
    assert guard.objection("::ffff:127.0.0.1") is None
    assert guard.objection("fd12::1") is None
    for other in ("10.0.0.1", "::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1", "fe80::1"):
        assert guard.objection(other) is not None


@pytest.mark.parametrize("text", ["", "localhost", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "1.1.1.1 ", "[::1]"])
def test_other_spellings_are_no_addresses(text: str) -> None:
    assert AddressGuard(["0.0.0.0/0", "::/0"]).objection(text) is not None
