"""Which bodies are read, by what a response says of its type. Asked when the head is there, before the body is."""

from collections.abc import Sequence


def type_wanted(content_type: str, types: Sequence[str]) -> bool:
    """Whether a body of this type is read. A response that does not say its type is."""
    if not types:
        return True
    kind = content_type.partition(";")[0].strip().lower()
    if not kind:
        return True
    return (
        kind in types
        or f"{kind.partition('/')[0]}/*" in types
        or any(pattern.startswith("*/*+") and kind.endswith(pattern[3:]) for pattern in types)
    )
