// Functions with self and total. Only the rows that are seen are made.

const TABLE_ROW = 24;

// Type and method: the rest is in the row's tooltip.
function tableName(name) {
  const forms = shorterNames(name.slice(0, 2000));
  return forms.length > 2 ? forms[forms.length - 2] : forms[0];
}

class FunctionTable {
  // `events`: {chosen(function), opened(function)}.
  constructor(head, scroller, rows, events) {
    Object.assign(this, {head, scroller, rows, events});
    this.sort = 'self';
    this.down = true;
    this.order = [];
    this.selected = -1;
    scroller.addEventListener('scroll', () => this.draw());
    scroller.addEventListener('keydown', e => this.key(e));
  }

  // `figures`: {self, total, all, period, before: the same of the other recording or null}.
  show(functions, figures, filter, colors) {
    Object.assign(this, {functions, figures, filter, colors});
    this.columns = figures.before ?
      [['self', 'Self %'], ['selfChange', '\u0394 self'], ['total', 'Total %'], ['totalChange', '\u0394 total']] :
      [['self', 'Self %'], ['selfTime', 'Self'], ['total', 'Total %'], ['totalTime', 'Total']];
    if (innerWidth <= 760) this.columns = this.columns.filter(([id]) => !id.endsWith('Time'));
    if (figures.before && !this.wasDifference) this.sort = 'selfChange';
    this.wasDifference = figures.before !== null;
    this.arrange();
  }

  value(column, f) {
    const now = this.figures, before = now.before;
    const share = (list, of) => of.all > 0 ? list[f] / of.all : 0;
    switch (column) {
      case 'total': case 'totalTime': return now.total[f];
      case 'selfChange': return share(now.self, now) - share(before.self, before);
      case 'totalChange': return share(now.total, now) - share(before.total, before);
      default: return now.self[f];
    }
  }

  arrange() {
    const now = this.figures, list = [];
    for (let f = 0; f < this.functions.count; f++) {
      const there = now.total[f] > 0 || (now.before && now.before.total[f] > 0);
      if (there && (!this.filter || this.filter[f])) list.push(f);
    }
    if (this.sort === 'name') {
      list.sort((a, b) => this.functions.names[a] < this.functions.names[b] ? -1 : 1);
    } else {
      const values = new Float64Array(this.functions.count), change = this.sort.endsWith('Change');
      for (const f of list) values[f] = change ? Math.abs(this.value(this.sort, f)) : this.value(this.sort, f);
      list.sort((a, b) => values[b] - values[a] || now.total[b] - now.total[a]);
    }
    this.order = this.down ? list : list.reverse();
    this.rows.style.height = this.order.length * TABLE_ROW + 'px';
    this.drawHead();
    this.draw();
  }

  drawHead() {
    const button = (id, text, style) => element('button', {
      type: 'button', class: style + (this.sort === id ? ' sorted' : ''), role: 'columnheader', 'data-sort': id,
      'aria-sort': this.sort !== id ? 'none' : this.down ? 'descending' : 'ascending', onclick: () => this.sortBy(id),
    }, text + (this.sort === id ? (this.down ? ' \u2193' : ' \u2191') : ''));
    this.head.replaceChildren(button('name', counted(this.order.length, 'function'), 'name'),
      ...this.columns.map(([id, text]) => button(id, text, 'figure')));
  }

  sortBy(id) {
    this.down = this.sort === id ? !this.down : true;
    this.sort = id;
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  draw() {
    const first = Math.max(Math.floor(this.scroller.scrollTop / TABLE_ROW) - 4, 0);
    const last = Math.min(first + Math.ceil(this.scroller.clientHeight / TABLE_ROW) + 8, this.order.length);
    const made = [];
    for (let i = first; i < last; i++) made.push(this.row(i));
    this.rows.replaceChildren(...made);
  }

  row(i) {
    const f = this.order[i], swatch = element('i', {});
    swatch.style.background = this.colors[f];
    const row = element('div', {class: f === this.selected ? 'row selected' : 'row', role: 'row', 'data-function': f,
                                title: `${this.functions.names[f]}\n${this.functions.modules[f]}`,
                                onclick: () => this.events.chosen(f), ondblclick: () => this.events.opened(f)},
      element('div', {class: 'name'}, swatch, element('span', {}, tableName(this.functions.names[f])),
        element('small', {}, this.functions.modules[f])),
      ...this.columns.map(([id]) => this.cell(id, f)));
    row.style.top = i * TABLE_ROW + 'px';
    return row;
  }

  cell(id, f) {
    const now = this.figures, value = this.value(id, f);
    if (id.endsWith('Change')) {
      return element('div', {class: 'figure ' + (value > 0.00005 ? 'grow' : value < -0.00005 ? 'shrink' : '')}, points(value));
    }
    if (id.endsWith('Time')) return element('div', {class: 'figure'}, now.period ? duration(value * now.period) : now.isOfBytes ? byteWords(value) : count(value));
    return element('div', {class: 'figure'}, percent(value, now.all).replace(' %', ''));
  }

  select(f) {
    this.selected = f;
    const at = this.order.indexOf(f) * TABLE_ROW;
    const seen = this.scroller.scrollTop, height = this.scroller.clientHeight;
    if (at >= 0 && (at < seen || at + TABLE_ROW > seen + height)) this.scroller.scrollTop = at - height / 2;
    this.draw();
  }

  key(e) {
    const step = {ArrowUp: -1, ArrowDown: 1}[e.key];
    if (step === undefined && e.key !== 'Enter') return;
    e.preventDefault();
    e.stopPropagation();
    if (e.key === 'Enter') {
      if (this.selected >= 0) this.events.opened(this.selected);
      return;
    }
    const at = this.order.indexOf(this.selected) + step;
    if (at >= 0 && at < this.order.length) this.events.chosen(this.order[at]);
  }
}
