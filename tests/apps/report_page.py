#!/usr/bin/env python3
"""Opens a report page (apps/fodp/report) in headless Chromium and checks that it shows what its data says.

    report_page.py FILE.html [--screenshots DIR]

It works with any report: what must be on the page is read from the object `report` inside the file. It prints what is wrong and exits with
1, or prints one line of counts and exits with 0. With --screenshots it also leaves pictures of the page and its print there. It needs
Debian's packages chromium, chromium-driver and python3-selenium.
"""
import argparse
import base64
import json
import math
import pathlib
import re
import shutil
import sys

from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WIDE, NARROW = 1280, 390
SECONDS = 20  # the longest wait for anything to happen; a machine that is busy with other work is slow

# Whether the page has loaded and every panel of the data has a chart with a size.
DRAWN = """
const panels = report.sections.flatMap(({figures}) => figures.flatMap(({panels}) => panels));
return document.readyState === 'complete' && window.fodpCharts?.length === panels.length && fodpCharts.every(({chart}) => chart.width > 0);
"""

# What the charts show: for each panel its figure, its title, and for each series its name, whether it is visible, and its points.
SHOWN = """
return fodpCharts.map(({figure, panel, chart}) => ({
  figure: figure.name, panel: panel.title,
  series: chart.data.datasets.map((dataset, i) => ({
    name: dataset.label, visible: chart.isDatasetVisible(i),
    points: dataset.data.map(({x, y, low, high}) => [x, y, low ?? null, high ?? null])}))}));
"""

# Every place where a page may name something to load, apart from the texts of its scripts, which the policy and the list of requests cover.
ADDRESSES = """
const found = [...document.querySelectorAll('[src], [href], [srcset], [action], [poster], [data]')].flatMap(
  (element) => ['src', 'href', 'srcset', 'action', 'poster', 'data'].map((name) => element.getAttribute(name)));
const styles = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join(' ');
const inline = [...document.querySelectorAll('[style]')].map((element) => element.getAttribute('style')).join(' ');
return found.concat((styles + inline).match(/url\\([^)]*\\)|@import[^;]*/g)).filter(Boolean);
"""

# How many different colours the canvas of each chart has; a blank one has a single colour. The pixels are read from a copy, because
# Chromium warns in the console about pixels that are read from a canvas which is also drawn on.
COLOURS = """
return fodpCharts.map(({chart: {canvas}}) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  return new Set(new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
});
"""

BRIGHTNESS = """
const parts = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3);
return parts.reduce((sum, part) => sum + Number(part), 0) / (3 * 255);
"""


class Page:
    """The page in a browser, with the list of what was found to be wrong."""

    def __init__(self, file):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={WIDE},1000"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver") or "/usr/bin/chromedriver"), options=options)
        self.address = pathlib.Path(file).resolve().as_uri()
        self.problems = []
        self.checks = 0
        self.patience = SECONDS

    def expect(self, holds, what):
        self.checks += 1
        if not holds:
            self.problems.append(what)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def becomes(self, script, *arguments):
        """What a script gives as soon as that is true; False if it does not come to be. After one wait in vain the next ones are short."""
        try:
            return WebDriverWait(self.driver, self.patience, 0.05).until(lambda _: self.run(script, *arguments))
        except TimeoutException:
            self.patience = 1
            return False

    def find(self, selector, within=None):
        return (within or self.driver).find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector, within=None):
        script = "return [...(arguments[1] ?? document).querySelectorAll(arguments[0])].map((one) => one.textContent)"
        return self.run(script, selector, within)

    def click(self, element):
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.driver, duration=0).click(element).perform()

    def open(self, width, theme):
        """Loads the page for a screen of some width, with the theme that the system prefers."""
        screen = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
        self.driver.get(self.address)
        drawn = self.becomes(DRAWN)
        self.expect(drawn, f"the charts of the data are not all drawn, at width {width}")
        return bool(drawn)

    def check_logs(self):
        """Nothing may be in the console, and the browser may not have asked for anything but the file."""
        for entry in self.driver.get_log("browser"):
            self.expect(entry["level"] not in ("SEVERE", "WARNING"), f"console: {entry['level']}: {entry['message']}")
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.expect(url.startswith("data:") or url.split("#")[0] == self.address, f"the page asks for {url}")


