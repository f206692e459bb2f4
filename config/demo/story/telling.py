"""The story: nine requests of one customer, and after each the provider's book beside ours."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from config.demo.story import everyday, other_trouble, provider_trouble
from config.demo.story.books import OurRefund, our_refund_of, unexplained_rows
from config.demo.story.orders import StoryOrder
from config.demo.story.scene import Scene
from config.demo.story.visitors import StoryError

Part = Callable[[Scene, StoryOrder], None]
NEVER_ARRIVED, SHOP_DOWN = "never_arrived", "shop_down"
TITLES = {
    "automatic": "A duplicate charge is found and refunded automatically",
    "approved": "A larger one waits for a person, who approves it",
    "lost": "The provider books a refund and its answer is lost",
    "hold": "A charge and a hold are explained, not refunded",
    NEVER_ARRIVED: "A request never arrives: absence is proven, and it goes out again under the same key",
    "told_early": "The provider tells of a refund three times, first before its answer",
    "mail_down": "The mail server is down: the refund stands, its receipt comes later",
    SHOP_DOWN: "The shop's system is down: the request is saved, and finished when it is back",
    "hostile": "The model turns hostile: the same money",
}


@dataclass
class Story:
    """Tells the story with new ``orders``, by the part they play."""

    scene: Scene
    orders: dict[str, StoryOrder]
    broken: list[str] = field(default_factory=list)
    _begun: dict[str, str] = field(default_factory=dict)

    def tell(self) -> bool:
        """Tell every part, whatever the others did, and return whether all of it held."""
        self.scene.model.calm()  # a telling that was interrupted may have left it hostile
        self.scene.say("\nTwo requests that take a while begin; parts 5 and 8 tell how they end")
        self._begin(NEVER_ARRIVED, provider_trouble.send_into_the_void)
        self._begin(SHOP_DOWN, other_trouble.ask_without_the_shop)
        parts: dict[str, Part] = {
            "automatic": everyday.automatic,
            "approved": everyday.approved,
            "lost": everyday.lost,
            "hold": everyday.hold,
            NEVER_ARRIVED: self._end_of(NEVER_ARRIVED, provider_trouble.never_arrived),
            "told_early": provider_trouble.told_early,
            "mail_down": other_trouble.mail_down,
            SHOP_DOWN: self._end_of(SHOP_DOWN, other_trouble.shop_was_down),
            "hostile": self._hostile,  # last: until then nobody else may meet that model
        }
        for number, (name, part) in enumerate(parts.items(), 1):
            self.scene.say(f"\n{number}. {TITLES[name]}")
            self._try(f"part {number}", partial(part, self.scene, self.orders[name]))
        self.scene.say(f"\n{len(parts) + 1}. Every state is explained by its events")
        self._try(f"part {len(parts) + 1}", self._explained)
        self._sum_up()
        return not self.broken

    def _begin(self, name: str, first: Callable[[Scene, StoryOrder], str]) -> None:
        def begin() -> None:
            self._begun[name] = first(self.scene, self.orders[name])

        self._try(f"order #{self.orders[name].number}", begin)

    def _end_of(self, name: str, last: Callable[[Scene, StoryOrder, str], None]) -> Part:
        def end(scene: Scene, order: StoryOrder) -> None:
            if name not in self._begun:
                raise StoryError(f"order #{order.number} did not get as far as this")
            last(scene, order, self._begun[name])

        return end

    def _hostile(self, scene: Scene, order: StoryOrder) -> None:
        honest: OurRefund | None = our_refund_of(self.orders["automatic"].later_charge)
        other_trouble.hostile_model(scene, order, honest)

    def _try(self, label: str, part: Callable[[], None]) -> None:
        try:
            part()
        except StoryError as error:
            self.broken.append(f"{label}: {error}")
            self.scene.say(f"   ✗ {error}")

    def _explained(self) -> None:
        unexplained = unexplained_rows()
        if unexplained:
            raise StoryError(f"{unexplained} rows are in a state that no event explains")
        self.scene.held("every workflow and operation is in the state of its newest event")

    def _sum_up(self) -> None:
        if self.broken:
            self.scene.say(f"\n{len(self.broken)} things did not hold:")
            for problem in self.broken:
                self.scene.say(f"   ✗ {problem}")
        else:
            self.scene.say("\nAll of it held.")
