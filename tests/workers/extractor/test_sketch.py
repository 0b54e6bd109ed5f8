"""What the sketch of the store's URLs says, and how large it becomes."""

from workers.extractor.filter.sketch import FIRST_URLS, Sketch

URLS = 3 * FIRST_URLS


def test_it_denies_nothing_that_was_added_and_affirms_hardly_anything_else() -> None:
    sketch = Sketch()
    for number in range(URLS):
        sketch.add(f"http://h.example/{number}")
        sketch.add(f"http://h.example/{number // 2}")
    assert all(f"http://h.example/{number}" in sketch for number in range(URLS))
    wrong = sum(f"http://h.example/other/{number}" in sketch for number in range(URLS))
    assert wrong < URLS / 200
    assert URLS - URLS / 200 < sketch.urls <= URLS
    assert sketch.bytes <= 4 * URLS
