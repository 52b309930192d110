// Draws the charts over time from the page's data, and lets tables be sorted. Texts go in as text only, never as markup.
// UNITS, the units of bytes and of latencies, stands before it.
(() => {
  "use strict";
  const element = document.getElementById("data");
  const data = JSON.parse(element.textContent);
  const times = data.times_s;
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 58, right: 46, top: 18, bottom: 20 };
  const HEIGHT = 170, TALL = 220;
  const FLAG_DIGIT = 8;  // px that a digit of a mark's number takes at most
  const first = times.length ? Math.min(times[0] - data.interval_s, data.levels.length ? data.levels[0].started_s : times[0]) : 0;
  const last = times.length ? times[times.length - 1] : 1;
  const view = { from: Math.max(0, first), to: last, logarithmic: false, width: 0 };
  const whole = { from: view.from, to: view.to };

  // -- figures

  function figure(value) {
    if (value === null || value === undefined) return "–";
    if (value === Math.round(value)) return value.toLocaleString("en-US");
    const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en-US", { minimumFractionDigits: Math.min(digits, 6), maximumFractionDigits: Math.min(digits, 6) });
  }

  function size(value) {
    let unit = 0;
    while (Math.abs(value) >= 999.5 && unit < 4) { value /= UNITS.bytes.base; unit += 1; }
    return figure(Number(value.toPrecision(3))) + " " + UNITS.bytes.names[unit];
  }

  function latency(value) {
    const own = UNITS.latencies.length > 1;  // then each value has its own unit
    const smaller = UNITS.latencies.filter(unit => Math.abs(value) >= 0.9995 * unit[1]);  // as quantities.latency
    const [name, ms] = !own ? UNITS.latencies[0] : value ? smaller[smaller.length - 1] || UNITS.latencies[0] : UNITS.latencies[1];
    return own ? figure(Number((value / ms).toPrecision(3))) + " " + name : figure(Number((value / ms).toPrecision(12)));
  }

  function formatted(value, unit) {
    if (value === null || value === undefined) return "–";
    return unit === "bytes" ? size(value) : unit === "bytes/s" ? size(value) + "/s" : unit === "ms" ? latency(value) : figure(value);
  }

  function clock(seconds) {
    const s = Math.max(0, Math.floor(seconds)), two = n => String(n).padStart(2, "0");
    const h = Math.floor(s / 3600);
    return (h ? h + ":" + two(Math.floor(s % 3600 / 60)) : two(Math.floor(s / 60))) + ":" + two(s % 60);
  }

  // -- axes

  function ticks(top, most, unit) {
    const base = unit.startsWith("bytes") ? UNITS.bytes.base ** Math.max(0, Math.floor(Math.log(Math.max(top, 1)) / Math.log(UNITS.bytes.base))) : 1;
    const raw = top / base / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw * (1 - 1e-9)) * base;
    const count = Math.ceil(top / step - 1e-9);
    return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
  }

  function timeTicks(from, to, most) {
    const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
    const step = steps.find(n => (to - from) / n <= most) || 86400 * Math.ceil((to - from) / 86400 / most);
    const found = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) found.push(t);
    return found;
  }

  function scale(low, high, unit, height, logarithmic) {
    if (logarithmic) {
      const from = Math.floor(Math.log10(Math.max(low, 1e-3))), to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(high, 1e-3))));
      const shown = Array.from({ length: to - from + 1 }, (_, index) => Number((10 ** (from + index)).toPrecision(6)));
      return { ticks: shown, at: value => value <= 0 ? 0 : Math.max(0, (Math.log10(value) - from) / (to - from)) };
    }
    const shown = ticks(high > 0 ? high : 1, Math.max(2, Math.round(height / 45)), unit);
    return { ticks: shown, at: value => value / shown[shown.length - 1] };
  }

  // -- elements

  function make(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  function add(parent, name, kind, text) {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  // -- charts

  const charts = data.charts.map(chart => ({
    ...chart,
    lines: chart.lines.map(line => ({ ...line, values: data.series[line.column], shown: !line.hidden })),
  })).filter(chart => chart.lines.some(line => line.values.some(value => value !== null)));

  const container = document.getElementById("charts"), moment = document.getElementById("moment");

  charts.forEach(chart => {
    const box = add(container, "div", "chart");
    add(box, "h3", "", chart.title);
    const legend = add(box, "span", "legend");
    chart.lines.forEach(line => {
      line.button = add(legend, "button");
      line.button.type = "button";
      line.button.style.setProperty("--color", "var(--series-" + line.color + ")");
      add(line.button, "span", "", line.label);
      line.value = add(line.button, "b");
      const measured = line.values.some(value => value !== null);
      line.button.disabled = !measured;
      if (!measured) { line.shown = false; line.value.textContent = " not measured"; }
      line.button.addEventListener("click", () => { line.shown = !line.shown; draw(); });
    });
    chart.svg = make(box, "svg", { class: "plot", role: "img", "aria-label": chart.title });
    listen(chart);
  });

  function span() {  // indices of what is in view, with one beside it on either side
    let from = times.findIndex(t => t >= view.from);
    if (from < 0) from = times.length;
    let to = from;
    while (to < times.length && times[to] <= view.to) to += 1;
    return [Math.max(0, from - 1), Math.min(times.length, to + 1)];
  }

  const x = t => MARGIN.left + (t - view.from) / (view.to - view.from) * (view.width - MARGIN.left - MARGIN.right);

  function draw() {
    if (!container || !times.length) return;
    view.width = Math.max(320, container.clientWidth);
    document.getElementById("whole").disabled = view.from === whole.from && view.to === whole.to;
    charts.forEach((chart, index) => drawChart(chart, index === 0));
    point(null);
  }

  function drawChart(chart, isFirst) {
    const height = isFirst ? TALL : HEIGHT, svg = chart.svg, [from, to] = span();
    const top = MARGIN.top, bottom = height - MARGIN.bottom, right = view.width - MARGIN.right;
    svg.replaceChildren();
    svg.setAttribute("viewBox", "0 0 " + view.width + " " + height);
    const clip = "clip-" + chart.id;
    make(make(make(svg, "defs", {}), "clipPath", { id: clip }), "rect", { x: MARGIN.left, y: 0, width: right - MARGIN.left, height });
    const inside = make(svg, "g", { "clip-path": "url(#" + clip + ")" });
    drawLevels(inside, top, bottom, isFirst);
    for (const side of [true, false]) {
      const lines = chart.lines.filter(line => line.shown && line.right === side);
      if (!lines.length) continue;
      let low = Infinity, high = -Infinity;
      lines.forEach(line => {
        for (let i = from; i < to; i++) {
          const value = line.values[i];
          if (value === null) continue;
          if (value > high) high = value;
          if (value < low && value > 0) low = value;
        }
      });
      if (high === -Infinity) continue;
      const axis = scale(low === Infinity ? 1 : low, high, chart.unit, bottom - top, chart.logarithmic && view.logarithmic);
      const y = value => bottom - (bottom - top) * axis.at(value);
      axis.ticks.forEach(value => {
        const at = y(value);
        if (!side) make(svg, "line", { class: "grid", x1: MARGIN.left, x2: right, y1: at, y2: at });
        const place = side ? { x: right + 6, "text-anchor": "start" } : { x: MARGIN.left - 6, "text-anchor": "end" };
        const text = formatted(value, chart.unit.replace("bytes/s", "bytes"));
        make(svg, "text", { ...place, y: at + 4 }, text);
      });
      lines.forEach(line => drawLine(inside, line, from, to, y, bottom));
    }
    svg.appendChild(inside);  // above the grid
    timeTicks(view.from, view.to, Math.max(2, Math.floor(view.width / 90))).forEach(t =>
      make(svg, "text", { x: x(t), y: height - 5, "text-anchor": "middle" }, clock(t)));
    drawMarks(inside, top, bottom, isFirst);
    chart.cross = make(inside, "line", { class: "cross", y1: top, y2: bottom, x1: -9, x2: -9 });
    chart.choice = make(inside, "rect", { class: "choice", y: top, height: bottom - top, x: 0, width: 0 });
  }

  function drawLevels(parent, top, bottom, isFirst) {
    data.levels.forEach((level, number) => {
      const left = Math.max(x(level.started_s), MARGIN.left - 1), right = Math.min(x(level.ended_s), view.width - MARGIN.right);
      if (right <= left) return;
      if (number % 2) make(parent, "rect", { class: "band", x: left, y: top, width: right - left, height: bottom - top });
      const settled = level.ramp ? left : Math.min(right, level.settled_s === null ? right : x(level.settled_s));
      if (settled > left) make(parent, "rect", { class: "unsettled", x: left, y: bottom - 4, width: settled - left, height: 4 });
      if (isFirst && right - left > 24) {
        make(parent, "text", { x: (left + right) / 2, y: top - 6, "text-anchor": "middle" }, level.ramp ? "ramp" : figure(level.users));
      }
    });
  }

  function drawLine(parent, line, from, to, y, bottom) {
    const gap = 3 * Math.max(data.interval_s, (last - first) / times.length);
    let path = "", begun = null, before = null, alone = 0, singles = "";
    const close = () => { if (line.right && begun !== null) path += "V" + bottom + "H" + begun.toFixed(1) + "Z"; begun = null; };
    for (let i = from; i < to; i++) {
      const value = line.values[i];
      if (value === null || (before !== null && times[i] - before > gap)) {
        if (alone === 1) singles += dot(i - 1, line, y);
        close();
        alone = 0;
      }
      before = value === null ? null : times[i];
      if (value === null) continue;
      const px = x(times[i]), py = y(value).toFixed(1);
      if (begun === null) path += (line.right ? "M" + px.toFixed(1) + " " + bottom + "V" + py : "M" + px.toFixed(1) + " " + py);
      else path += (line.step ? "H" + px.toFixed(1) + "V" + py : "L" + px.toFixed(1) + " " + py);
      if (begun === null) begun = px;
      alone += 1;
    }
    if (alone === 1) singles += dot(to - 1, line, y);
    close();
    const made = make(parent, "path", { class: line.right ? "area" : "series" + (line.dashed ? " dashed" : ""), d: path });
    made.style.setProperty("--color", "var(--series-" + line.color + ")");
    if (singles) make(parent, "path", { class: "single", d: singles }).style.setProperty("--color", "var(--series-" + line.color + ")");
  }

  function dot(i, line, y) {
    if (line.values[i] === null || line.values[i] === undefined) return "";
    return "M" + (x(times[i]) - 2).toFixed(1) + " " + y(line.values[i]).toFixed(1) + "a2 2 0 1 0 4 0a2 2 0 1 0 -4 0";
  }

  function drawMarks(parent, top, bottom, isFirst) {
    const flags = [];
    data.marks.forEach((mark, index) => {
      const at = x(mark.t_s);
      if (at < MARGIN.left || at > view.width - MARGIN.right) return;
      const group = make(parent, "g", {});
      make(group, "title", {}, clock(mark.t_s) + " " + mark.said);
      make(group, "line", { class: "mark " + mark.kind, x1: at, x2: at, y1: top, y2: bottom });
      if (isFirst) flag(flags, index + 1, at);
    });
    flags.forEach(each => make(parent, "text", { class: "flag", x: (each.from + each.to) / 2, y: top + 10 }, each.text));
  }

  // Adds the number of a mark; numbers that would touch become one text: "3–5".
  function flag(flags, number, at) {
    let added = { first: number, last: number, text: String(number), from: at, to: at };
    const half = each => each.text.length * FLAG_DIGIT / 2, middle = each => (each.from + each.to) / 2;
    for (let before = flags[flags.length - 1]; before && middle(added) - half(added) < middle(before) + half(before) + 3; before = flags[flags.length - 1]) {
      flags.pop();
      added = { first: before.first, last: added.last, text: before.first + "–" + added.last, from: before.from, to: added.to };
    }
    flags.push(added);
  }

  // -- the pointer

  function nearest(t) {
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < t) low = middle + 1; else high = middle;
    }
    return low > 0 && t - times[low - 1] < times[low] - t ? low - 1 : low;
  }

  function point(t) {
    const index = t === null ? null : nearest(t);
    charts.forEach(chart => {
      const at = index === null ? -9 : x(times[index]);
      chart.cross.setAttribute("x1", at);
      chart.cross.setAttribute("x2", at);
      chart.lines.forEach(line => {
        line.button.setAttribute("aria-pressed", String(line.shown));
        if (!line.button.disabled) line.value.textContent = index === null || !line.shown ? "" : " " + formatted(line.values[index], chart.unit);
      });
    });
    moment.classList.toggle("live", index !== null);
    moment.textContent = index === null ? "\u00a0" : place(times[index]);
  }

  function place(t) {
    const level = data.levels.find(each => t > each.started_s && t <= each.ended_s + 0.5);
    if (!level) return clock(t);
    const settled = level.ramp ? "" : level.settled_s !== null && t > level.settled_s ? ", settled" : ", not settled";
    const users = level.ramp ? "a ramp" : figure(level.users) + " users";
    return clock(t) + "   level " + level.index + ": " + users + settled + (level.epoch ? ", epoch " + level.epoch : "");
  }

  function listen(chart) {
    let began = null;
    const time = event => {
      const box = chart.svg.getBoundingClientRect();
      const px = (event.clientX - box.left) * view.width / box.width;
      const share = (px - MARGIN.left) / (view.width - MARGIN.left - MARGIN.right);
      return view.from + Math.min(1, Math.max(0, share)) * (view.to - view.from);
    };
    chart.svg.addEventListener("pointerdown", event => {
      if (event.button === 0 && event.pointerType !== "touch") { began = time(event); chart.svg.setPointerCapture(event.pointerId); }
    });
    chart.svg.addEventListener("pointermove", event => {
      const now = time(event);
      point(now);
      if (began !== null) charts.forEach(each => {
        each.choice.setAttribute("x", Math.min(x(began), x(now)));
        each.choice.setAttribute("width", Math.abs(x(now) - x(began)));
      });
    });
    chart.svg.addEventListener("pointerup", event => {
      const now = time(event), from = began;
      began = null;
      if (from !== null && Math.abs(x(now) - x(from)) > 5) zoom(Math.min(from, now), Math.max(from, now));
      else charts.forEach(each => each.choice.setAttribute("width", 0));
    });
    chart.svg.addEventListener("pointerleave", () => { if (began === null) point(null); });
    chart.svg.addEventListener("dblclick", () => zoom(whole.from, whole.to));
  }

  function zoom(from, to) {
    const least = 4 * data.interval_s;
    if (to - from < least) { const middle = (from + to) / 2; from = middle - least / 2; to = middle + least / 2; }
    view.from = Math.max(whole.from, from);
    view.to = Math.min(whole.to, to);
    draw();
  }

  // -- tables

  document.querySelectorAll("table.sortable th").forEach((head, column) => {
    const place = [...head.parentNode.children].indexOf(head), body = head.closest("table").tBodies[0];
    const original = [...body.rows];
    head.tabIndex = 0;
    const sort = () => {
      const before = head.getAttribute("aria-sort");
      [...head.parentNode.children].forEach(each => each.removeAttribute("aria-sort"));
      if (before === "descending") { body.append(...original); return; }
      const up = before !== "ascending" ? 1 : -1;
      head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
      const key = row => {
        const cell = row.cells[place];
        return cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent === "–" ? null : cell.textContent;
      };
      const rows = [...original].sort((a, b) => {
        const one = key(a), other = key(b);
        if (one === null || other === null) return (one === null) - (other === null);
        return up * (typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other)));
      });
      body.append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
  });

  const twins = (level, bin) => document.querySelectorAll('[data-level="' + Number(level) + '"][data-bin="' + (bin === "" ? "" : Number(bin)) + '"]');
  document.querySelectorAll("[data-level]").forEach(each => {
    const light = on => twins(each.dataset.level, each.dataset.bin).forEach(twin => twin.classList.toggle("on", on));
    each.addEventListener("pointerenter", () => light(true));
    each.addEventListener("pointerleave", () => light(false));
    each.addEventListener("click", () => {
      const level = data.levels.find(found => found.index === Number(each.dataset.level));
      if (!level || !container) return;
      zoom(level.started_s, level.ended_s);
      document.getElementById("time").scrollIntoView({ behavior: "smooth" });
    });
  });

  // -- go

  if (container) {
    if (data.marks.length) {
      const list = add(container, "ol", "marks");
      data.marks.forEach(mark => add(add(list, "li"), "bdi", "", clock(mark.t_s) + " " + mark.said));
    }
    document.getElementById("whole").addEventListener("click", () => zoom(whole.from, whole.to));
    document.getElementById("logarithmic").addEventListener("click", event => {
      view.logarithmic = !view.logarithmic;
      event.currentTarget.setAttribute("aria-pressed", String(view.logarithmic));
      draw();
    });
    document.addEventListener("keydown", event => { if (event.key === "Escape") zoom(whole.from, whole.to); });
    new ResizeObserver(() => { if (Math.abs(container.clientWidth - view.width) > 1) draw(); }).observe(container);
    draw();
  }
})();
