"""The events of the provider that this process works with, under names that name no provider."""

from refunds.gateways.stripe_disputes import DisputeFact, read_dispute
from refunds.gateways.stripe_events import ProviderEvent, Subject, read_event, subject_of

__all__ = ["DisputeFact", "ProviderEvent", "Subject", "read_dispute", "read_event", "subject_of"]