def expected_series(figure, panel, key):
    """The series of a panel as SHOWN gives them, over the horizontal axis `key`."""
    values = [point.get(key) for one in figure["panels"] for series in one["series"] for point in series["points"]]
    names = figure["kind"] == "bar" or any(isinstance(value, str) for value in values)

    def shown(point):
        x = point.get(key)
        return [str(x) if names and x is not None else x, None if x is None else point.get("mean"), point.get("low"), point.get("high")]

    return [(series["name"], [shown(point) for point in series["points"]]) for series in panel["series"]]


def check_texts(page, report):
    """Every text of the data is on the page, in an element of its kind, as it is written."""

    def same(what, found, wanted):
        page.expect(found == wanted, f"{what}: the page has {found!r}, the data {wanted!r}")

    same("title", page.texts("h1"), [report["title"]])
    same("made", page.texts("#made"), [report["made"]])
    same("notes", page.texts("#notes p"), report["notes"])
    sections = page.find("main > section")
    same("number of sections", len(sections), len(report["sections"]))
    same("contents", page.texts("nav a"), [section["title"] for section in report["sections"]] if len(report["sections"]) > 1 else [])
    for element, section in zip(sections, report["sections"]):
        name = section["name"]
        same(f"{name}: title", page.texts("h2", element), [section["title"]])
        same(f"{name}: verdicts", page.texts(".badge", element), [one["verdict"] for one in section["verdicts"]])
        for one in section["verdicts"]:
            [shown] = page.texts(".verdicts", element)
            page.expect(one["claim"] in shown and one["numbers"] in shown, f"{name}: the verdict on {one['claim']!r} is not on the page")
        for kind in ["headline", "facts", "settings"]:
            pairs = list(zip(page.texts(f".{kind} dt", element), page.texts(f".{kind} dd", element)))
            same(f"{name}: {kind}", pairs, [tuple(pair) for pair in section.get(kind, [])])
        same(f"{name}: warnings", page.texts(".warning", element), section.get("warnings", []))
        code = [section.get("statement"), section.get("file"), section.get("repeat")]
        same(f"{name}: statement, file and command", page.texts("pre", element), [text for text in code if text])
        tables = page.find("table", element)
        same(f"{name}: number of tables", len(tables), len(section["tables"]))
        for shown, table in zip(tables, section["tables"]):
            same(f"{table['name']}: columns", page.texts("th", shown), [column["title"] for column in table["columns"]])
            same(f"{table['name']}: cells", page.texts("td", shown), [cell or "" for row in table["rows"] for cell in row])
    same("number of scripts", len(page.find("script")), 4)  # a name that is read as HTML could bring another


def check_series(page, figures, keys, what):
    """Every panel shows every series with its values. `keys` has the horizontal axis of each figure."""
    shown = page.run(SHOWN)
    wanted = [(figure, panel, key) for figure, key in zip(figures, keys) for panel in figure["panels"]]
    page.expect(len(shown) == len(wanted), f"{what}: {len(shown)} panels are drawn, {len(wanted)} are in the data")
    for one, (figure, panel, key) in zip(shown, wanted):
        place = f"{what}: {figure['name']}, {panel['title']!r}"
        page.expect((one["figure"], one["panel"]) == (figure["name"], panel["title"]), f"{place}: another panel is in its place")
        found = [(series["name"], series["points"]) for series in one["series"]]
        page.expect(found == expected_series(figure, panel, key), f"{place}: other series or values over {key} than in the data")


def visible(page, figure_index, report_figures):
    """For each panel of a figure, the names of the series that are visible."""
    first = sum(len(figure["panels"]) for figure in report_figures[:figure_index])
    panels = page.run(SHOWN)[first:first + len(report_figures[figure_index]["panels"])]
    return [[series["name"] for series in panel["series"] if series["visible"]] for panel in panels]


