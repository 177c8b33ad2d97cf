// Everything on the page besides the picture. Text from models goes through textContent only.

const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

const isDark = () => document.documentElement.dataset.theme === "dark";

// ---- theme ----

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.querySelectorAll("tr.kernel").forEach((row) => {
    row.querySelector(".dot").style.background = kernelColor(Number(row.dataset.kernel), dark, "line");
  });
  if (view) view.redraw();
}

// ---- source text ----

const TOKENS = new RegExp([
  "(?<c>//[^\\n]*|/\\*[\\s\\S]*?\\*/)", "(?<s>\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*')",
  "(?<p>^[ \\t]*#[^\\n]*)", "(?<n>\\b(?:0[xX][0-9a-fA-F]+|\\d[\\d.]*(?:[eE][-+]?\\d+)?)[a-zA-Z]*\\b)",
  "(?<k>\\b(?:alignas|auto|bool|break|case|class|const|constexpr|continue|default|do|double|else|enum|extern|false|"
  + "float|for|if|inline|int|long|namespace|new|nullptr|operator|private|public|return|short|signed|sizeof|static|"
  + "struct|switch|template|this|true|typedef|typename|unsigned|using|void|volatile|while)\\b)",
  "(?<t>\\b(?:u?int(?:8|16|32|64)_t|half|bfloat16_t|size_t|__gm__|__aicore__|__global__|GM_ADDR|LocalTensor|"
  + "GlobalTensor|TPipe|TQue|TBuf|TPosition|QuePosition|[A-Z]\\w*(?=<))\\b)",
  "(?<f>\\b[A-Za-z_]\\w*(?=\\s*\\())",
].join("|"), "gm");

function highlight(text) {
  const pre = element("pre");
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > at) pre.append(text.slice(at, match.index));
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    pre.append(element("span", match[0], kind));
    at = match.index + match[0].length;
  }
  pre.append(text.slice(at));
  return pre;
}

// ---- kernels ----

function tensorText(tensor) {
  const dims = tensor.shape.map((dim) => (dim === null ? "?" : dim)).join(", ");
  return `${tensor.dtype} [${dims}]`;
}

function listOf(title, items) {
  const box = element("div");
  const list = element("ul", undefined, "list");
  box.append(element("h3", title), list);
  for (const [main, note] of items) {
    const item = element("li", main + " ");
    item.append(element("span", note));
    list.append(item);
  }
  return box;
}

function kernelDetail(kernel) {
  const row = element("tr", undefined, "more");
  const cell = element("td");
  cell.colSpan = 7;
  row.append(cell);
  const columns = element("div", undefined, "columns");
  columns.append(
    listOf("Operators", kernel.op_names.map((name, i) => [name, kernel.op_types[i]])),
    listOf("Inputs", kernel.inputs.map((tensor) => [tensor.name, tensorText(tensor)])),
    listOf("Outputs", kernel.outputs.map((tensor) => [tensor.name, tensorText(tensor)])),
    listOf("Tiling on the chip", kernel.tiling.map((line) => [line, ""])),
  );
  cell.append(columns, element("p", `kernel key ${kernel.key || "unknown"}`, "quiet"));
  const source = DATA.sources[kernel.key];
  if (source) {
    cell.append(element("h3", kernel.source), highlight(source));
  } else {
    cell.append(element("p", "The source is not at hand.", "quiet"));
  }
  return row;
}

function toggleKernel(row, open) {
  const isOpen = row.classList.contains("open");
  if (open === isOpen) return;
  row.classList.toggle("open");
  if (isOpen) row.nextElementSibling.remove();
  else row.after(kernelDetail(DATA.kernels[Number(row.dataset.kernel)]));
}

function showKernel(index) {
  const row = document.querySelector(`tr.kernel[data-kernel="${index}"]`);
  if (!row) return;
  row.hidden = false;
  toggleKernel(row, true);
  row.scrollIntoView({block: "start"});
}

function sortTable(head, rows, body) {
  const column = head.cellIndex;
  const up = head.getAttribute("aria-sort") === "descending";
  head.parentNode.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const value = (row) => row.cells[column].dataset.value;
  const numeric = head.dataset.sort === "number";
  rows.forEach((row) => toggleKernel(row, false));
  rows.sort((one, other) => {
    const [a, b] = up ? [value(one), value(other)] : [value(other), value(one)];
    return numeric ? Number(a) - Number(b) : a.localeCompare(b);
  });
  body.append(...rows);
}

