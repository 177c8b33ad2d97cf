"""The page in headless Chromium: elements found, search and clicks work, large graphs load."""

import pytest
from report_pages import HOSTILE, KERNEL, long, render, small

DRAWN = "const c = document.getElementById('canvas'); return new Set(c.getContext('2d')" \
    ".getImageData(0, 0, c.width, c.height).data).size"  # fmt: skip


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens a page with a content and waits for its script."""

    def open_(content):
        path = tmp_path / "report.html"
        path.write_text(render(content), encoding="utf-8")
        browser.get("about:blank")  # what the page before still fetches is not ours
        browser.get_log("browser")
        browser.get(path.as_uri())
        assert browser.execute_script("return document.documentElement.dataset.ready") == "yes"
        return browser

    return open_


def soon(browser, condition):
    """Waits for `condition()`: the page draws and scrolls in frames of its own."""
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, 30).until(lambda _: condition())


def click_node(browser, name):
    from selenium.webdriver.common.action_chains import ActionChains

    canvas = browser.find_element("id", "canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    x, y = browser.execute_script(
        "return graphView.screenPosition(graphView.side.names.indexOf(arguments[0]))", name
    )
    size = canvas.size
    actions = ActionChains(browser)
    actions.move_to_element_with_offset(
        canvas, int(x - size["width"] / 2), int(y - size["height"] / 2)
    )
    actions.click().perform()


def detail(browser):
    panel = browser.find_element("id", "detail")
    return panel.text if panel.is_displayed() else None


def shows(browser, *words):
    """Waits until the details of a node have all of `words`."""
    soon(browser, lambda: all(word in (detail(browser) or "") for word in words))


def test_search_clicks_and_tables(opened):
    page = opened(small())
    assert len(page.find_elements("css selector", "#warnings .warning")) == 2
    soon(page, lambda: page.execute_script(DRAWN) > 4)
    assert detail(page) is None

    click_node(page, "a")
    shows(page, "Abs", "Fused into", KERNEL)
    click_node(page, "m")
    shows(page, "OP_UNKNOWN", "Reads")

    page.find_element("id", "side-after").click()
    assert page.execute_script("return graphView.side.names") == ["x", "f", "m"]
    click_node(page, "f")
    soon(page, lambda: page.find_elements("css selector", "#detail .link"))[0].click()
    more = soon(page, lambda: page.find_elements("css selector", "tr.kernel.open + tr.more"))[0]
    assert HOSTILE in more.text and "tile 1 x 512" in more.text

    search = page.find_element("id", "search")
    search.send_keys("matmul")
    soon(page, lambda: page.find_element("id", "matches").text == "1 found")
    search.send_keys("\n")
    soon(page, lambda: page.find_element("id", "matches").text == "1 of 1")
    shows(page, "MatMul")

    group = page.find_elements("css selector", "details.group summary")[1]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", group)
    group.click()
    table = soon(page, lambda: page.find_elements("css selector", "details.group table"))
    assert "r" + HOSTILE in table[0].text
    assert page.execute_script("return window.broken") is None
    shown = page.execute_script("return performance.timeOrigin")  # milliseconds, as in the log
    assert [line for line in page.get_log("browser")
            if line["level"] == "SEVERE" and line["timestamp"] >= shown - 1] == []


def test_filter_sort_and_theme(opened):
    content = small()
    second = dict(content.kernels[0], name="autofused_reduce_1_Sum", op_types=["Sum", "Log"],
                  calls=90)  # fmt: skip
    page = opened(content._replace(kernels=[content.kernels[0], second]))

    def rows():
        found = page.find_elements("css selector", "tr.kernel")
        return [row.text.split()[0] for row in found if row.is_displayed()]

    assert rows() == [KERNEL, second["name"]]
    calls = page.find_elements("css selector", "#kernel-table th")[2]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", calls)
    calls.click()
    soon(page, lambda: rows() == [second["name"], KERNEL])
    page.find_element("id", "kernel-filter").send_keys("log")
    soon(page, lambda: rows() == [second["name"]])
    before = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    page.find_element("id", "theme").click()
    soon(page, lambda: page.execute_script(
        "return getComputedStyle(document.body).backgroundColor") != before)


def test_ten_thousand_operators(opened):
    page = opened(long(10000))
    assert page.execute_script("return graphView.side.names.length") == 10000
    search = page.find_element("id", "search")
    search.send_keys("n9999")
    soon(page, lambda: page.find_element("id", "matches").text == "1 found")
    search.send_keys("\n")
    shows(page, "n9999")
    page.find_element("id", "fit").click()
    # The whole graph is in the picture: its first and last operator too.
    places = page.execute_script("return [0, 9999].map((i) => graphView.screenPosition(i))")
    size = page.find_element("id", "canvas").size
    assert all(0 <= x <= size["width"] and 0 <= y <= size["height"] for x, y in places)
    soon(page, lambda: page.execute_script(DRAWN) > 4)
