"""The demo's page that shows the simulated provider's book beside ours; routed under DEMO_MODE alone."""
