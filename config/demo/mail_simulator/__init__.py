"""A mail server that accepts everything, keeps it, delivers nothing, and fails on order.

Its own process, spoken to over SMTP; the control side is HTTP under /_sim/. It imports nothing from the product
and serves this machine only. What it answers is what RFC 5321 says.
"""
