// Draws sampled stacks as a flame graph: the width is the time of threads for each request, red what grew, blue what fell.
(() => {
  "use strict";
  const graphs = JSON.parse(document.getElementById("flame-data").textContent);
  const box = document.getElementById("flames");
  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 18, LETTER = 6.2, LEAST = 1;  // px: height of a row, width of a letter at 11 px, least width that is drawn
  const state = { graph: 0, load: 1, all: false, zoom: null };

  function node(plain, graph, isInOwn) {
    const [name, low, high, calls] = plain, [text, isOwn] = graph.names[name];
    const made = { text, isOwn, isInOwn: isInOwn || isOwn, ms: [low, high] };
    made.calls = calls.map(each => node(each, graph, made.isInOwn));
    made.self = [0, 1].map(at => Math.max(0, made.ms[at] - made.calls.reduce((sum, each) => sum + each.ms[at], 0)));
    made.hasOwn = made.isInOwn || made.calls.some(each => each.hasOwn);
    return made;
  }

  graphs.forEach(graph => {
    graph.calls = graph.nodes.map(each => node(each, graph, false));
    graph.hasOwn = graph.calls.some(each => each.hasOwn);
  });

  // The nodes that are shown, with their ms: without stacks that have no function of the service, unless all threads are shown.
  function shown(each, all) {
    const calls = each.calls.filter(call => all || call.hasOwn).map(call => shown(call, all));
    const ms = [0, 1].map(at => (all || each.isInOwn ? each.self[at] : 0) + calls.reduce((sum, call) => sum + call.ms[at], 0));
    return { ...each, ms, calls };
  }

  function tree() {
    const graph = graphs[state.graph], all = state.all || !graph.hasOwn;
    return shown({ text: "all", isOwn: false, isInOwn: false, self: [0, 0], calls: graph.calls }, all);
  }

  function ms(value) { return Number(value.toPrecision(3)).toLocaleString("en-US") + " ms"; }

  function about(each, graph) {
    if (graph.isOne) return each.text + ": " + ms(each.ms[1]) + " per request";
    const growth = each.ms[1] - each.ms[0];
    return each.text + ": " + ms(each.ms[0]) + " per request at low load, " + ms(each.ms[1]) + " at high load ("
      + (growth < 0 ? "−" : "+") + ms(Math.abs(growth)) + ")";
  }

  // most: the greatest fall and the greatest growth of a function, in ms.
  function color(each, most, graph) {
    if (graph.isOne) return each.isOwn ? "#e9c46a" : "#d9d7cf";
    const growth = each.ms[1] - each.ms[0], share = Math.min(1, Math.abs(growth) / (most[growth > 0 ? 1 : 0] || 1));
    const pale = Math.round(225 - 135 * share);
    return growth > 0 ? "rgb(235," + pale + "," + pale + ")" : "rgb(" + pale + "," + Math.round(225 - 60 * share) + ",235)";
  }

  function make(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  function button(text, isPressed, press) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-pressed", String(isPressed));
    made.addEventListener("click", () => { press(); draw(); });
    return made;
  }

  function tools(graph) {
    const line = document.createElement("div");
    line.className = "flame-tools";
    if (graphs.length > 1) graphs.forEach((each, index) =>
      line.appendChild(button(each.title, index === state.graph, () => { state.graph = index; state.zoom = null; })));
    if (!graph.isOne) line.appendChild(button("widths at low load", state.load === 0, () => { state.load = 1 - state.load; }));
    if (graph.hasOwn) line.appendChild(button("all threads", state.all, () => { state.all = !state.all; state.zoom = null; }));
    if (state.zoom) line.appendChild(button("whole graph", false, () => { state.zoom = null; }));
    return line;
  }

  function draw() {
    const graph = graphs[state.graph], root = tree();
    const colors = graph.isOne ? "" : " Red grew from the low to the high load, blue fell.";
    const words = "The width is the time of threads for each request" + (state.load || graph.isOne ? "" : " at low load")
      + ", each function below its caller." + colors + " Click a function to enlarge it.";
    const note = document.createElement("p"), svg = document.createElementNS(SVG, "svg");
    note.className = "flame-about";
    note.textContent = words;
    box.replaceChildren(tools(graph), note, svg);
    const width = Math.max(320, box.clientWidth), top = state.zoom ? find(root, state.zoom) : root;
    const growths = root.calls.flatMap(flat).map(each => each.ms[1] - each.ms[0]);
    const most = [-1, 1].map(sign => growths.reduce((greatest, growth) => Math.max(greatest, sign * growth), 0));
    let depth = 0;
    function place(each, x, row, path) {
      const wide = width * each.ms[state.load] / (top.ms[state.load] || 1);
      if (wide < LEAST) return;
      depth = Math.max(depth, row + 1);
      const group = make(svg, "g", { class: each.isOwn ? "own" : "others" });
      make(group, "title", {}, about(each, graph));
      make(group, "rect", { x: x.toFixed(1), y: row * ROW, width: wide.toFixed(1), height: ROW, fill: color(each, most, graph) });
      const letters = Math.floor((wide - 6) / LETTER);
      if (letters > 2) {
        const text = each.text.length > letters ? each.text.slice(0, letters - 1) + "…" : each.text;
        make(group, "text", { x: (x + 3).toFixed(1), y: row * ROW + 13, "font-weight": each.isOwn ? 600 : 400 }, text);
      }
      group.addEventListener("click", () => { state.zoom = path.length ? path : null; draw(); });
      group.addEventListener("pointerenter", () => { note.textContent = about(each, graph); });
      group.addEventListener("pointerleave", () => { note.textContent = words; });
      [...each.calls].sort((a, b) => b.ms[1] - a.ms[1]).forEach(call => {
        place(call, x, row + 1, [...path, call.text]);
        x += width * call.ms[state.load] / (top.ms[state.load] || 1);
      });
    }
    place(top, 0, 0, state.zoom || []);
    svg.setAttribute("class", "flame");
    svg.setAttribute("viewBox", "0 0 " + width + " " + depth * ROW);
  }

  function find(root, path) {
    return path.reduce((each, text) => each.calls.find(call => call.text === text) || each, root);
  }

  function flat(root) { return [root, ...root.calls.flatMap(flat)]; }

  draw();
})();
