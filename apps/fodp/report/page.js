// The script of a report page. It builds the whole page from the object `report`, which `fodp report` writes into the file, and draws the
// figures with Chart.js. Texts come from users' files, so every one becomes a text node and none is read as HTML.

// Each figure on the page, with what the reader has chosen for it: {figure, styles, axis, hidden, charts, buttons, radios}. `axis` is an
// entry of figure.x, `hidden` the set of the names of series that are switched off.
const views = [];

window.fodpCharts = [];  // for tests: {figure, panel, chart}, one entry for each panel, in the order of the page

const colours = 8;  // --series-0 to --series-7 in page.css
const dashes = [[], [7, 4], [2, 3]];
const shapes = ["circle", "rect", "triangle", "rectRot"];

// An element with attributes and children. A child is an element, or a text; null and undefined are left out.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const paragraph = (name, text) => (text ? element("p", { class: name }, text) : null);

function button(name, content, action) {
  const made = element("button", { type: "button", class: name }, content);
  made.addEventListener("click", action);
  return made;
}

// A value with at least four significant digits. Digits before the point are never rounded away.
function number_text(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  if (Math.abs(value) < 1e-4) return value.toExponential(3);
  return value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
}

// The numbers along an axis, short but different from one another: 0.25, 2,000, 150K, 1e-5.
function tick_text(value, index, ticks) {
  const [low, high] = extent(ticks.map((tick) => tick.value));
  const largest = Math.max(-low, high);
  const digits = Math.floor(Math.log10(largest)) - Math.floor(Math.log10((high - low) / (ticks.length - 1)) + 1e-9) + 1 || 3;
  if ((largest < 1e-4 || largest >= 1e15) && value !== 0) return Number(value.toPrecision(Math.min(digits, 15))).toExponential();
  if (largest < 1e5 || digits > 4) return Chart.Ticks.formatters.numeric.call(this, value, index, ticks);
  return Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: digits }).format(value);
}

const shortened = (text) => (text.length > 40 ? text.slice(0, 39) + "…" : text);
const css_value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

// The style of each series of a section, by name, so that a method looks the same in all of its figures. Past eight series the colours
// begin again, with another dash and another shape.
function section_styles(section) {
  const style = (i, round) => ({ colour: `--series-${i % colours}`, dash: round % dashes.length, shape: (i + round) % shapes.length });
  const names = new Set(section.figures.flatMap(series_names));
  return new Map([...names].map((name, i) => [name, style(i, Math.floor(i / colours))]));
}

const series_names = ({ panels }) => [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))];

// ---- Charts

const all_points = (panels) => panels.flatMap(({ series }) => series.flatMap(({ points }) => points));
const x_values = ({ panels }, { key }) => all_points(panels).map((point) => point[key] ?? null).filter((x) => x !== null);

// The names along a horizontal axis that has names, the same for all panels; null for an axis of numbers.
function categories(figure, axis) {
  const values = [...new Set(x_values(figure, axis))];
  return figure.kind === "bar" || values.some((value) => typeof value === "string") ? values.map(String) : null;
}

// A series as Chart.js has it. A point keeps its interval as low and high, which the plugin below draws.
function dataset(view, series, names) {
  const { colour, dash, shape } = view.styles.get(series.name);
  const { kind } = view.figure;
  const points = series.points.map((point) => {
    const x = point[view.axis.key] ?? null;
    return { ...point, x: names && x !== null ? String(x) : x, y: x === null ? null : point.mean ?? null };
  });
  const radii = points.map((_, i) => (Number.isFinite(points[i - 1]?.y) || Number.isFinite(points[i + 1]?.y) ? 0 : 3));
  const paint = css_value(colour);
  return {
    label: series.name, data: points, hidden: view.hidden.has(series.name), maxBarThickness: 48, categoryPercentage: 0.55,
    borderColor: paint, backgroundColor: kind === "bar" ? `color-mix(in srgb, ${paint} 80%, ${css_value("--page")})` : paint,
    hoverBackgroundColor: paint, borderDash: dashes[dash], borderWidth: { line: 2, points: 1, bar: 0 }[kind],
    pointStyle: shapes[shape], pointHoverRadius: kind === "points" ? 6 : 4,
    pointRadius: kind === "points" ? 4.5 : radii.some(Boolean) ? radii : 0,  // one number is much faster than a list
  };
}

