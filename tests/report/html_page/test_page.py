"""The HTML report in Chromium: no request, no console message, hostile text is inert; charts and tables react."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import kit.stacks
import pytest
from kit.stacks import POOL_AND_QUERY

from capexplorer.model.events import Event, Note
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import html
from capexplorer.wording import units
from capexplorer.wording.units import Units

from ..exported_sessions import HEADER, HOSTILE, ramp, session
from .browser import Page, chromium, needs_chromium

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of one Chromium for all tests of this file."""
    with chromium(tmp_path_factory.mktemp("chromium")) as page:
        yield page


def write_page(folder: Path, events: list[Event]) -> Path:
    """Write the HTML report of these events, and return its path."""
    path = folder / "page.html"
    path.write_bytes(html.render(Timeline(events)))
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "events",
    [session(), ramp(), session(text=HOSTILE), [HEADER], kit.stacks.session(*POOL_AND_QUERY).events],
    ids=["steps", "ramp", "hostile", "empty", "stacks"],
)
def test_the_page_opens_without_requests_or_console_messages(
    browser: Page, tmp_path: Path, scheme: str, events: list[Event]
) -> None:
    path = write_page(tmp_path, events)
    browser.open(path, scheme="dark" if scheme == "dark" else "light")
    assert browser.console == []
    assert browser.requests == [path.as_uri()]
    assert browser.picture(tmp_path / "page.png").stat().st_size > 10_000


def test_the_colors_follow_the_light_or_dark_scheme_of_the_browser(browser: Page, tmp_path: Path) -> None:
    path = write_page(tmp_path, session())
    colors = []
    for scheme in ("light", "dark"):
        browser.open(path, scheme="dark" if scheme == "dark" else "light")
        colors.append(browser.value("getComputedStyle(document.body).backgroundColor"))
        line = "getComputedStyle(document.querySelector('.series')).stroke"
        assert browser.value(line) not in ("none", colors[-1])
    assert colors == ["rgb(251, 251, 249)", "rgb(20, 23, 26)"]


def test_hostile_text_is_inert(browser: Page, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, session(text=HOSTILE)))
    assert browser.value("document.scripts.length") == 2
    assert browser.value("document.images.length + document.querySelectorAll('iframe, object, a').length") == 0
    assert "alert(1)" in browser.value("document.querySelector('#endpoints').textContent")
    assert browser.value("[...document.querySelectorAll('bdi')].some(each => each.textContent.includes('alert(1)'))")


def test_the_content_security_policy_blocks_other_scripts(browser: Page, tmp_path: Path) -> None:
    path = write_page(tmp_path, session())
    path.write_text(path.read_text().replace("</header>", "</header><script>document.title = 'ran'</script>"))
    browser.open(path)
    assert browser.value("document.title") != "ran"
    assert len(browser.console) == 1  # the browser reports the script that its policy blocks


def test_every_chart_has_its_title_and_well_formed_lines(browser: Page, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, session()))
    titles = browser.value("[...document.querySelectorAll('.chart h3')].map(each => each.textContent)")
    assert len(titles) == 6
    assert titles[0].startswith("Requests per second")
    paths = browser.value("[...document.querySelectorAll('.plot path')].map(each => each.getAttribute('d'))")
    assert len(paths) >= 12
    assert [path for path in paths if "NaN" in path or "undefined" in path] == []


def test_a_pointer_shows_the_figures_of_its_second(browser: Page, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, session()))
    x, y, width, height = first_plot(browser)
    browser.pointer("mouseMoved", x + width * 0.9, y + height / 2)
    assert "level 2: 50 users, settled" in browser.value("document.getElementById('moment').textContent")
    assert browser.value("document.querySelector('.legend button b').textContent") == " 50"


def test_latencies_in_automatic_units_fit_one_line_of_a_table_and_are_shown_at_the_pointer(browser: Page, tmp_path: Path) -> None:
    units.choose(Units(latencies="auto"))
    try:
        browser.open(write_page(tmp_path, session()), width=1100)
    finally:
        units.choose(Units())
    heights = browser.value("[...document.querySelectorAll('#levels tbody tr')].map(each => each.offsetHeight)")
    assert heights and max(heights) < 30, heights
    x, y, width, height = first_plot(browser)
    browser.pointer("mouseMoved", x + width * 0.9, y + height / 2)
    shown = browser.value(
        "[...document.querySelectorAll('.chart')[1].querySelectorAll('.legend b')].map(each => each.textContent)"
    )
    assert any(each.endswith((" µs", " ms", " s")) for each in shown), shown


