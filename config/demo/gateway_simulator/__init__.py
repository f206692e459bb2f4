"""A Stripe-compatible gateway with a book of its own, as a separate process; standard library only.

It imports nothing from the product and knows nothing of it. Every rule cites the provider's public page.
Real endpoints are under /v1/, the knobs for tests and demonstrations under /_sim/.
"""
