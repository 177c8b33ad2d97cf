"use strict";
// The picture of a graph on a canvas: moving, zooming, finding, choosing.
// A side of a graph is {names, types, kinds, x, y, w, kernel, reason, edges, outputs}: arrays by
// node, `types` indices into `kinds`, `edges` a flat list of producer and reader.

function kernelColor(index, dark, part) {
  const hue = (index * 137.508 + 205) % 360;
  if (part === "fill") return dark ? `hsl(${hue} 42% 27%)` : `hsl(${hue} 72% 89%)`;
  return dark ? `hsl(${hue} 62% 62%)` : `hsl(${hue} 58% 44%)`;
}

class GraphView {
  constructor(canvas, onChoose) {
    this.canvas = canvas;
    this.onChoose = onChoose;
    this.side = null;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.chosen = -1;
    this.found = null;
    this.pending = false;
    this.height = 38;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  show(side) {
    this.side = side;
    this.chosen = -1;
    this.found = null;
    const count = side.names.length;
    this.producers = Array.from({length: count}, () => []);
    this.readers = Array.from({length: count}, () => []);
    for (let i = 0; i < side.edges.length; i += 2) {
      this.producers[side.edges[i + 1]].push(side.edges[i]);
      this.readers[side.edges[i]].push(side.edges[i + 1]);
    }
    this.resize();
    this.fit();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width;
    this.depth = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    this.redraw();
  }

  bounds() {
    const {x, y, w} = this.side;
    let [west, east, north, south] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < x.length; i++) {
      west = Math.min(west, x[i] - w[i] / 2);
      east = Math.max(east, x[i] + w[i] / 2);
      north = Math.min(north, y[i] - this.height);
      south = Math.max(south, y[i] + this.height);
    }
    return x.length ? [west, east, north, south] : [0, 1, 0, 1];
  }

  fit() {
    if (!this.side || !this.width) return;
    const [west, east, north, south] = this.bounds();
    const whole = Math.min(this.width / (east - west + 40), this.depth / (south - north + 40));
    this.scale = Math.min(1.4, whole);
    this.left = (west + east) / 2 - this.width / 2 / this.scale;
    this.top = (north + south) / 2 - this.depth / 2 / this.scale;
    if (this.scale < 0.3) {  // a large graph begins readable, at its top
      this.scale = 0.55;
      this.left = Math.max(west - 40, this.side.x[0] - this.width / 2 / this.scale);
      this.top = north - 20;
    }
    this.redraw();
  }

  whole() {
    const [west, east, north, south] = this.bounds();
    this.scale = Math.min(this.width / (east - west + 40), this.depth / (south - north + 40), 1.4);
    this.left = (west + east) / 2 - this.width / 2 / this.scale;
    this.top = (north + south) / 2 - this.depth / 2 / this.scale;
    this.redraw();
  }

  centre(node) {
    this.scale = Math.max(this.scale, 0.9);
    this.left = this.side.x[node] - this.width / 2 / this.scale;
    this.top = this.side.y[node] - this.depth / 2 / this.scale;
    this.redraw();
  }

  zoom(factor, px, py) {
    const x = px === undefined ? this.width / 2 : px;
    const y = py === undefined ? this.depth / 2 : py;
    const scale = Math.min(4, Math.max(0.004, this.scale * factor));
    this.left += x / this.scale - x / scale;
    this.top += y / this.scale - y / scale;
    this.scale = scale;
    this.redraw();
  }

  // Indices of the nodes whose name or type holds the text; shows them and dims the others.
  search(text) {
    const {names, types, kinds} = this.side;
    const wanted = text.trim().toLowerCase();
    const hits = [];
    if (wanted) {
      for (let i = 0; i < names.length; i++) {
        const kind = kinds[types[i]].toLowerCase();
        if (names[i].toLowerCase().includes(wanted) || kind.includes(wanted)) hits.push(i);
      }
    }
    this.found = wanted ? new Set(hits) : null;
    this.redraw();
    return hits;
  }

  choose(node, centred) {
    this.chosen = node;
    if (centred) this.centre(node);
    this.redraw();
    this.onChoose(node);
  }

  screenPosition(node) {
    return [(this.side.x[node] - this.left) * this.scale, (this.side.y[node] - this.top) * this.scale];
  }

  nodeAt(px, py) {
    const x = px / this.scale + this.left;
    const y = py / this.scale + this.top;
    const side = this.side;
    for (let i = 0; i < side.x.length; i++) {
      if (Math.abs(side.y[i] - y) <= this.height / 2 && Math.abs(side.x[i] - x) <= side.w[i] / 2) return i;
    }
    return -1;
  }