def test_dragging_zooms_all_charts_and_escape_goes_back(browser: Page, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, session()))
    before = time_axis(browser)
    x, y, width, height = first_plot(browser)
    for kind, share, down in (("mouseMoved", 0.4, False), ("mousePressed", 0.4, True), ("mouseMoved", 0.6, True)):
        browser.pointer(kind, x + width * share, y + height / 2, down=down)
    browser.pointer("mouseReleased", x + width * 0.6, y + height / 2)
    assert time_axis(browser) != before
    assert not browser.value("document.getElementById('whole').disabled")
    browser.value("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert time_axis(browser) == before


def test_numbers_of_marks_that_are_close_in_time_are_one_range_and_none_overlap(browser: Page, tmp_path: Path) -> None:
    events = session()
    notes = [Note(t_s=t_s, text="deployed") for t_s in (5.0, 5.2, 5.4, 20.0, 20.3, *(30.0 + 0.1 * n for n in range(8)))]
    browser.open(write_page(tmp_path, sorted([*events, *notes], key=lambda each: getattr(each, "t_s", 0.0))))
    flags = "[...document.querySelectorAll('.flag')]"
    texts: list[str] = browser.value(f"{flags}.map(each => each.textContent)")
    edges: list[list[float]] = browser.value(
        f"{flags}.map(each => each.getBoundingClientRect()).map(each => [each.left, each.right])"
    )
    assert "–" in "".join(texts)
    assert all(before[1] <= after[0] for before, after in pairwise(edges)), (texts, edges)
    ends = [[int(end) for end in text.split("–")] for text in texts]
    assert [number for end in ends for number in range(end[0], end[-1] + 1)] == list(
        range(1, browser.value("document.querySelectorAll('.marks li').length") + 1)
    )


def test_a_click_on_a_name_in_the_legend_hides_its_line(browser: Page, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, session()))
    lines = "document.querySelectorAll('.plot .series').length"
    before = browser.value(lines)
    browser.value("document.querySelectorAll('.chart')[1].querySelector('.legend button').click()")
    assert browser.value(lines) == before - 1


def test_clicks_on_a_column_sort_the_table_up_down_and_up(browser: Page, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, session((20, 50, 100))))
    column = "[...document.querySelectorAll('#levels tbody tr')].map(each => each.cells[2].textContent)"
    click = "[...document.querySelectorAll('#levels th')].find(each => each.textContent === 'users').click()"
    found = []
    for _ in range(3):
        browser.value(click)
        found.append(browser.value(column))
    assert found == [["20", "50", "100"], ["100", "50", "20"], ["20", "50", "100"]]


def test_the_page_fits_380_pixels_and_can_be_printed(browser: Page, tmp_path: Path) -> None:
    path = write_page(tmp_path, session())
    browser.open(path, width=380)
    assert browser.value("document.documentElement.scrollWidth") <= 380
    assert browser.printed(tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def first_plot(browser: Page) -> tuple[float, float, float, float]:
    """Scroll the first plot into view: its position and size (x, y, width, height)."""
    browser.value("document.querySelector('.plot').scrollIntoView({block: 'center'})")
    box = "(() => { const b = document.querySelector('.plot').getBoundingClientRect(); return [b.x, b.y, b.width, b.height] })()"
    x, y, width, height = browser.value(box)
    return x, y, width, height


def time_axis(browser: Page) -> list[str]:
    """The labels of the first plot."""
    found: list[str] = browser.value(
        "[...document.querySelector('.plot').querySelectorAll('text')].map(each => each.textContent)"
    )
    return found


def press(browser: Page, text: str) -> list[str]:
    """Press the button or the function with this text. Returns the texts of the buttons that are pressed."""
    script = f"""[...document.querySelectorAll('#flames button, .flame g')].find(each => each.textContent.includes({text!r}))
        .dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"""
    browser.value(script)
    return list(browser.value("[...document.querySelectorAll('#flames [aria-pressed=true]')].map(each => each.textContent)"))


def names(browser: Page) -> list[str]:
    script = "[...document.querySelectorAll('.flame title')].map(each => each.textContent.replace(/: .*/, '').replace(/ .*/, ''))"
    return list(browser.value(script))


def test_the_flame_graph_shows_own_code_all_threads_each_clock_and_one_function(browser: Page, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, kit.stacks.session(*POOL_AND_QUERY).events))
    own = ["all", "handle", "checkout", "acquire", "handle", "query", "recv"]
    assert names(browser) == own
    assert "200 ms at high load (+199 ms)" in browser.value("document.querySelectorAll('.flame title')[2].textContent")
    colors = browser.value("[...document.querySelectorAll('.flame rect')].map(each => each.getAttribute('fill'))")
    assert (colors[2], colors[5]) == ("rgb(235,90,90)", "rgb(235,223,223)"), "what grew most is the reddest"
    assert press(browser, "all threads")[1:] == ["all threads"]
    assert names(browser) == own, "idle threads have no time at high load"
    press(browser, "widths at low load")
    assert "get" in names(browser)
    press(browser, "CPU time")
    assert "get" not in names(browser)
    press(browser, "query")
    assert names(browser) == ["query", "recv"]
    press(browser, "whole graph")
    assert len(names(browser)) == len(own)
    assert browser.console == []
