"""Figures as people read them."""

from datetime import UTC, datetime


def whole(number: int) -> str:
    return f"{number:,}"


def large(number: int) -> str:
    """Whole as long as it is short."""
    for limit, unit in ((10**10, "G"), (10**7, "M")):
        if number >= limit:
            return f"{number / (limit // 10):,.1f} {unit}"
    return whole(number)


def rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def tick(number: float) -> str:
    """A round number on an axis."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.3g}"


def size(count: int) -> str:
    """Bytes, in the unit that keeps the figure below a thousand."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("the last unit has no bound")


def span(seconds: float) -> str:
    """A duration in its two greatest units."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next(n for n, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def milliseconds(amount: float) -> str:
    return f"{amount / 1000:.1f} s" if amount >= 1000 else f"{amount:.0f} ms"


def moment(ms: int, form: str = "%Y-%m-%d %H:%M:%S UTC") -> str:
    """Empty when there is none, or none that a calendar has."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime(form) if ms > 0 else ""
    except (OverflowError, ValueError, OSError):
        return ""
