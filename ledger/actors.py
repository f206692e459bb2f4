"""Who acted. Ids are internal and stable; names and addresses never stand in evidence. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class ActorType(StrEnum):
    """The kinds of actor that an event may name."""

    CUSTOMER = "CUSTOMER"
    STAFF = "STAFF"
    SYSTEM = "SYSTEM"
    MODEL = "MODEL"
    PROVIDER = "PROVIDER"


@dataclass(frozen=True, slots=True)
class Actor:
    """One actor: a customer or staff member by user id, a component by its name."""

    type: ActorType
    id: str

    @classmethod
    def customer(cls, user_id: int) -> "Actor":
        """Return the signed-in customer."""
        return cls(ActorType.CUSTOMER, f"user:{user_id}")

    @classmethod
    def staff(cls, user_id: int) -> "Actor":
        """Return the signed-in member of staff."""
        return cls(ActorType.STAFF, f"user:{user_id}")

    @classmethod
    def system(cls, component: str) -> "Actor":
        """Return a part of this system, such as ``stage:VALIDATE_PROPOSAL``."""
        return cls(ActorType.SYSTEM, component)
