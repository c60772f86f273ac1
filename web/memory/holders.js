// What holds how much: a tree {name, bytes, count, children} as a treemap or an icicle. A click goes in, the path out.

const HOLDER_COLORS = ['#7fb0ee', '#9ed3b2', '#f0c98a', '#c3b0ea', '#f2a899', '#9cd2d8', '#d7cf8c', '#e2b5d4'];
const MOST_DRAWN = 2000, LEAST_SIDE = 3;

// Rows of near squares (Bruls, Huizing, van Wijk, 2000): [child, x, y, width, height].
function squarified(children, x, y, width, height) {
  const list = children.filter(c => c.bytes > 0).sort((a, b) => b.bytes - a.bytes), out = [];
  let left = list.reduce((sum, c) => sum + c.bytes, 0), at = 0;
  while (at < list.length && width > 0 && height > 0 && left > 0) {
    const side = Math.min(width, height), scale = width * height / left;
    let row = 0, end = at, worst = Infinity;
    while (end < list.length) {
      const sum = row + list[end].bytes * scale, big = list[at].bytes * scale, small = list[end].bytes * scale;
      const shape = Math.max(side * side * big / (sum * sum), sum * sum / (side * side * small));
      if (shape > worst) break;
      worst = shape;
      row = sum;
      end++;
    }
    const thick = row / side;
    let along = 0;
    for (; at < end; at++) {
      const long = list[at].bytes * scale / thick;
      out.push(width <= height ? [list[at], x + along, y, long, thick] : [list[at], x, y + along, thick, long]);
      along += long;
      left -= list[at].bytes;
    }
    if (width <= height) { y += thick; height -= thick; } else { x += thick; width -= thick; }
  }
  return out;
}

class HolderPicture {
  constructor(svg, tree) {
    this.svg = svg;
    this.path = [tree];
    this.form = 'map';
    this.draw();
  }

  get node() { return this.path[this.path.length - 1]; }

  enter(node) {
    if (!node.children || !node.children.length) return;
    this.path.push(node);
    this.draw();
  }

  setForm(form) {
    this.form = form;
    this.draw();
  }

  draw() {
    byId('crumbs').replaceChildren(...this.path.map((n, i) => element('button', {type: 'button', onclick: () => { this.path.length = i + 1; this.draw(); }}, n.name)));
    const box = this.svg.getBoundingClientRect();
    this.svg.setAttribute('viewBox', `0 0 ${box.width} ${box.height}`);
    this.svg.replaceChildren();
    this.drawn = 0;
    if (this.form === 'map') this.map(this.node, 0, 0, box.width, box.height, 0);
    else this.icicle(this.node, 0, 0, box.width, 0);
  }

  box(node, x, y, width, height, color, hasName) {
    if (width < 1 || height < 1 || this.drawn++ > MOST_DRAWN) return false;
    const make = (tag, attributes, text) => {
      const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      if (text) made.textContent = text;
      return made;
    };
    const rect = make('rect', {x, y, width, height, fill: HOLDER_COLORS[color % HOLDER_COLORS.length]});
    rect.append(make('title', {}, `${node.name}: ${megabytes(node.bytes)}${node.count ? `, ${counted(node.count, 'object')}` : ''}`));
    rect.addEventListener('click', () => this.enter(node));
    this.svg.append(rect);
    const letters = Math.floor((width - 8) / 6.2);
    if (hasName && letters > 3 && height > 14) {
      const name = node.name.length > letters ? node.name.slice(0, letters - 1) + '\u2026' : node.name;
      this.svg.append(make('text', {x: x + 4, y: y + 12}, name));
    }
    return true;
  }

  map(node, x, y, width, height, depth) {
    for (const [i, [child, left, top, w, h]] of squarified(node.children || [], x, y, width, height).entries()) {
      if (w < LEAST_SIDE || h < LEAST_SIDE || !this.box(child, left, top, w, h, depth === 0 ? i : depth + i, true)) continue;
      const head = 16;
      if (depth < 3 && w > 60 && h > head + 20) this.map(child, left + 2, top + head, w - 4, h - head - 2, depth + 1);
    }
  }

  icicle(node, x, y, width, depth) {
    const high = 22;
    if (!this.box(node, x, y, width, high, depth, true)) return;
    let left = x;
    for (const child of (node.children || []).slice().sort((a, b) => b.bytes - a.bytes)) {
      const wide = node.bytes > 0 ? width * child.bytes / node.bytes : 0;
      if (wide < LEAST_SIDE) break;
      this.icicle(child, left, y + high, wide, depth + 1);
      left += wide;
    }
  }
}
