"""One URL's whole story, told from the log, from the frontier's state, and by judging the URL once more.

What was logged and what is worked out anew are never mixed: `logged` and `state` are facts as they were committed, `recomputed` is what
the configuration says of the URL now.
"""

from gregor.inspect.explain.explain import ExplainRequest, explain
from gregor.inspect.explain.story import Story

__all__ = ["ExplainRequest", "Story", "explain"]
