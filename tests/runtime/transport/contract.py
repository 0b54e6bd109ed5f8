"""What every engine of the port promises. One set of cases; each engine's test file derives from it and gives a ``harness``.

The sentence in quotation marks in a docstring is the promise, in the words of the protocol.
"""

import pytest

from tests.runtime.transport.contract_commits import CommitsContract
from tests.runtime.transport.contract_groups import GroupsContract
from tests.runtime.transport.contract_records import RecordsContract
from tests.runtime.transport.harness import Harness


class TransportContract(RecordsContract, CommitsContract, GroupsContract):
    """Derive, and give the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> Harness:
        raise NotImplementedError
