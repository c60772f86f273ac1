// The graph as SVG: drawn once, moved and scaled as a whole.

const SVG = 'http://www.w3.org/2000/svg';

function svg(tag, attributes, ...content) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

// As much of a text as fits a box.
function fitted(text, most) {
  return text.length <= most ? text : text.slice(0, Math.ceil(most * 0.6) - 1) + '\u2026' + text.slice(text.length - Math.floor(most * 0.4));
}

class Picture {
  // `chosen(node)` when one is clicked.
  constructor(root, chosen) {
    this.root = root;
    this.chosen = chosen;
    this.selected = null;
    this.scale = 1;
    this.x = this.y = 0;
    this.drawn = new Map();
    this.listen();
  }

  draw(graph) {
    this.graph = graph;
    this.bounds = layOut(graph);
    const markers = ['plain', 'ring', 'faint'].map(name => svg('marker', {id: 'arrow-' + name, class: 'arrow ' + name,
      viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto-start-reverse', markerUnits: 'userSpaceOnUse'},
      svg('path', {d: 'M0 0L8 4L0 8z'})));
    this.whole = svg('g', {class: 'whole'}, ...graph.edges.map(e => this.edgePath(e)), ...graph.nodes.map(n => this.nodeBox(n)));
    this.root.replaceChildren(svg('defs', {}, ...markers), this.whole);
    this.fit();
  }

  nodeBox(node) {
    const most = Math.floor((NODE.width - 18) / 7.5);
    const classes = ['node', node.kind, node.ring && 'ring', node.verdict && 'verdict', node.threads.length > 1 && 'many'].filter(Boolean).join(' ');
    const {width, height} = NODE;
    const shape = {width, height, rx: node.kind === 'thread' ? 6 : height / 2};
    const box = svg('g', {class: classes, transform: `translate(${node.x} ${node.y})`, 'data-id': node.id},
      svg('title', {}, node.title));
    if (node.threads.length > 1) box.append(svg('rect', {class: 'behind', x: 4, y: 4, ...shape}));
    box.append(svg('rect', shape), svg('text', {class: 'label', x: width / 2, y: 20}, fitted(node.label, most)),
      svg('text', {class: 'sub', x: width / 2, y: 36}, fitted(node.sub, most + 6)));
    box.addEventListener('click', () => this.choose(node));
    this.drawn.set(node, box);
    return box;
  }

  // From border to border: sideways where the boxes are beside each other, else from above to below.
  edgePath({from, to, ring, likely, holds}) {
    const {width, height} = NODE;
    const beside = Math.abs(from.y - to.y) < height && from.x !== to.x;
    const dx = to.x - from.x, dy = to.y - from.y;
    let path;
    if (from.behind && to.ring || to.behind && from.ring) {
      // Through the gap beside the cycle's node, which may have others below it.
      const [low, high] = from.behind ? [from, to] : [to, from], gap = high.x + width + NODE.gapX / 2, middle = low.x + width / 2;
      const points = [[middle, low.y], [middle, low.y - 12], [gap, low.y - 12], [gap, high.y + height / 2], [high.x + width, high.y + height / 2]];
      path = 'M' + (from.behind ? points : points.reverse()).join('L');
    } else if (beside || Math.abs(dx) >= STEP_X) {
      const right = dx > 0 ? 1 : -1, a = [from.x + (right > 0 ? width : 0), from.y + height / 2], b = [to.x + (right > 0 ? 0 : width), to.y + height / 2];
      const bend = right * Math.max(24, Math.abs(b[0] - a[0]) / 2);
      path = `M${a}C${a[0] + bend} ${a[1]} ${b[0] - bend} ${b[1]} ${b}`;
    } else {
      const down = dy > 0 ? 1 : -1, a = [from.x + width / 2, from.y + (down > 0 ? height : 0)], b = [to.x + width / 2, to.y + (down > 0 ? 0 : height)];
      const bend = down * Math.max(10, Math.abs(b[1] - a[1]) / 2);
      path = `M${a}C${a[0]} ${a[1] + bend} ${b[0]} ${b[1] - bend} ${b}`;
    }
    return svg('path', {class: ['edge', ring && 'ring', likely && 'likely', holds && 'holds'].filter(Boolean).join(' '), d: path,
      'marker-end': `url(#arrow-${ring ? 'ring' : 'plain'})`});
  }

  choose(node) {
    this.select(node);
    this.chosen(node);
  }

  select(node) {
    if (this.selected) this.drawn.get(this.selected).classList.remove('selected');
    this.selected = node;
    if (node) this.drawn.get(node).classList.add('selected');
  }

  mark(nodes) {
    for (const [node, box] of this.drawn) box.classList.toggle('dim', nodes !== null && !nodes.has(node));
  }

  apply() {
    this.whole.setAttribute('transform', `translate(${this.x} ${this.y}) scale(${this.scale})`);
    this.root.classList.toggle('far', this.scale < 0.4);
  }

  size() {
    const {width, height} = this.root.getBoundingClientRect();
    return {width: Math.max(width, 50), height: Math.max(height, 50)};
  }

  // All of it; where it would be too small to see anything, its beginning.
  fit() {
    const {width, height} = this.size(), pad = 24, {bounds} = this;
    const scale = Math.min((width - 2 * pad) / Math.max(bounds.right, 1), (height - 2 * pad) / Math.max(bounds.bottom, 1), 1.25);
    this.scale = Math.max(scale, 0.08);
    this.x = scale < this.scale ? pad : (width - bounds.right * this.scale) / 2;
    this.y = scale < this.scale ? pad : Math.max(pad, (height - bounds.bottom * this.scale) / 3);
    this.apply();
  }

  zoom(factor, x, y) {
    const {width, height} = this.size();
    x = x ?? width / 2;
    y = y ?? height / 2;
    const scale = Math.min(3, Math.max(0.05, this.scale * factor));
    this.x = x - (x - this.x) * scale / this.scale;
    this.y = y - (y - this.y) * scale / this.scale;
    this.scale = scale;
    this.apply();
  }

  // So that a node can be read, in the middle.
  show(node) {
    const {width, height} = this.size();
    this.scale = Math.max(this.scale, 0.8);
    this.x = width / 2 - (node.x + NODE.width / 2) * this.scale;
    this.y = height / 2 - (node.y + NODE.height / 2) * this.scale;
    this.apply();
  }

  isInView(node) {
    const {width, height} = this.size(), x = this.x + node.x * this.scale, y = this.y + node.y * this.scale;
    return this.scale >= 0.4 && x >= 0 && y >= 0 && x + NODE.width * this.scale <= width && y + NODE.height * this.scale <= height;
  }

  // The nearest node in a direction.
  step(dx, dy) {
    if (!this.graph.nodes.length) return;
    if (!this.selected) return this.goTo(this.graph.nodes.find(n => n.ring) || this.graph.nodes[0]);
    const at = this.selected;
    let best = null, least = Infinity;
    for (const node of this.graph.nodes) {
      const along = (node.x - at.x) * dx + (node.y - at.y) * dy, aside = Math.abs((node.x - at.x) * dy) + Math.abs((node.y - at.y) * dx);
      const cost = along + 2.5 * aside;
      if (node !== at && along > 4 && cost < least) [best, least] = [node, cost];
    }
    if (best) this.goTo(best);
  }

  goTo(node) {
    this.select(node);
    if (!this.isInView(node)) this.show(node);
  }

  listen() {
    const {root} = this;
    let drag = null;
    root.addEventListener('pointerdown', e => {
      if (e.button === 0) drag = {x: e.clientX - this.x, y: e.clientY - this.y, fromX: e.clientX, fromY: e.clientY, moved: false};
    });
    root.addEventListener('pointermove', e => {
      if (!drag || !e.buttons) return;
      if (!drag.moved && Math.hypot(e.clientX - drag.fromX, e.clientY - drag.fromY) > 4) {
        drag.moved = true;
        root.setPointerCapture(e.pointerId);
        root.classList.add('dragged');
      }
      if (!drag.moved) return;
      this.x = e.clientX - drag.x;
      this.y = e.clientY - drag.y;
      this.apply();
    });
    for (const end of ['pointerup', 'pointercancel']) {
      root.addEventListener(end, () => {
        drag = null;
        root.classList.remove('dragged');
      });
    }
    root.addEventListener('wheel', e => {
      e.preventDefault();
      const {left, top} = root.getBoundingClientRect();
      this.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)), e.clientX - left, e.clientY - top);
    }, {passive: false});
  }
}