// The least and the largest value that the visible series of some panels reach, intervals included.
function value_range(view, panels) {
  const shown = panels.map(({ series }) => ({ series: series.filter(({ name }) => !view.hidden.has(name)) }));
  const values = all_points(shown).filter(({ mean }) => Number.isFinite(mean)).flatMap(({ mean, low, high }) => [mean, low, high]);
  if (view.figure.kind === "bar") values.push(0);
  return extent(values.filter(Number.isFinite));
}

// The vertical range of a panel. The panels of a figure share one, so that they can be compared, unless that would squeeze each of them
// into less than a third of its height.
function panel_range(view, panel) {
  const together = value_range(view, view.figure.panels);
  const widest = Math.max(...view.figure.panels.map((one) => value_range(view, [one])).map(([low, high]) => high - low));
  const [suggestedMin, suggestedMax] = together[1] - together[0] <= 3 * widest ? together : value_range(view, [panel]);
  return Number.isFinite(suggestedMin) ? { suggestedMin, suggestedMax } : {};
}

// Where the horizontal axis ends: at the last value of any panel, so that the panels can be compared, with some room for a marker.
function right_end(view) {
  const [first, last] = extent(x_values(view.figure, view.axis));
  return first < last ? last + (view.figure.kind === "points" ? 0.04 * (last - first) : 0) : undefined;
}

// A logarithmic horizontal axis with a mark at each value that has a point.
function log_scale(view) {
  const values = [...new Set(x_values(view.figure, view.axis))].sort((a, b) => a - b);
  const afterBuildTicks = (axis) => { axis.ticks = values.map((value) => ({ value })); };
  return { type: "logarithmic", min: values[0] / 1.1, max: values.at(-1) * 1.1, afterBuildTicks };
}

function axis_options(text, scale, ticks, grid) {
  const color = css_value("--muted");
  return {
    ...scale,
    title: { display: true, text, color, font: { size: 12 }, padding: 3 },
    ticks: { color, padding: 6, font: { size: 11.5 }, ...ticks },
    grid: { color: css_value("--grid"), borderColor: css_value("--rule"), drawTicks: false, ...grid },
  };
}

function tooltip_options(view) {
  return {
    backgroundColor: css_value("--tip"), titleColor: css_value("--tip-ink"), bodyColor: css_value("--tip-ink"),
    padding: 10, cornerRadius: 6, caretSize: 5, boxWidth: 9, boxHeight: 9, boxPadding: 5, titleFont: { weight: "normal" },
    caretPadding: 8, yAlign: ({ chart, tooltipItems }) => (tooltipItems[0]?.element.y < chart.height / 2 ? "top" : "bottom"),
    callbacks: {
      title: (items) => `${view.axis.label}: ${number_text(items[0].raw.x)}`,
      label: (item) => shortened(item.dataset.label),
      afterLabel: ({ raw }) => [`mean ${number_text(raw.y)}`]
        .concat(Number.isFinite(raw.low) && Number.isFinite(raw.high) ? `low ${number_text(raw.low)}, high ${number_text(raw.high)}` : []),
      labelColor: ({ dataset }) => ({ borderColor: dataset.borderColor, backgroundColor: dataset.borderColor }),
    },
  };
}