def check_legend(page, element, index, figures):
    """A click on a name hides its series in all panels and another brings it back; a double click shows it alone."""
    figure = figures[index]
    everything = [[series["name"] for series in panel["series"]] for panel in figure["panels"]]
    names = list(dict.fromkeys(name for panel in everything for name in panel))
    buttons = page.find("button[aria-pressed]", element)
    page.expect(page.texts("button[aria-pressed]", element) == names, f"{figure['name']}: the legend has other names")
    for name, button in zip(names, buttons):
        for pressed, wanted in [("false", [[one for one in panel if one != name] for panel in everything]), ("true", everything)]:
            page.click(button)
            page.expect(visible(page, index, figures) == wanted, f"{figure['name']}: a click on {name!r} leaves other series visible")
            page.expect(button.get_attribute("aria-pressed") == pressed, f"{figure['name']}: aria-pressed of {name!r} is not {pressed}")
    if len(names) > 1:
        ActionChains(page.driver, duration=0).double_click(buttons[0]).perform()
        alone = [[one for one in panel if one == names[0]] for panel in everything]
        page.expect(visible(page, index, figures) == alone, f"{figure['name']}: a double click on {names[0]!r} does not show it alone")
        page.click(page.find(".all-or-none button", element)[0])
        page.expect(visible(page, index, figures) == everything, f"{figure['name']}: not all series come back")


def check_axes(page, elements, figures):
    """Each figure's own switch, and the one at the top, change the horizontal values and nothing else."""
    keys = [figure["x"][0]["key"] for figure in figures]
    check_series(page, figures, keys, "at first")
    for i, (element, figure) in enumerate(zip(elements, figures)):
        radios = page.find("input[type=radio]", element)
        choices = len(figure["x"]) if len(figure["x"]) > 1 else 0
        page.expect(len(radios) == choices, f"{figure['name']}: {len(radios)} horizontal axes to choose from, not {choices}")
        for radio, axis in reversed(list(zip(radios, figure["x"]))):
            page.click(radio)
            keys[i] = axis["key"]
            check_series(page, figures, keys, f"after {axis['key']} was chosen for {figure['name']}")
    common = page.find("#axis input[type=radio]")
    wanted = {axis["key"] for figure in figures if len(figure["x"]) > 1 for axis in figure["x"]}
    page.expect({radio.get_attribute("value") for radio in common} == wanted, "the switch at the top has other axes")
    for radio in reversed(common):
        page.click(radio)
        key = radio.get_attribute("value")
        keys = [key if len(figure["x"]) > 1 and key in [axis["key"] for axis in figure["x"]] else old for figure, old in zip(figures, keys)]
        check_series(page, figures, keys, f"after {key} was chosen for all figures")


def check_tooltip(page, chart_index, figure, panel):
    """The mouse over the middle point of a panel's first series with values brings a tooltip with a name and the values of that point."""
    spot = page.run("""
        const {chart} = fodpCharts[arguments[0]];
        for (const meta of chart.getSortedVisibleDatasetMetas()) {
          const data = chart.data.datasets[meta.index].data;
          const usable = meta.data.filter((point, i) => Number.isFinite(data[i].y) && Number.isFinite(point.x));
          const point = usable[Math.floor(usable.length / 2)];
          if (point) return {canvas: chart.canvas, x: point.x - chart.width / 2, y: point.y - chart.height / 2};
        }""", chart_index)
    if spot is None:
        return
    page.run("arguments[0].scrollIntoView({block: 'center'})", spot["canvas"])
    ActionChains(page.driver, duration=0).move_to_element_with_offset(spot["canvas"], round(spot["x"]), round(spot["y"])).perform()
    tip = page.becomes("""
        const {chart} = fodpCharts[arguments[0]], {tooltip} = chart;
        return tooltip.opacity > 0 && tooltip.dataPoints?.length ? {
          lines: [...tooltip.title, ...tooltip.body.flatMap(({before, lines, after}) => [...before, ...lines, ...after])],
          series: tooltip.dataPoints[0].datasetIndex, point: tooltip.dataPoints[0].dataIndex} : null;""", chart_index)
    place = f"{figure['name']}, {panel['title']!r}"
    page.expect(tip, f"{place}: no tooltip")
    if not tip:
        return
    series = panel["series"][tip["series"]]
    point = series["points"][tip["point"]]
    text = "\n".join(tip["lines"])
    page.expect(series["name"][:39] in text, f"{place}: the tooltip {text!r} does not name {series['name']!r}")
    numbers = [float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)]
    values = [point[figure["x"][0]["key"]], point["mean"]]
    if point.get("low") is not None and point.get("high") is not None:
        values += [point["low"], point["high"]]
    for value in values:
        found = value in text if isinstance(value, str) else any(math.isclose(value, number, rel_tol=1e-3) for number in numbers)
        page.expect(found, f"{place}: the tooltip {text!r} lacks {value}")


