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
        browser.get_log("browser")
        browser.get(path.as_uri())
        assert browser.execute_script("return document.documentElement.dataset.ready") == "yes"
        return browser

    return open_


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


def test_search_clicks_and_tables(opened):
    page = opened(small())
    assert len(page.find_elements("css selector", "#warnings .warning")) == 2
    assert page.execute_script(DRAWN) > 4 and detail(page) is None

    click_node(page, "a")
    assert "Abs" in detail(page) and "Fused into" in detail(page) and KERNEL in detail(page)
    click_node(page, "m")
    assert "OP_UNKNOWN" in detail(page) and "Reads" in detail(page)

    page.find_element("id", "side-after").click()
    assert page.execute_script("return graphView.side.names") == ["x", "f", "m"]
    click_node(page, "f")
    page.find_element("css selector", "#detail .link").click()
    more = page.find_element("css selector", "tr.kernel.open + tr.more")
    assert HOSTILE in more.text and "tile 1 x 512" in more.text

    search = page.find_element("id", "search")
    search.send_keys("matmul")
    assert page.find_element("id", "matches").text == "1 found"
    search.send_keys("\n")
    assert page.find_element("id", "matches").text == "1 of 1" and "MatMul" in detail(page)

    group = page.find_elements("css selector", "details.group summary")[1]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", group)
    group.click()
    from selenium.webdriver.support.wait import WebDriverWait

    table = WebDriverWait(page, 10).until(
        lambda page: page.find_elements("css selector", "details.group table")
    )
    assert "r" + HOSTILE in table[0].text
    assert page.execute_script("return window.broken") is None
    assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


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
    assert rows() == [second["name"], KERNEL]
    page.find_element("id", "kernel-filter").send_keys("log")
    assert rows() == [second["name"]]
    before = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    page.find_element("id", "theme").click()
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") != before


def test_ten_thousand_operators(opened):
    page = opened(long(10000))
    assert page.execute_script("return graphView.side.names.length") == 10000
    search = page.find_element("id", "search")
    search.send_keys("n9999")
    assert page.find_element("id", "matches").text == "1 found"
    search.send_keys("\n")
    assert "n9999" in detail(page)
    page.find_element("id", "fit").click()
    # The whole graph is in the picture: its first and last operator too.
    places = page.execute_script("return [0, 9999].map((i) => graphView.screenPosition(i))")
    size = page.find_element("id", "canvas").size
    assert all(0 <= x <= size["width"] and 0 <= y <= size["height"] for x, y in places)
    assert page.execute_script(DRAWN) > 4
