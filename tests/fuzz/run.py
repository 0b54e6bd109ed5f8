"""A coverage-guided fuzzer at one of the readers: `python -m tests.fuzz.run READER SECONDS`, READER "repeated" for all of them at length.

`make fuzz` installs what it needs and runs all in turn. What it learns stays in .cache/fuzz/READER and is where the next run begins; an
input that fails is written beside it, as crash-, timeout- or oom-. Made small, and named for what it shows, it belongs into corpus/.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Final

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["gregor", "workers", "streams", "schemas", "protego"]):
    from tests.fuzz.readers import READERS, repeated
    from tests.fuzz.tokens import dictionary

ROOT: Final = Path(__file__).parents[2]
CORPUS: Final = ROOT / "tests" / "fuzz" / "corpus"
LEARNT: Final = ROOT / ".cache" / "fuzz"
LONGEST: Final = 4096
"""Bytes of an input: the faults of longer ones are those of short ones, more often."""
REPEATED_TO: Final = 512 * 1024
TIMEOUT_S: Final = 20
MOST_MEMORY_MB: Final = 1500


def main(reader: str, seconds: str) -> None:
    learnt = LEARNT / reader
    learnt.mkdir(parents=True, exist_ok=True)
    words = LEARNT / f"{reader}.words"
    words.write_text(dictionary(reader))
    seeds = [str(CORPUS)] if reader == "repeated" else [str(CORPUS / reader)]
    options = (
        *(
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST}",
            f"-timeout={TIMEOUT_S}",
            "-verbosity=0",
            "-print_final_stats=1",
        ),
        *(f"-rss_limit_mb={MOST_MEMORY_MB}", f"-artifact_prefix={learnt}-", f"-dict={words}"),
    )
    read = partial(repeated, size=REPEATED_TO) if reader == "repeated" else READERS[reader]
    atheris.enabled_hooks.add("str")
    atheris.Setup([sys.argv[0], *options, str(learnt), *seeds], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
