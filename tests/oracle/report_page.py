#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `hone show --html` in a browser: report_page.py HONE

It must draw all of its parts without a complaint, and what a model is called must not become code.
"""
import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

SKIPPED = 77  # as Meson has it
OWNED = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'&\\"
GRAPH = """op clip(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = select(X[i,j] < 0, 0, X[i,j]) }
graph m(x: f32[B,24], const w: f32[24,24]) -> (y) {
  a = matmul(x, w)
  b = clip(a)
  c = matmul(b, w)
  d = add(c, a)
  y = softmax(d)
}
"""
FAILED = []


def python_with_onnx():
    """Goes on by the distribution's Python where it alone may have the module."""
    here, other = os.path.realpath(sys.executable), "/usr/bin/python3"
    if not importlib.util.find_spec("onnx") and os.access(other, os.X_OK) and here != os.path.realpath(other):
        os.execv(other, [other, *sys.argv])


def check(right, what):
    if not right:
        FAILED.append(what)
        print("WRONG", what)


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if shutil.which(name):
            return name
    print("skipped: there is no Chromium here")
    sys.exit(SKIPPED)


def hostile_model(path):
    """A model whose input and output have names that would be code; false without the module onnx."""
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError:
        return False
    node = helper.make_node("Relu", [OWNED], [OWNED + "y"])
    graph = helper.make_graph([node], OWNED, [helper.make_tensor_value_info(OWNED, TensorProto.FLOAT, [4, 8])],
                              [helper.make_tensor_value_info(OWNED + "y", TensorProto.FLOAT, [4, 8])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return True


def drawn(browser, folder, page):
    """The elements of a page once its script has run, and what the browser complains of."""
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--user-data-dir=" + os.path.join(folder, "profile"), "--window-size=1280,1600", "--enable-logging=stderr",
         "--virtual-time-budget=2000", "--dump-dom", "file://" + page],
        capture_output=True, text=True, check=False, timeout=300)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def main():
    python_with_onnx()
    browser = find_browser()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HONE_CACHE": os.path.join(folder, "cache.db")}

        def hone(*words):
            done = subprocess.run([sys.argv[1], *words, "--threads", "1"], capture_output=True, text=True,
                                  check=False, env=environment)
            check(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")

        graph, model = os.path.join(folder, "m.graph"), os.path.join(folder, "hostile.onnx")
        page = os.path.join(folder, "page.html")
        with open(graph, "w", encoding="utf-8") as file:
            file.write(GRAPH)
        hone("tune", graph, "B=8", "--budget", "400ms")
        hone("show", graph, "B=8", "--html", page)
        text, complaints = drawn(browser, folder, page)
        check(not complaints, complaints)
        for label in ("kernels and what they read", "roofline", "memory by step", "a search"):
            check(f'aria-label="{label}"' in text, f"no drawing of {label}")
        kernels = len(re.findall(r'class="unit( chosen)?"', text))
        check(kernels >= 2 and len(re.findall(r'class="edge', text)) >= kernels + 1, "boxes or lines are missing")
        check(len(re.findall(r"<tr[ >]", text)) == kernels + 1, "the table has other rows than kernels")
        computing = sum(float(n) > 0 for n in re.findall(r'"operations":([0-9.e+]+)', text))
        check(computing >= 2 and len(re.findall(r'class="dot', text)) == computing,
              "the roofline has other dots than kernels that compute")
        check(len(re.findall(r'class="tensor', text)) >= 1, "no tensor is drawn")
        check("NaN" not in text and "undefined" not in text, "something is no number, or has no value")
        if hostile_model(model):
            hone("show", model, "--html", page)
            text, complaints = drawn(browser, folder, page)
            check(not complaints, complaints)
            check("<title>hone: hostile.onnx</title>" in text, "the title is not the page's own")
            check("<img" not in text.split('<script id="data"')[0], "a name became an element")
            check(html.escape(OWNED, quote=False)[:16] in text, "the name is not shown")
    print(f"{len(FAILED)} of the page's checks failed")
    sys.exit(1 if FAILED else 0)


main()
