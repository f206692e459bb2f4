"""Personal text, kept beside evidence so that it can be erased without breaking the evidence."""

import hashlib
from datetime import datetime

from django.db import models


class ErasableText(models.Model):
    """What a person wrote or a provider sent, word for word; append-only rows keep only its digest."""

    body = models.TextField(blank=True)
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "erasable_texts"

    def __str__(self) -> str:
        return f"text {self.pk}"

    @classmethod
    def keep(cls, body: str, *, now: datetime) -> "ErasableText":
        """Store a text with its digest."""
        return cls.objects.create(body=body, sha256=text_sha256(body), created_at=now)


def text_sha256(body: str) -> str:
    """Return the digest that append-only rows hold for a text."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
