"""What the Stripe contract rests on, asked of a provider: which of its facts hold at an address.

A probe is a generator: it yields requests and is sent their answers, so that everything it concludes can be tested
without a network. ``asking`` makes the requests.
"""