def check_themes(page):
    """The page follows the system, the button changes that, the choice is remembered, and charts are drawn in both themes."""

    def check(theme, what):
        page.expect((page.run(BRIGHTNESS) > 0.5) == (theme == "light"), f"{what}: the page is not {theme}")
        for i, colours in enumerate(page.run(COLOURS)):
            page.expect(colours > 10, f"{what}: chart {i + 1} is blank")

    page.open(WIDE, "light")
    check("light", "light system")
    page.open(WIDE, "dark")
    check("dark", "dark system")
    page.click(page.find("#theme")[0])
    check("light", "after the button")
    page.open(WIDE, "dark")
    check("light", "loaded again after the button")
    page.run("localStorage.clear()")


def check_print(page):
    """While the page is printed everything is unfolded and light; afterwards it is as before. Returns the PDF."""
    page.open(WIDE, "dark")
    page.run("""
        addEventListener('beforeprint', () => {
          window.printed = {folded: document.querySelectorAll('details:not([open])').length, theme: document.documentElement.dataset.theme};
        });""")
    folded = len(page.find("details:not([open])"))
    pdf = base64.b64decode(page.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})["data"])
    page.expect(page.run("return window.printed") == {"folded": 0, "theme": "light"}, "on paper something is folded or dark")
    page.expect(page.becomes("return document.documentElement.dataset.theme === 'dark'"), "the page stays light after it was printed")
    page.expect(len(page.find("details:not([open])")) == folded, "the page stays unfolded after it was printed")
    return pdf


def check_width(page):
    page.open(NARROW, "light")
    for details in page.find("details:not([open])"):
        page.run("arguments[0].open = true", details)
    width = page.run("return document.documentElement.scrollWidth")
    page.expect(width <= NARROW, f"the page is {width} pixels wide on a screen of {NARROW}")


def screenshot(page, width, theme, file):
    page.open(width, theme)
    height = page.run("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    picture = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    file.write_bytes(base64.b64decode(picture["data"]))


def check(page, screenshots):
    if not page.open(WIDE, "light"):
        return ""
    report = page.run("return report")
    figures = [figure for section in report["sections"] for figure in section["figures"]]
    elements = page.find("figure")
    page.expect(len(elements) == len(figures), f"{len(elements)} figures are on the page, {len(figures)} in the data")
    check_texts(page, report)
    for i, element in enumerate(elements):
        check_legend(page, element, i, figures)
    for i, (figure, panel) in enumerate((figure, panel) for figure in figures for panel in figure["panels"]):
        check_tooltip(page, i, figure, panel)
    check_axes(page, elements, figures)
    for address in page.run(ADDRESSES):
        page.expect(not re.search(r"https?:|//", address), f"the page refers to {address}")
    check_themes(page)
    check_width(page)
    pdf = check_print(page)
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
        for width, theme in [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")]:
            screenshot(page, width, theme, screenshots / f"{theme}-{width}.png")
        (screenshots / "print.pdf").write_bytes(pdf)
    panels = [panel for figure in figures for panel in figure["panels"]]
    series = sum(len(panel["series"]) for panel in panels)
    return f"{len(report['sections'])} sections, {len(figures)} figures, {len(panels)} panels, {series} series"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    page = Page(arguments.file)
    try:
        summary = check(page, arguments.screenshots)
        page.check_logs()
    except WebDriverException as error:
        page.problems.append(f"the checks came to an end too soon: {error.msg}")
        page.check_logs()
    finally:
        page.driver.quit()
    if page.problems:
        print("\n".join(dict.fromkeys(page.problems)))
        sys.exit(1)
    print(f"{summary}: {page.checks} checks hold")


if __name__ == "__main__":
    main()
