// Types as a table that can be sorted and searched. Only the rows that are seen are made.

const TYPE_ROW = 24;

class TypeTable {
  constructor(model) {
    this.types = model.types;
    this.two = model.growth !== null;
    this.hasKept = model.types.some(t => t.kept !== null);
    this.columns = [['bytes', 'MB'], ['objects', 'Objects'], ...(this.two ? [['grown', '\u0394 MB'], ['grownObjects', '\u0394 objects']] : [['old', 'Old MB']]), ...(this.hasKept ? [['kept', '\u0394 kept MB']] : [])];
    this.sort = this.hasKept ? 'kept' : this.two ? 'grown' : 'bytes';
    this.down = true;
    this.words = '';
    byId('table-scroller').addEventListener('scroll', () => this.draw());
    this.arrange();
  }

  search(query) {
    this.words = query.trim().toLowerCase();
    byId('table-scroller').scrollTop = 0;
    this.arrange();
    byId('matched').textContent = this.words ? counted(this.order.length, 'type') : '';
  }

  sortBy(id) {
    this.down = this.sort === id ? !this.down : id !== 'name';
    this.sort = id;
    byId('table-scroller').scrollTop = 0;
    this.arrange();
  }

  arrange() {
    const {sort} = this, sign = this.down ? -1 : 1;
    const value = t => t[sort] === null ? -Infinity : t[sort];
    this.order = this.types.filter(t => !this.words || t.name.toLowerCase().includes(this.words));
    this.order.sort((a, b) => sign * (sort === 'name' ? (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) : value(a) - value(b)) || b.bytes - a.bytes);
    byId('table-rows').style.height = this.order.length * TYPE_ROW + 'px';
    this.drawHead();
    this.draw();
  }

  drawHead() {
    const button = (id, text, style) => element('button', {
      type: 'button', class: style + (this.sort === id ? ' sorted' : ''), role: 'columnheader', 'data-sort': id,
      'aria-sort': this.sort !== id ? 'none' : this.down ? 'descending' : 'ascending', onclick: () => this.sortBy(id),
    }, text + (this.sort === id ? (this.down ? ' \u2193' : ' \u2191') : ''));
    byId('table-head').replaceChildren(button('name', 'Type', 'name'), ...this.columns.map(([id, text]) => button(id, text, 'figure')));
  }

  draw() {
    const scroller = byId('table-scroller'), first = Math.max(Math.floor(scroller.scrollTop / TYPE_ROW) - 4, 0);
    const last = Math.min(first + Math.ceil(scroller.clientHeight / TYPE_ROW) + 8, this.order.length), made = [];
    for (let i = first; i < last; i++) {
      const t = this.order[i];
      const row = element('div', {class: 'row', role: 'row', title: t.name},
        element('div', {class: 'name'}, element('span', {class: t.isFree ? 'faint' : ''}, t.name)), ...this.columns.map(([id]) => this.cell(id, t)));
      row.style.top = i * TYPE_ROW + 'px';
      made.push(row);
    }
    byId('table-rows').replaceChildren(...made);
  }

  cell(id, t) {
    const value = t[id];
    if (value === null) return element('div', {class: 'figure'});
    const text = id === 'objects' || id === 'grownObjects' ? count(Math.abs(value)) : megabytes(Math.abs(value)).replace(' MB', '');
    const isChange = id.startsWith('grown') || id === 'kept';
    return element('div', {class: 'figure ' + (isChange && text !== '0.0' ? growClass(value) : '')}, isChange && text !== '0.0' ? signed(value, text) : text);
  }
}