// What Chart.js is given for a panel: {data, options}.
function chart_content(view, panel) {
  const names = categories(view.figure, view.axis);
  const numbers = { callback: tick_text, includeBounds: false, maxRotation: 0, maxTicksLimit: 7 };
  const x_scale = names ? { type: "category", offset: true } : view.figure.log_x ? log_scale(view) : { type: "linear", max: right_end(view) };
  const x_ticks = names ? { autoSkip: false, maxRotation: 50 } : view.figure.log_x ? { ...numbers, callback: String, autoSkip: false } : numbers;
  const options = {
    animation: false, maintainAspectRatio: false, locale: "en", layout: { padding: { top: 6, right: 8 } },
    devicePixelRatio: Math.max(2, window.devicePixelRatio),  // sharp on paper too
    interaction: { mode: "nearest", axis: "xy", intersect: false },
    plugins: { legend: { display: false }, tooltip: tooltip_options(view), intervals: { kind: view.figure.kind } },
    scales: {
      x: axis_options(view.axis.label, x_scale, x_ticks, { display: false }),
      y: axis_options(view.figure.y_label, panel.log_y ? { type: "logarithmic" } : panel_range(view, panel), numbers, {}),
    },
  };
  return { data: { labels: names ?? [], datasets: panel.series.map((series) => dataset(view, series, names)) }, options };
}

// ---- Intervals: a band along lines, a bar with ends at points and bars

// The stretches of a series in which every point has an interval, as lists of {x, low, high} in pixels.
function stretches(chart, meta) {
  const found = [[]];
  meta.data.forEach((drawn, i) => {
    const { y, low, high } = chart.data.datasets[meta.index].data[i];
    const scale = chart.scales.y;
    if (![y, low, high, drawn.x].every(Number.isFinite)) found.push([]);
    else found.at(-1).push({ x: drawn.x, low: scale.getPixelForValue(low), high: scale.getPixelForValue(high) });
  });
  return found.filter((stretch) => stretch.length);
}

function draw_band(context, stretch, colour) {
  context.beginPath();
  for (const { x, high } of stretch) context.lineTo(x, high);
  for (const { x, low } of stretch.toReversed()) context.lineTo(x, low);
  context.fillStyle = colour + "24";
  context.fill();
}

function draw_error_bar(context, { x, low, high }, colour) {
  const path = new Path2D(`M ${x} ${low} V ${high} M ${x - 4} ${low} h 8 M ${x - 4} ${high} h 8`);
  Object.assign(context, { strokeStyle: colour, lineWidth: 1.5 });
  if (low !== high) context.stroke(path);
}

// Bands lie behind the lines and error bars in front of them, so this is called once for each.
function draw_intervals(chart, kind, bands) {
  const { ctx } = chart;
  ctx.save();
  for (const meta of chart.getSortedVisibleDatasetMetas()) {
    const colour = kind === "bar" ? css_value("--ink") : chart.data.datasets[meta.index].borderColor;
    for (const stretch of stretches(chart, meta)) {
      const as_band = kind === "line" && stretch.length > 1;
      if (as_band && bands) draw_band(ctx, stretch, colour);
      if (!as_band && !bands) stretch.forEach((point) => draw_error_bar(ctx, point, colour));
    }
  }
  ctx.restore();
}

const intervals = {
  id: "intervals",
  beforeDatasetsDraw: (chart, _, { kind }) => draw_intervals(chart, kind, true),
  afterDatasetsDraw: (chart, _, { kind }) => draw_intervals(chart, kind, false),
};

// ---- Figures

// Draws a figure anew after a choice of the reader or a change of colours.
function refresh(view) {
  view.charts.forEach((chart, i) => {
    Object.assign(chart, chart_content(view, view.figure.panels[i]));
    chart.update();
  });
  mark_choices(view);
}

function mark_choices(view) {
  for (const [name, made] of view.buttons) made.setAttribute("aria-pressed", String(!view.hidden.has(name)));
  for (const [key, radio] of view.radios) radio.checked = key === view.axis.key;
}

function hide(view, names) {
  view.hidden = new Set(names);
  refresh(view);
}

// A click switches a series off or on; a double click shows it alone.
function legend_button(view, name, names) {
  const { colour, dash, shape } = view.styles.get(name);
  const swatch = element("span", { class: `swatch ${view.figure.kind} dash-${dash} shape-${shape}`, "aria-hidden": "true" });
  const toggle = () => hide(view, view.hidden.has(name) ? [...view.hidden].filter((other) => other !== name) : [...view.hidden, name]);
  const made = button("key", [swatch, element("span", {}, name)], toggle);
  made.title = "Click to hide or show, double-click to show alone";
  made.style.setProperty("--series", `var(${colour})`);
  made.addEventListener("dblclick", () => hide(view, names.filter((other) => other !== name)));
  view.buttons.set(name, made);
  return made;
}

