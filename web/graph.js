// The graph on its canvas. The canvas is as large as what is seen of it; rows beyond are scrolled to.

const ROW = 19;
const LEAST = 0.5;  // pixels: narrower ones are shown together as what is left of their caller
const GRAPH_FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const LEFT_OVER = -1;

class Graph {
  constructor(canvas, scroller, spacer) {
    this.canvas = canvas;
    this.scroller = scroller;
    this.spacer = spacer;
    this.context = canvas.getContext('2d', {alpha: false});
    this.rows = [];
    this.width = this.height = 0;
    this.zoom = this.selected = this.hovered = 0;
    this.icicle = false;
    this.labels = new Map();  // function -> [[form, width]...]
    scroller.addEventListener('scroll', () => this.draw());
  }

  // What is drawn: `tree` as in view.js, `look` {fill(node, key), marks, theme, names, rootName}.
  show(tree, look) {
    this.tree = tree;
    this.look = look;
  }

  // Rows of boxes below the one zoomed to; what is above it is as wide as all.
  layout() {
    const tree = this.tree, rows = this.rows = [];
    const outer = [];
    for (let n = tree.parent(this.zoom); n >= 0; n = tree.parent(n)) outer.push(n);
    for (const n of outer.reverse()) rows.push({nodes: [n], x: [0], w: [this.width]});
    this.zoomRow = rows.length;
    const all = tree.value(this.zoom);
    if (all <= 0) return this.place();
    let row = {nodes: [this.zoom], x: [0], w: [this.width]};
    while (row.nodes.length) {
      rows.push(row);
      row = this.nextRow(row, this.width / all);
    }
    this.place();
  }

  nextRow(row, scale) {
    const next = {nodes: [], x: [], w: []}, tree = this.tree;
    for (let i = 0; i < row.nodes.length; i++) {
      if (row.nodes[i] < 0) continue;
      let x = row.x[i], shown = 0;
      const children = tree.children(row.nodes[i]);
      for (; shown < children.length; shown++) {
        const w = tree.value(children[shown]) * scale;
        if (w < LEAST) break;
        next.nodes.push(children[shown]);
        next.x.push(x);
        next.w.push(w);
        x += w;
      }
      this.leftOver(next, children, shown, x, scale);
    }
    return next;
  }

  leftOver(next, children, from, x, scale) {
    let w = 0;
    for (let i = from; i < children.length; i++) w += this.tree.value(children[i]) * scale;
    if (w < 1) return;
    next.nodes.push(LEFT_OVER);
    next.x.push(x);
    next.w.push(w);
  }