  listen() {
    let from = null;
    const canvas = this.canvas;
    canvas.addEventListener("pointerdown", (event) => {
      from = {x: event.offsetX, y: event.offsetY, left: this.left, top: this.top, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
      from.moved = from.moved || Math.abs(dx) + Math.abs(dy) > 4;
      if (!from.moved) return;
      this.left = from.left - dx / this.scale;
      this.top = from.top - dy / this.scale;
      this.redraw();
    });
    canvas.addEventListener("pointerup", (event) => {
      const clicked = from && !from.moved;
      from = null;
      if (clicked && this.side) this.choose(this.nodeAt(event.offsetX, event.offsetY), false);
    });
    canvas.addEventListener("pointercancel", () => { from = null; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    }, {passive: false});
    canvas.addEventListener("keydown", (event) => {
      const step = 60 / this.scale;
      const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]};
      if (moves[event.key]) {
        this.left += moves[event.key][0];
        this.top += moves[event.key][1];
        this.redraw();
        event.preventDefault();
      } else if (event.key === "+" || event.key === "-") {
        this.zoom(event.key === "+" ? 1.25 : 0.8);
      }
    });
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (this.side) this.draw();
    });
  }

  draw() {
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colors = {
      dark: document.documentElement.dataset.theme === "dark",
      ink: style.getPropertyValue("--ink"), quiet: style.getPropertyValue("--quiet"),
      line: style.getPropertyValue("--line"), panel: style.getPropertyValue("--panel"),
      accent: style.getPropertyValue("--accent"),
    };
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const zoom = this.scale * this.ratio;
    pen.setTransform(zoom, 0, 0, zoom, -this.left * zoom, -this.top * zoom);
    this.drawEdges(pen, colors);
    this.drawNodes(pen, colors);
  }

  drawEdges(pen, colors) {
    const {x, y, edges} = this.side;
    const [west, east] = [this.left, this.left + this.width / this.scale];
    const [north, south] = [this.top, this.top + this.depth / this.scale];
    const curved = this.scale > 0.18;
    const half = this.height / 2;
    const near = [];
    pen.beginPath();
    for (let i = 0; i < edges.length; i += 2) {
      const [a, b] = [edges[i], edges[i + 1]];
      if (Math.max(x[a], x[b]) < west || Math.min(x[a], x[b]) > east) continue;
      if (Math.max(y[a], y[b]) + half < north || Math.min(y[a], y[b]) - half > south) continue;
      if (a === this.chosen || b === this.chosen) near.push(i);
      this.trace(pen, a, b, curved);
    }
    pen.strokeStyle = colors.dark ? "#465063" : "#c3cad6";
    pen.lineWidth = Math.max(1, 0.6 / this.scale);
    pen.stroke();
    pen.beginPath();
    for (const i of near) this.trace(pen, edges[i], edges[i + 1], curved);
    pen.strokeStyle = colors.accent;
    pen.lineWidth = Math.max(2, 1.2 / this.scale);
    pen.stroke();
  }

  trace(pen, a, b, curved) {
    const {x, y} = this.side;
    const half = this.height / 2;
    const [ya, yb] = [y[a] + half, y[b] - half];
    pen.moveTo(x[a], ya);
    if (curved) {
      const bend = Math.max(14, Math.abs(yb - ya) / 2);
      pen.bezierCurveTo(x[a], ya + bend, x[b], yb - bend, x[b], yb);
    } else {
      pen.lineTo(x[b], yb);
    }
  }

  drawNodes(pen, colors) {
    const {names, types, kinds, x, y, w, kernel} = this.side;
    const [west, east] = [this.left, this.left + this.width / this.scale];
    const [north, south] = [this.top - this.height, this.top + this.depth / this.scale + this.height];
    const readable = this.scale > 0.34;
    pen.textAlign = "center";
    for (let i = 0; i < x.length; i++) {
      if (y[i] < north || y[i] > south || x[i] + w[i] / 2 < west || x[i] - w[i] / 2 > east) continue;
      pen.globalAlpha = this.found && !this.found.has(i) ? 0.22 : 1;
      const fused = kernel[i] >= 0;
      pen.fillStyle = fused ? kernelColor(kernel[i], colors.dark, "fill") : colors.panel;
      pen.strokeStyle = fused ? kernelColor(kernel[i], colors.dark, "line") : colors.quiet;
      pen.lineWidth = fused ? 1.6 : 1;
      if (i === this.chosen || (this.found && this.found.has(i))) {
        pen.strokeStyle = colors.accent;
        pen.lineWidth = Math.max(3, 2 / this.scale);
      }
      if (this.scale < 0.06) {  // a dot that can still be seen
        const [wide, high] = [Math.max(w[i], 4 / this.scale), Math.max(this.height, 2 / this.scale)];
        pen.fillStyle = pen.strokeStyle;
        pen.fillRect(x[i] - wide / 2, y[i] - high / 2, wide, high);
        continue;
      }
      this.box(pen, x[i] - w[i] / 2, y[i] - this.height / 2, w[i], this.height);
      if (!readable) continue;
      pen.fillStyle = colors.ink;
      pen.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
      pen.fillText(shorten(kinds[types[i]], 26, false), x[i], y[i] - 3);
      pen.fillStyle = colors.quiet;
      pen.font = "10px system-ui, 'DejaVu Sans', sans-serif";
      pen.fillText(shorten(names[i], 26, true), x[i], y[i] + 11);
    }
    pen.globalAlpha = 1;
  }

  box(pen, x, y, width, height) {
    pen.beginPath();
    if (this.scale > 0.15 && pen.roundRect) pen.roundRect(x, y, width, height, 7);
    else pen.rect(x, y, width, height);
    pen.fill();
    pen.stroke();
  }
}

function shorten(text, length, keepEnd) {
  if (text.length <= length) return text;
  return keepEnd ? "\u2026" + text.slice(1 - length) : text.slice(0, length - 1) + "\u2026";
}
