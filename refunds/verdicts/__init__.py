"""What an answer or a look-up proves about an operation, and the state that follows. Pure.

Positive evidence (an object of ours at the provider) moves the operation whichever attempt it answers. Negative
evidence counts only for the newest attempt, and only if no earlier one may have executed. Silence and age prove
nothing, and a missing object proves absence only by the whole rule of the provider's contract.
"""

from refunds.verdicts.facts import MAX_EXECUTIONS, AttemptFacts, Judgement, OperationFacts
from refunds.verdicts.judging import judge
from refunds.verdicts.moves import JUDGED_BY_EARLIER_ANSWERS, state_after_answer, state_after_check
from refunds.verdicts.silence import safe_until

__all__ = [
    "JUDGED_BY_EARLIER_ANSWERS",
    "MAX_EXECUTIONS",
    "AttemptFacts",
    "Judgement",
    "OperationFacts",
    "judge",
    "safe_until",
    "state_after_answer",
    "state_after_check",
]
