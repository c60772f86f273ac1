// What threads did over time, by state, with a range that can be selected.

const AXIS = 15;

class Timeline {
  // `changed(range or null, done)`: the range while it is dragged, and when that is done.
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.range = null;
    this.start = null;
    canvas.addEventListener('pointerdown', e => this.press(e));
    canvas.addEventListener('pointermove', e => this.move(e));
    canvas.addEventListener('pointerup', e => this.release(e));
    canvas.addEventListener('pointercancel', () => { this.start = null; });
    canvas.addEventListener('keydown', e => this.key(e));
  }

  // Periods per slice and state of the wanted contexts. A period longer than a slice is spread over its slices.
  measure(r, wanted, period_ns) {
    this.slices = r.slices;
    this.slice_ns = r.slice_ns;
    this.counts = ACTIVITIES.map(() => new Float64Array(r.slices));
    this.pending = new Float64Array(r.slices);
    const spread = Math.max(Math.round(period_ns / r.slice_ns), 1);
    for (let i = 0; i < r.sample_slice.length; i++) {
      const context = r.sample_context[i];
      if (!wanted[context]) continue;
      const slice = r.sample_slice[i], part = r.sample_count[i] / spread;
      this.add(this.counts[Math.min(r.context_activity[context], 4)], slice, spread, part);
      if (r.context_gc_pending[context]) this.add(this.pending, slice, spread, part);
    }
    if (spread === 1) return;
    for (const list of [...this.counts, this.pending]) for (let s = 1; s < list.length; s++) list[s] = Math.max(list[s] + list[s - 1], 0);
  }

  // Where it begins and ends; summed up later.
  add(list, slice, spread, part) {
    list[slice] += part;
    if (spread > 1 && slice + spread < list.length) list[slice + spread] -= part;
  }

  // Slices put together so that a column is at least three pixels wide.
  columns() {
    const most = Math.max(Math.floor(this.width / 3), 1);
    const each = Math.ceil(this.slices / most), list = [];
    for (let from = 0; from < this.slices; from += each) {
      const to = Math.min(from + each, this.slices), values = ACTIVITIES.map(() => 0);
      let pending = 0, all = 0;
      for (let s = from; s < to; s++) {
        for (let a = 0; a < values.length; a++) values[a] += this.counts[a][s];
        pending += this.pending[s];
      }
      for (const value of values) all += value;
      list.push({from, to, values, pending, height: all / (to - from)});
    }
    return list;
  }

  draw(theme) {
    if (!this.counts) return;
    this.theme = theme || this.theme;
    const ratio = window.devicePixelRatio || 1, c = this.canvas.getContext('2d');
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawColumns(c, this.columns());
    this.drawAxis(c);
    this.drawRange(c);
  }

  drawColumns(c, columns) {
    const room = this.height - AXIS - 4;
    let most = 0;
    for (const column of columns) most = Math.max(most, column.height);
    if (most === 0) return;
    for (const column of columns) {
      const x = Math.round(this.xOf(column.from)), w = Math.max(Math.round(this.xOf(column.to)) - x, 1), each = column.to - column.from;
      let y = this.height - AXIS;
      for (let a = 0; a < column.values.length; a++) {
        const h = column.values[a] / each / most * room;
        if (h < 1e-6) continue;
        y -= h;
        c.fillStyle = ACTIVITY_COLORS[this.theme][a];
        c.fillRect(x, y, w, h);
      }
      if (column.pending < 1e-6) continue;
      c.fillStyle = GC_COLOR[this.theme];
      c.fillRect(x, this.height - AXIS - 1, w, 3);
    }
  }

  drawAxis(c) {
    const all = this.slices * this.slice_ns / 1e9, steps = [1, 2, 5];
    let step = 1e-6;
    for (let i = 0; all / step > Math.max(this.width / 90, 2); i++) step = steps[i % 3] * 10 ** (Math.floor(i / 3) - 6);
    c.font = '11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
    c.fillStyle = this.theme === 'dark' ? '#9aa4b1' : '#5c6570';
    c.textBaseline = 'bottom';
    for (let t = 0; t <= all; t += step) {
      const x = t / all * this.width;
      c.fillRect(x, this.height - AXIS + 2, 1, 4);
      const text = duration(t * 1e9).replace(/\.0+ /, ' ');
      if (x + 4 + c.measureText(text).width < this.width) c.fillText(text, x + 4, this.height - 1);
    }
  }

  drawRange(c) {
    if (!this.range) return;
    const from = this.xOf(this.range[0]), to = Math.max(this.xOf(this.range[1]), from + 1);
    c.fillStyle = this.theme === 'dark' ? 'rgb(10 12 15 / 62%)' : 'rgb(246 247 249 / 74%)';
    c.fillRect(0, 0, from, this.height);
    c.fillRect(to, 0, this.width - to, this.height);
    c.fillStyle = this.theme === 'dark' ? '#5b93ec' : '#2563c9';
    c.fillRect(from, 0, 2, this.height);
    c.fillRect(to - 2, 0, 2, this.height);
  }

  xOf(slice) { return slice / this.slices * this.width; }
  sliceAt(x) { return Math.max(0, Math.min(this.slices, x / this.width * this.slices)); }

  press(e) {
    if (e.button !== 0) return;
    this.start = e.offsetX;
    this.canvas.setPointerCapture(e.pointerId);
  }

  move(e) {
    if (this.start === null || Math.abs(e.offsetX - this.start) < 3) return;
    this.select(this.between(this.start, e.offsetX), false);
  }

  release(e) {
    if (this.start === null) return;
    const from = this.start;
    this.start = null;
    this.select(Math.abs(e.offsetX - from) < 3 ? null : this.between(from, e.offsetX), true);
  }

  between(a, b) {
    const from = Math.floor(this.sliceAt(Math.min(a, b))), to = Math.ceil(this.sliceAt(Math.max(a, b)));
    return [Math.min(from, this.slices - 1), Math.max(to, from + 1)];
  }

  // Arrows move the range, with Shift its end.
  key(e) {
    const way = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (!way) return;
    e.preventDefault();
    e.stopPropagation();
    const step = Math.max(Math.round(this.slices / 50), 1) * way;
    const [from, to] = this.range || [0, Math.max(Math.round(this.slices / 10), 1)];
    if (!this.range) return this.select([from, to], true);
    if (e.shiftKey) return this.select([from, Math.min(Math.max(to + step, from + 1), this.slices)], true);
    const moved = Math.max(-from, Math.min(step, this.slices - to));
    this.select([from + moved, to + moved], true);
  }

  select(range, done) {
    this.range = range;
    this.draw();
    this.changed(range, done);
  }
}
