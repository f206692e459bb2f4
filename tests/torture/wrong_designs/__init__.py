"""Designs that look harmless and lose money or truth. Each is built in for a moment, and must be killed by name."""

from tests.torture.wrong_designs import answers, guards, keys
from tests.torture.wrong_designs.design import WrongDesign

WRONG_DESIGNS: dict[str, WrongDesign] = {
    one.name: one for module in (keys, answers, guards) for one in module.DESIGNS
}

__all__ = ["WRONG_DESIGNS", "WrongDesign"]
