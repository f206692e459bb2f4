"""The payment provider: one port, the contract of each provider, and the adapters that speak to it."""
