"""Requests over time, as one drawing that stretches to any width; its words are HTML around it and stay legible."""

from collections.abc import Iterator, Sequence

from gregor.outputs.report import figures
from gregor.outputs.report.summary import TimelineLines, WindowLine

_HEIGHT = 200
_WIDTH = 1000


def timeline_chart(timeline: TimelineLines) -> str:
    """Stacked columns of each window: pages, other answers, errors, all by the second."""
    windows, width_s = timeline.windows, timeline.width_s
    if not windows:
        return '<p class="empty">No request was made.</p>'
    top = _round_up(max(one.requests for one in windows) / width_s)
    columns = "".join(_columns(windows, width_s, top))
    marks = "".join(f'<span style="bottom:{part * 50}%">{figures.tick(top * part / 2)}</span>' for part in range(3))
    form = "%H:%M:%S" if windows[-1].start_ms - windows[0].start_ms < 86_400_000 else "%m-%d %H:%M"
    times = "".join(f"<span>{figures.moment(one.start_ms, form)}</span>" for one in _spread(windows))
    return (
        '<div class="legend"><span class="good">pages (2xx)</span><span class="moved">other answers</span>'
        '<span class="bad">errors</span><output></output></div>'
        f'<div class="timeline"><div class="marks">{marks}</div><div class="drawing">'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="requests a second over time">'
        f'<path class="grid" d="M0 0H{_WIDTH}M0 {_HEIGHT // 2}H{_WIDTH}M0 {_HEIGHT}H{_WIDTH}"/>{columns}</svg></div>'
        f'<div class="times">{times}</div></div>'
    )


def _columns(windows: Sequence[WindowLine], width_s: int, top: float) -> Iterator[str]:
    step = _WIDTH / len(windows)
    gap = min(step * 0.15, 3)
    for number, one in enumerate(windows):
        x, wide = number * step, step - gap
        told = (
            f"{figures.moment(one.start_ms, '%H:%M:%S')} · {figures.rate(one.requests / width_s)}/s · {one.pages:,} pages · "
            f"{one.errors:,} errors · {figures.size(one.wire_bytes)}"
        )
        yield f'<g data-told="{told}"><rect class="hit" x="{x:.2f}" y="0" width="{step:.2f}" height="{_HEIGHT}"/>'
        floor = float(_HEIGHT)
        errors = min(one.errors, one.requests)
        pages = min(one.pages, one.requests - errors)
        for count, colour in ((pages, "good"), (one.requests - pages - errors, "moved"), (errors, "bad")):
            if count:
                tall = count / width_s / top * _HEIGHT
                floor -= tall
                yield f'<rect class="{colour}" x="{x:.2f}" y="{floor:.2f}" width="{wide:.2f}" height="{tall:.2f}"/>'
        yield "</g>"


def _round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten; above nothing it is 1."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 2, 3, 4, 5, 6, 8, 10) if power * step >= value * 0.999)


def _spread(windows: Sequence[WindowLine]) -> list[WindowLine]:
    """Five of them, or all, at equal distances."""
    count = min(5, len(windows))
    return [windows[n * (len(windows) - 1) // max(count - 1, 1)] for n in range(count)]
