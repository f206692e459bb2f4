"""The dated evaluation that a model passes before it is asked about anybody's refund or what anybody wrote.

``rows`` reads a set (``2026-11.json``; our own words), ``proposal_job`` and ``reading_job`` ask one row and say what
did not hold (``jobs`` is what they share), ``running`` asks every row several times, ``declared`` reads what no
question can find out.
"""
