"""Using a page with keys alone, and seeing at every step where one is."""

from playwright.sync_api import expect

_FOCUSED = """() => {
    const element = document.activeElement;
    if (!element || element === document.body) return null;
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height / 2, 20)];
    const seen = document.elementFromPoint(x, y);
    const style = getComputedStyle(element);
    return {
        html: element.outerHTML.slice(0, 160),
        visible: box.width > 0 && box.height > 0 && seen !== null
            && (element.contains(seen) || seen.contains(element)
                || [...(element.labels || [])].some(label => label.contains(seen))),
        marked: style.outlineStyle !== "none" || style.boxShadow !== "none",
    };
}"""
FEW = 80


def tab_to(page, wanted):
    """Press Tab until ``wanted`` has the focus; what has it on the way must be visible and marked."""
    for _ in range(FEW):
        page.keyboard.press("Tab")
        focused = page.evaluate(_FOCUSED)
        if focused is not None:
            assert focused["visible"], f"covered or out of sight: {focused['html']}"
            assert focused["marked"], f"nothing marks the focus: {focused['html']}"
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{FEW} times Tab did not reach {wanted}")


def press(page, wanted, key="Enter"):
    """Reach something with Tab and press a key on it."""
    tab_to(page, wanted)
    page.keyboard.press(key)


def open_with_enter(page, wanted):
    """Follow a link or send a form with Enter, and wait for the page that comes of it."""
    tab_to(page, wanted)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def type_into(page, wanted, text):
    tab_to(page, wanted)
    page.keyboard.type(text)
    expect(wanted).to_have_value(text)


def choose(page, radio):
    """Reach a group of radio buttons with Tab and one of them with the arrows, as the platform has it."""
    name = radio.get_attribute("name")
    group = page.locator(f"input[type=radio][name={name}]")
    for _ in range(FEW):
        page.keyboard.press("Tab")
        if group.evaluate_all("radios => radios.includes(document.activeElement)"):
            break
    page.keyboard.press("Space")
    for _ in range(group.count()):
        if radio.is_checked():
            return
        page.keyboard.press("ArrowDown")
    expect(radio).to_be_checked()