  place() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    this.canvas.style.width = this.width + 'px';
    this.canvas.style.height = this.height + 'px';
    this.content = Math.max(this.height, this.rows.length * ROW + 2);
    this.spacer.style.height = this.content + 'px';
  }

  resize() {
    this.width = this.scroller.clientWidth;
    this.height = this.scroller.clientHeight;
  }

  scrollToZoom() {
    const top = this.rowTop(this.zoomRow), outer = 4 * ROW;
    this.scroller.scrollTop = this.icicle ? top - outer : top + ROW + outer - this.height;
  }

  scrollToRow(row) {
    const top = this.rowTop(row), seen = this.scroller.scrollTop;
    if (top < seen) this.scroller.scrollTop = top;
    else if (top + ROW > seen + this.height) this.scroller.scrollTop = top + ROW - this.height;
  }

  rowTop(row) { return this.icicle ? row * ROW : this.content - (row + 1) * ROW; }

  draw() {
    if (!this.tree || this.width <= 0) return;
    const c = this.context, ratio = window.devicePixelRatio || 1, scroll = this.scroller.scrollTop;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.globalAlpha = 1;
    c.fillStyle = this.look.theme === 'dark' ? '#171b20' : '#ffffff';
    c.fillRect(0, 0, this.width, this.height);
    c.font = GRAPH_FONT;
    c.textBaseline = 'middle';
    c.direction = 'ltr';
    for (let r = 0; r < this.rows.length; r++) {
      const y = this.rowTop(r) - scroll;
      if (y > -ROW && y < this.height) this.drawRow(this.rows[r], y, r < this.zoomRow);
    }
    c.globalAlpha = 1;
    this.outline(this.selected, this.look.theme === 'dark' ? '#ffffff' : '#101418', 2);
    if (this.hovered !== this.selected) this.outline(this.hovered, this.look.theme === 'dark' ? '#ffffffb0' : '#101418a0', 1);
  }

  drawRow(row, y, faint) {
    const c = this.context, tree = this.tree, {marks, theme} = this.look;
    for (let i = 0; i < row.nodes.length; i++) {
      const node = row.nodes[i], w = row.w[i], x = row.x[i];
      const key = node < 0 ? -1 : tree.key(node);
      const marked = marks !== null && key >= 0 && marks[key];
      c.globalAlpha = faint ? 0.6 : marks !== null && !marked ? 0.38 : 1;
      c.fillStyle = node < 0 ? (theme === 'dark' ? '#3a404a' : '#e3e6ea') : marked ? MATCH_COLOR[theme] : this.look.fill(node, key);
      c.fillRect(x, y, w > 3 ? w - 1 : Math.max(w * 0.85, 0.6), ROW - 1);
      if (w >= 22 && node >= 0) this.drawLabel(node, key, x, y, w);
    }
  }

  drawLabel(node, key, x, y, w) {
    const label = this.labelFor(node, key, w - 7);
    if (!label) return;
    const c = this.context;
    c.globalAlpha = Math.max(c.globalAlpha, 0.75);
    c.fillStyle = node === 0 && this.look.theme === 'dark' ? '#e6e9ee' : '#14181d';
    c.fillText(label, x + 4, y + ROW / 2);
  }

  // The longest form of the name there is room for, or as much of the shortest as there is.
  labelFor(node, key, room) {
    let forms = this.labels.get(key);
    if (forms === undefined || node === 0) {
      const texts = node === 0 ? [this.look.rootName, 'all'] : shorterNames(this.look.names[key]);
      forms = texts.map(text => [text.slice(0, 400), this.context.measureText(text.slice(0, 400)).width]);
      this.labels.set(key, forms);
    }
    for (const [text, width] of forms) if (width <= room) return text;
    const [text, width] = forms[forms.length - 1];
    const letters = Math.floor(text.length * (room - 9) / width);
    return letters >= 3 ? text.slice(0, letters) + '\u2026' : '';
  }

  boxOf(node) {
    for (let r = 0; r < this.rows.length; r++) {
      const i = this.rows[r].nodes.indexOf(node);
      if (i >= 0) return {row: r, x: this.rows[r].x[i], w: this.rows[r].w[i]};
    }
    return null;
  }

  outline(node, color, width) {
    if (node <= 0) return;
    const box = this.boxOf(node);
    if (!box) return;
    const c = this.context, y = this.rowTop(box.row) - this.scroller.scrollTop;
    c.strokeStyle = color;
    c.lineWidth = width;
    c.strokeRect(box.x + width / 2, y + width / 2, Math.max(box.w - 1 - width, 1), ROW - 1 - width);
  }

  // The node at a point of the canvas; LEFT_OVER; or null.
  at(x, y) {
    const fromTop = y + this.scroller.scrollTop;
    const r = Math.floor(this.icicle ? fromTop / ROW : (this.content - fromTop) / ROW);
    const row = this.rows[r];
    if (!row) return null;
    let low = 0, high = row.nodes.length - 1;
    while (low < high) {
      const middle = low + high + 1 >> 1;
      if (row.x[middle] <= x) low = middle; else high = middle - 1;
    }
    return row.nodes.length && x >= row.x[low] && x <= row.x[low] + Math.max(row.w[low], 1) ? row.nodes[low] : null;
  }

  // The neighbour of the selected node, 'in', 'out', 'left' or 'right'; the same where there is none.
  neighbour(direction) {
    const node = this.selected, box = this.boxOf(node);
    if (!box) return this.zoom;
    if (direction === 'out') return Math.max(this.tree.parent(node), 0);
    const row = this.rows[box.row + (direction === 'in' ? 1 : 0)];
    if (!row) return node;
    if (direction === 'in') return row.nodes.find((n, i) => n >= 0 && row.x[i] >= box.x - 0.1 && row.x[i] < box.x + box.w && this.tree.parent(n) === node) ?? node;
    const step = direction === 'left' ? -1 : 1;
    for (let i = row.nodes.indexOf(node) + step; i >= 0 && i < row.nodes.length; i += step) if (row.nodes[i] >= 0) return row.nodes[i];
    return node;
  }
}