function setUpKernels() {
  const table = byId("kernel-table");
  if (!table) return;
  const rows = Array.from(table.querySelectorAll("tr.kernel"));
  for (const row of rows) {
    row.addEventListener("click", () => toggleKernel(row));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") toggleKernel(row); });
  }
  for (const head of table.tHead.rows[0].cells) {
    head.addEventListener("click", () => sortTable(head, rows, table.tBodies[0]));
  }
  byId("kernel-filter").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const row of rows) {
      const kernel = DATA.kernels[Number(row.dataset.kernel)];
      const words = [kernel.name].concat(kernel.op_names, kernel.op_types).join(" ").toLowerCase();
      const shown = words.includes(wanted);
      if (!shown) toggleKernel(row, false);
      row.hidden = !shown;
    }
  });
}

// ---- operators left alone ----

function setUpGroups() {
  for (const details of document.querySelectorAll("details.group")) {
    details.addEventListener("toggle", () => {
      if (details.querySelector("table")) return;
      const table = element("table");
      for (const [node, kind, reason] of DATA.groups[Number(details.dataset.group)]) {
        const row = table.insertRow();
        row.append(element("td", node), element("td", kind), element("td", reason));
      }
      details.append(table);
    });
  }
}

// ---- the picture and its tools ----

let view = null;
let current = {graph: 0, side: "before"};
let hits = [];
let hit = -1;

const sideShown = () => DATA.graphs[current.graph][current.side];

function nodeLinks(panel, title, nodes) {
  if (!nodes.length) return;
  panel.append(element("h3", title));
  for (const node of nodes.slice(0, 40)) {
    const link = element("button", sideShown().names[node], "link");
    link.type = "button";
    link.addEventListener("click", () => view.choose(node, true));
    panel.append(link);
  }
  if (nodes.length > 40) panel.append(element("p", `and ${nodes.length - 40} more`, "quiet"));
}

function showDetail(node) {
  const panel = byId("detail");
  panel.hidden = node < 0;
  panel.replaceChildren();
  if (node < 0) return;
  const side = sideShown();
  const close = element("button", "\u00d7", "close");
  close.type = "button";
  close.title = "Close";
  close.addEventListener("click", () => view.choose(-1, false));
  panel.append(close, element("div", side.kinds[side.types[node]], "type"), element("div", side.names[node]));
  if (side.kernel[node] >= 0) {
    const link = element("button", DATA.kernels[side.kernel[node]].name, "link");
    link.type = "button";
    link.addEventListener("click", () => showKernel(side.kernel[node]));
    panel.append(element("h3", current.side === "before" ? "Fused into" : "Kernel"), link);
  } else if (side.reason[node] >= 0) {
    const [code, reason] = DATA.reasons[side.reason[node]];
    panel.append(element("h3", "Left alone"), element("div", `${code}: ${reason}`));
  }
  if (side.outputs[node]) panel.append(element("h3", "Outputs"), element("div", side.outputs[node]));
  nodeLinks(panel, "Reads", view.producers[node]);
  nodeLinks(panel, "Read by", view.readers[node]);
}

function showSide(side) {
  current.side = side;
  byId("side-before").classList.toggle("on", side === "before");
  byId("side-after").classList.toggle("on", side === "after");
  view.show(sideShown());
  showDetail(-1);
  find(byId("search").value);
}

function find(text) {
  hits = view.search(text);
  hit = -1;
  byId("matches").textContent = text.trim() ? `${hits.length} found` : "";
}

function nextHit(step) {
  if (!hits.length) return;
  hit = (hit + step + hits.length) % hits.length;
  byId("matches").textContent = `${hit + 1} of ${hits.length}`;
  view.choose(hits[hit], true);
}

function setUpGraph() {
  if (!DATA.graphs.length) return;
  view = new GraphView(byId("canvas"), showDetail);
  window.graphView = view;
  byId("graph-choice").addEventListener("change", (event) => {
    current.graph = Number(event.target.value);
    showSide(current.side);
  });
  byId("side-before").addEventListener("click", () => showSide("before"));
  byId("side-after").addEventListener("click", () => showSide("after"));
  byId("search").addEventListener("input", (event) => find(event.target.value));
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { event.target.value = ""; find(""); }
  });
  byId("zoom-in").addEventListener("click", () => view.zoom(1.3));
  byId("zoom-out").addEventListener("click", () => view.zoom(1 / 1.3));
  byId("fit").addEventListener("click", () => view.whole());
  showSide("before");
}

setUpKernels();
setUpGroups();
setUpGraph();
setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches);
byId("theme").addEventListener("click", () => setTheme(!isDark()));
document.documentElement.dataset.ready = "yes";
