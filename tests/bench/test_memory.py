"""What is made of the samples of a crawl."""

from bench.crawling.resident import Course, Sample
from bench.memory import figures


def test_the_middle_the_end_and_the_most_are_of_all_processes_together() -> None:
    samples = [
        Sample(0, 50, 50),
        Sample(40, 100, 60),
        Sample(50, 120, 30),
        Sample(60, 200, 80),
        Sample(90, 150, 70),
        Sample(100, 290, 0),
    ]
    told = {"type": "summary", "pages_per_s": 12.5}
    found = figures(Course(100, samples, told, 100, 100, {"state": 20_000, "archive": 150_000}))
    assert found == {
        "pages": 100,
        "pages_per_s": 12.5,
        "middle_mb": 160,
        "end_mb": 220,
        "peak_mb": 290,
        "peak_main_mb": 290,
        "peak_extractor_mb": 80,
        "state_bytes_per_url": 200,
        "archive_bytes_per_url": 1500,
    }
