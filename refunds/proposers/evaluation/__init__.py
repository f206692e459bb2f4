"""The dated evaluation that a model passes before it is asked about anybody's refund.

``rows`` reads a set (``2026-11.json``; our own words), ``jobs`` asks one row and says what did not hold, ``running``
asks every row several times, ``declared`` reads what no question can find out.
"""
