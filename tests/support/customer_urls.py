"""The deployment's addresses, with the page for faults."""

from config.urls import urlpatterns

__all__ = ["handler500", "urlpatterns"]

handler500 = "refunds.customer.errors.server_error"
