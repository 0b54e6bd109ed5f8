"""Words for the pages of the demo site: a museum of insects that Kafka might have kept."""

from __future__ import annotations

from random import Random
from typing import Final

SECTIONS: Final = ("beetles", "moths", "ants", "crickets", "mantises")

_EPITHETS: Final = (
    "patient",
    "upturned",
    "nocturnal",
    "clerkly",
    "brass",
    "sleepless",
    "dutiful",
    "forgotten",
    "polished",
)
_CREATURES: Final = {
    "beetles": ("stag beetle", "weevil", "dung roller", "longhorn"),
    "moths": ("hawk moth", "lamp circler", "wool eater", "underwing"),
    "ants": ("registry ant", "file carrier", "gate keeper", "leaf copyist"),
    "crickets": ("hearth cricket", "stair singer", "mole cricket", "bell cricket"),
    "mantises": ("court mantis", "praying advocate", "twig mantis", "flower judge"),
}
_OPENINGS: Final = (
    "One morning it woke before the household and found the ceiling unexpectedly near",
    "The porter noted its arrival in three copies and lost all of them",
    "It had waited in the corridor since autumn, which the office counted as a short time",
    "Nobody had accused it of anything, and that was what kept it awake",
    "Its six thin legs disagreed about the direction and reached a compromise at the wall",
    "Under the sofa there was dust, an apple, and a view of everybody's shoes",
)
_CLOSINGS: Final = (
    "and so the case was adjourned.",
    "while the violin went on in the next room.",
    "and the chief clerk left without his hat.",
    "although the form for it had been abolished.",
    "which the family agreed not to mention.",
    "and the window stayed open until spring.",
)


def name(section: str, number: int) -> str:
    """A creature's name; the same number has the same name on every host."""
    creatures = _CREATURES[section]
    return f"{_EPITHETS[number % len(_EPITHETS)]} {creatures[number // len(_EPITHETS) % len(creatures)]}"


def paragraphs(random: Random, count: int) -> list[str]:
    return [
        " ".join(f"{random.choice(_OPENINGS)}, {random.choice(_CLOSINGS)}" for _ in range(random.randint(2, 4)))
        for _ in range(count)
    ]
