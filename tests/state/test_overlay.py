"""Pending changes are seen by point reads, packed by server, and gone when cleared."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gregor.state import overlay as module
from gregor.state.overlay import Overlay
from gregor.state.packed import apply_deltas, unpack_delta
from tests.state.stores import FAMILIES, Dictionary

SERVERS = (b"one.example", b"two.example")
changes = st.lists(
    st.tuples(
        st.sampled_from(SERVERS), st.sampled_from(FAMILIES), st.binary(max_size=2), st.none() | st.binary(max_size=9)
    )
)


def filled(state: Dictionary, changes: list[tuple[bytes, str, bytes, bytes | None]]) -> Overlay:
    overlay = Overlay(state, FAMILIES)
    for server, family, key, value in changes:
        if value is None:
            overlay.delete(server, family, key)
        else:
            overlay.put(server, family, key, value)
    return overlay


@settings(deadline=None)
@given(before=changes, pending=changes)
def test_reads_see_what_the_state_will_be_after_the_commit(
    before: list[tuple[bytes, str, bytes, bytes | None]], pending: list[tuple[bytes, str, bytes, bytes | None]]
) -> None:
    state = Dictionary()
    apply_deltas(FAMILIES, [mutation.delta for mutation in filled(state, before).mutations()], state)
    overlay = filled(state, pending)
    touched = {(family, key) for _, family, key, _ in (*before, *pending)}
    seen = {slot: overlay.get(*slot) for slot in touched}
    apply_deltas(FAMILIES, [mutation.delta for mutation in overlay.mutations()], state)
    assert {slot: state.get(*slot) for slot in touched} == seen


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pending=changes)
def test_a_large_change_is_cut_into_deltas_that_do_the_same(
    monkeypatch: pytest.MonkeyPatch, pending: list[tuple[bytes, str, bytes, bytes | None]]
) -> None:
    whole = filled(Dictionary(), pending).mutations()
    monkeypatch.setattr(module, "DELTA_BYTES", 10)
    cut = filled(Dictionary(), pending).mutations()
    states = Dictionary(), Dictionary()
    for state, mutations in zip(states, (whole, cut), strict=True):
        apply_deltas(FAMILIES, [mutation.delta for mutation in mutations], state)
    assert states[0].families == states[1].families
    assert all(sum(len(key) + len(value or b"") for _, key, value in unpack_delta(one.delta)) < 21 for one in cut)


def test_each_server_has_one_delta() -> None:
    overlay = Overlay(Dictionary(), FAMILIES)
    for number in range(10):
        overlay.put(SERVERS[number % 2], "queue", bytes([number]), b"value")
    assert [mutation.key for mutation in overlay.mutations()] == list(SERVERS)


def test_the_last_change_of_a_key_is_the_only_one_logged() -> None:
    overlay = Overlay(Dictionary(), FAMILIES)
    overlay.put(SERVERS[0], "queue", b"k", b"first")
    overlay.delete(SERVERS[1], "queue", b"k")
    overlay.put(SERVERS[1], "queue", b"k", b"last")
    [mutation] = overlay.mutations()
    assert (mutation.key, list(unpack_delta(mutation.delta))) == (SERVERS[1], [(1, b"k", b"last")])


def test_bytes_are_those_that_are_pending() -> None:
    overlay = Overlay(Dictionary(), FAMILIES)
    overlay.put(SERVERS[0], "queue", b"key", b"12345")
    assert overlay.bytes == 8
    overlay.put(SERVERS[0], "queue", b"key", b"1")
    assert overlay.bytes == 4
    overlay.delete(SERVERS[0], "queue", b"key")
    assert overlay.bytes == 3


def test_after_an_abort_nothing_has_happened() -> None:
    state = Dictionary()
    state.put("queue", b"k", b"old")
    overlay = Overlay(state, FAMILIES)
    overlay.delete(SERVERS[0], "queue", b"k")
    assert overlay.get("queue", b"k") is None
    overlay.clear()
    assert (overlay.get("queue", b"k"), overlay.mutations(), overlay.bytes) == (b"old", [], 0)
