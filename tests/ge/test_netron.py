"""Graph dumps open in Netron: operators, attributes and shapes can be seen."""

import glob
import os

import pytest

from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.dump import dump_graph
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.types import DataType, Format

FP32 = TensorDesc([4, 192], Format.FORMAT_ND, DataType.DT_FLOAT)


@pytest.fixture
def dump(tmp_path, monkeypatch):
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path))
    monkeypatch.setenv("DUMP_GE_GRAPH", "1")
    monkeypatch.setenv("DUMP_GRAPH_FORMAT", "onnx")
    made = GraphBuilder("model")
    made.add_op("x", "Data", outputs=[FP32])
    attrs = {"kernel_key": "0123456789abcdef", "op_types": ["Abs", "Exp"]}
    made.add_op("fused", "AutofusedKernel", inputs=[("x", 0)], outputs=[FP32], attrs=attrs)
    made.add_op("product", "MatMulV2", inputs=[("fused", 0)], outputs=[FP32])
    made.add_op("out", "NetOutput", inputs=[("product", 0)])
    dump_graph(made.build(), "AutofuseOptimize_Exit")
    (path,) = glob.glob(os.path.join(str(tmp_path), "*", "*.pbtxt"))
    return path


def test_operators_attributes_and_shapes_are_seen(dump, browser):
    netron = pytest.importorskip("netron")
    from selenium.webdriver.support.wait import WebDriverWait

    address = netron.start(dump, browse=False)
    try:
        browser.get("http://{}:{}".format(*address))
        wait = WebDriverWait(browser, 30)

        def node(title):
            """A node of the picture; Netron asks for consent first."""
            button = browser.find_element("id", "message-button")
            if button.is_displayed():
                button.click()
            found = browser.find_elements("css selector", "#canvas g.node")
            return [item for item in found if title in (item.text or "").split("\n")]

        wait.until(lambda _: node("ge:AutofusedKernel"))
        assert node("ge:MatMulV2")
        node("ge:AutofusedKernel")[0].click()
        sidebar = browser.find_element("id", "sidebar")
        wait.until(lambda _: "0123456789abcdef" in sidebar.text)
        assert "4, 192" in sidebar.text and "Abs, Exp" in sidebar.text
        names = [box.get_attribute("value") for box in
                 sidebar.find_elements("css selector", "input")]  # fmt: skip
        assert {"kernel_key", "op_types"} <= set(names)
    finally:
        netron.stop(address)
