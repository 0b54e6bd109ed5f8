"""The exception hierarchy keeps the promises drawn at the top of its file."""

import pickle
import re

import pytest

from gregor import errors
from gregor.errors import ConfigError, ForeignState, GregorError, TopologyError


def everything(root: type[GregorError] = GregorError) -> list[type[GregorError]]:
    """All of the file's; a benchmark may have an error of its own."""
    children = [child for child in root.__subclasses__() if child.__module__ == errors.__name__]
    return [root, *(found for child in children for found in everything(child))]


def test_the_drawing_is_the_code() -> None:
    assert errors.__doc__ is not None
    drawn = re.findall(r"^ +(?:[|+ -]*-- )?(\w+) +(\d)(?:  |$)", errors.__doc__, re.MULTILINE)
    assert drawn == [(error.__name__, str(error.default_exit_code)) for error in everything()]


@pytest.mark.parametrize("error", everything(), ids=lambda error: error.__name__)
def test_every_error_survives_pickling_with_its_text_and_exit_code(error: type[GregorError]) -> None:
    raised = error("what was found")
    again = pickle.loads(pickle.dumps(raised))
    assert (type(again), str(again), again.exit_code) == (error, str(raised), raised.exit_code)


def test_an_error_that_a_command_mends_names_the_command() -> None:
    assert "gregor topics --create" in str(TopologyError("crawl.discovered has 4 partitions, expected 8"))
    assert "gregor rebuild" in str(ForeignState("the folder belongs to another cluster"))


def test_the_exit_code_can_be_chosen_where_it_is_raised() -> None:
    assert GregorError("x", exit_code=4).exit_code == 4


def test_a_configuration_error_without_a_list_has_itself_as_its_only_problem() -> None:
    assert ConfigError("wrong").problems == ("wrong",)