function legend(view) {
  const names = series_names(view.figure);
  const choice = (text, hidden) => button("plain", text, () => hide(view, hidden));
  return element("div", { class: "keys", role: "group", "aria-label": `Series of ${view.figure.title}` },
    element("div", {}, names.map((name) => legend_button(view, name, names))),
    names.length > 1 ? element("div", { class: "all-or-none" }, choice("Show all", []), choice("Hide all", names)) : null);
}

// Radio buttons for the horizontal axis. `axes` is a list of {key, label}; `radios` gets each radio button under its key.
function axis_switch(title, axes, radios, choose) {
  const name = `${title} ${views.length}`;
  const options = axes.map(({ key, label }) => {
    const radio = element("input", { type: "radio", name, value: key });
    radio.addEventListener("change", () => choose(key));
    radios.set(key, radio);
    return element("label", {}, radio, element("span", {}, label));
  });
  return element("div", { class: "switch", role: "radiogroup", "aria-label": title },
    element("span", { class: "switch-title" }, title), element("span", { class: "switch-options" }, options));
}

function choose_axis(view, key) {
  view.axis = view.figure.x.find((axis) => axis.key === key) ?? view.axis;
  refresh(view);
  show_common_axis();
}

function panel_element(view, panel) {
  const { figure } = view;
  const title = [figure.title, panel.title].filter(Boolean).join(", ");
  const canvas = element("canvas", { role: "img", "aria-label": `${title}: ${panel.series.map((series) => series.name).join(", ")}` });
  const chart = new Chart(canvas, { type: figure.kind === "bar" ? "bar" : "line", ...chart_content(view, panel), plugins: [intervals] });
  view.charts.push(chart);
  window.fodpCharts.push({ figure, panel, chart });
  return element("div", { class: "panel" }, panel.title ? element("h4", {}, panel.title) : null, element("div", { class: "plot" }, canvas));
}

function figure_element(figure, styles) {
  const view = { figure, styles, axis: figure.x[0], hidden: new Set(), charts: [], buttons: new Map(), radios: new Map() };
  views.push(view);
  const choice = figure.x.length > 1 ? axis_switch("Horizontal axis", figure.x, view.radios, (key) => choose_axis(view, key)) : null;
  const count = figure.panels.length;
  const panels = element("div", { class: `panels columns-${count === 1 ? 1 : count === 2 || count === 4 ? 2 : 3}` },
    figure.panels.map((panel) => panel_element(view, panel)));
  const keys = count ? legend(view) : paragraph("note", "There are no values to draw.");
  mark_choices(view);
  return element("figure", {},
    element("div", { class: "figure-head" }, element("h3", {}, figure.title), choice),
    keys,
    panels,
    figure.note ? element("figcaption", { class: "note" }, figure.note) : null);
}

// ---- The switch at the top, for all figures that have the axis

const common_radios = new Map();
const with_choice = () => views.filter(({ figure }) => figure.x.length > 1);

function common_switch() {
  const axes = with_choice().flatMap(({ figure }) => figure.x);
  const distinct = axes.filter(({ key }, i) => axes.findIndex((axis) => axis.key === key) === i);
  const choose = (key) => with_choice().forEach((view) => choose_axis(view, key));
  return distinct.length ? axis_switch("Horizontal axis of all figures", distinct, common_radios, choose) : null;
}

// Marks the axis that all figures with a choice show; none if they differ.
function show_common_axis() {
  const same = (key) => with_choice().every(({ axis }) => axis.key === key);
  for (const [key, radio] of common_radios) radio.checked = same(key);
}

// ---- Sections

// A verdict other than these two is one that leaves the claim open.
const verdict_class = (verdict) => new Map([["holds", "good"], ["does not hold", "bad"]]).get(verdict) ?? "open";

function verdict_element({ claim, source, verdict, numbers }) {
  return element("li", {},
    element("span", { class: `badge ${verdict_class(verdict)}` }, verdict),
    element("div", {}, element("p", { class: "claim" }, claim, source ? element("span", { class: "source" }, source) : null),
      paragraph("numbers", numbers)));
}

