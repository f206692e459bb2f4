"""What axe and a narrow window find wrong with a page."""

from axe_playwright_python.sync_playwright import Axe

# Rules of WCAG 2.2, level AA, with what it took over from 2.0 and 2.1.
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
NARROW = {"width": 320, "height": 900}  # 1280 at 400 %, which 1.4.10 asks for
COLOURS = ("color-contrast", "link-in-text-block")
LAYOUT = ("target-size", "scrollable-region-focusable", "meta-viewport")
# Without preloading: axe would read style sheets again in a way that the content policy refuses.
_OPTIONS = {"resultTypes": ["violations"], "preload": False}
_axe = Axe()


def assert_accessible(page, what="", *, rules=()):
    """Fail with axe's own report; ``rules`` name the few that a change of colours or of layout can break."""
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    found = _axe.run(page, options={**_OPTIONS, "runOnly": only})
    assert found.response["passes"], "axe looked at nothing"
    assert found.violations_count == 0, f"{what} {page.url}\n{found.generate_report()}"


def assert_fits(page, what=""):
    """Fail with the elements that make a person scroll sideways; tables have scrolling frames of their own."""
    wider = page.evaluate("""() => {
        const width = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= width) return [];
        const isWide = element =>
            Math.max(element.getBoundingClientRect().right, element.scrollWidth) > width + 1;
        const wide = [...document.querySelectorAll("html, body *")].filter(isWide);
        return wide.filter(element => !wide.some(other => other !== element && element.contains(other)))
            .map(element => element.outerHTML.slice(0, 120));
    }""")
    assert wider == [], f"{what} {page.url} has to be scrolled sideways:\n" + "\n".join(wider)


def double_the_text(page):
    """What a person does who makes text twice as large and nothing else."""
    page.evaluate("""() => {
        const root = document.documentElement;
        root.style.fontSize = 2 * parseFloat(getComputedStyle(root).fontSize) + "px";
    }""")