// A table in a box of its own that scrolls. A first cell that repeats the one above it is grey, and a new one begins a group.
function table_element({ title, note, columns, rows }) {
  const as_above = (r) => r > 0 && rows[r][0] === rows[r - 1][0];
  const grouped = rows.some((_, r) => as_above(r));
  const looks = (r, i) => [columns[i]?.number && "number", rows[r]?.[i]?.length > 28 && "long", i === 0 && as_above(r) && "repeated"];
  const cell = (tag, text, r, i) => element(tag, { class: looks(r, i).filter(Boolean).join(" ") }, text ?? "");
  return element("div", { class: "table" },
    element("h3", {}, title),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, element("table", {},
      element("thead", {}, element("tr", {}, columns.map((column, i) => cell("th", column.title, -1, i)))),
      element("tbody", {}, rows.map((row, r) =>
        element("tr", { class: grouped && r > 0 && !as_above(r) ? "new-group" : "" }, row.map((text, i) => cell("td", text, r, i))))))),
    rows.length ? null : paragraph("note", "There are no rows."),
    paragraph("note", note));
}

function pairs(list, name) {
  const pair = ([what, value]) => element("div", {}, element("dt", {}, what), element("dd", {}, value));
  return list?.length ? element("dl", { class: name }, list.map(pair)) : null;
}

const code = (text) => (text ? element("pre", { class: "scroll", tabindex: "0" }, text) : null);

const folded = (title, open, content) =>
  content ? element("details", open ? { open: "" } : {}, element("summary", {}, title), content) : null;

function section_element(section, i) {
  const { kind, name, title, asked, source, verdicts, headline, warnings, tables, figures, statement, facts, settings, file, repeat } = section;
  const styles = section_styles(section);
  return element("section", { id: `section-${i}`, class: kind },
    element("p", { class: "kind" }, `${kind} ${name}`),
    element("h2", {}, title),
    paragraph("asked", asked),
    paragraph("source", source),
    pairs(headline, "headline"),
    warnings?.map((warning) => paragraph("warning", warning)),
    verdicts.length ? element("ul", { class: "verdicts" }, verdicts.map(verdict_element)) : null,
    tables.map(table_element),
    figures.map((figure) => figure_element(figure, styles)),
    folded("Privacy statement", true, code(statement)),
    folded("How it was made", true, pairs(facts, "facts")),
    folded("Settings", false, pairs(settings, "settings")),
    folded("The study's file", false, code(file)),
    folded("To repeat it", true, code(repeat)));
}

function contents_entry({ title, kind, verdicts }, i) {
  const kinds = [...new Set(verdicts.map(({ verdict }) => verdict))];
  const count = (one) => verdicts.filter(({ verdict }) => verdict === one).length;
  const tally = kinds.map((verdict) => element("span", { class: verdict_class(verdict) }, `${verdict}: ${count(verdict)}`));
  return element("li", {},
    element("a", { href: `#section-${i}` }, title), element("span", { class: "tally" }, tally.length ? tally : kind));
}

// ---- The page

function fill(id, ...children) {
  document.getElementById(id).append(...children.filter(Boolean));
}

document.title = report.title;
Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
fill("title", report.title);
fill("made", report.made);
fill("notes", ...report.notes.map((note) => paragraph("warning", note)));
fill("sections", ...report.sections.map(section_element));
if (report.sections.length > 1) fill("contents", element("h2", {}, "Contents"), element("ol", {}, report.sections.map(contents_entry)));
fill("axis", common_switch());
show_common_axis();

document.addEventListener("fodp-theme", () => views.forEach(refresh));

// On paper a figure is as wide as the page, or half as wide where it has several panels. The letters in it then keep their size.
window.addEventListener("beforeprint", () => {
  for (const { charts } of views) for (const chart of charts) chart.resize(...(charts.length > 1 ? [330, 250] : [680, 300]));
});
window.addEventListener("afterprint", () => views.forEach(({ charts }) => charts.forEach((chart) => chart.resize())));
