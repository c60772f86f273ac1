// The account: bars that add up, and a line for each label.

const LEAST_LINE = 100_000, WIDE = 0.004;  // bytes; a part of the bar

class AccountBars {
  constructor(model) {
    this.model = model;
    this.chosen = null;
    this.draw();
  }

  draw() {
    const {model} = this, two = model.hasTwoAccounts;
    const most = Math.max(model.resident, model.residentBefore || 0);
    const rows = two ? [this.stack('before', 'before', model.residentBefore, most), this.stack('now', 'now', model.resident, most)] : [this.stack('now', null, model.resident, most)];
    byId('stacks').replaceChildren(...rows);
    const largest = Math.max(1, ...model.labels.map(l => Math.max(l.now, l.before || 0)));
    const isSmall = l => l.now < LEAST_LINE && Math.abs(l.now - (l.before === null ? l.now : l.before)) < LEAST_LINE;
    const lines = model.labels.map((l, i) => this.line(l, i, largest)), small = model.labels.filter(isSmall);
    const rest = element('details', {}, element('summary', {}, `${counted(small.length, 'smaller label')}, ${megabytes(small.reduce((sum, l) => sum + l.now, 0))} together`),
      ...lines.filter((_, i) => isSmall(model.labels[i])));
    byId('labels').replaceChildren(...lines.filter((_, i) => !isSmall(model.labels[i])), ...(small.length ? [rest] : []), this.sum());
  }

  // One bar of all labels; its pieces are as wide as their bytes, so that they add up to what is resident.
  stack(which, name, total, most) {
    const bar = element('div', {class: 'stack-bar', 'data-stack': which, role: 'img', 'aria-label': `${name || 'resident'}: ${megabytes(total)}`});
    for (const [i, l] of this.model.labels.entries()) {
      const bytes = which === 'now' ? l.now : l.before;
      if (!bytes) continue;
      const piece = element('i', {class: bytes > WIDE * most ? 'wide' : '', 'data-label': i, 'data-bytes': bytes, title: `${l.label}: ${megabytes(bytes)} (${percent(bytes, total)})`,
        onmouseenter: () => this.choose(i), onmouseleave: () => this.choose(null)});
      piece.style.width = 100 * bytes / most + '%';
      piece.style.background = l.color;
      bar.append(piece);
    }
    const number = element('span', {}, megabytes(total));
    return name ? element('div', {class: 'stack-row'}, element('span', {}, name), bar, number) : element('div', {class: 'stack-row single'}, bar, number);
  }

  line(l, i, largest) {
    const two = this.model.hasTwoAccounts, swatch = element('i', {}), filled = element('i', {});
    swatch.style.background = filled.style.background = l.color;
    filled.style.width = 100 * l.now / largest + '%';
    const last = two ? element('span', {class: 'number ' + growClass(l.now - l.before)}, grownBytes(l.now - l.before)) :
      element('span', {class: 'number'}, percent(l.now, this.model.resident).replace(/(\.\d)\d/, '$1'));
    const row = element('div', {class: two ? 'label-row two' : 'label-row', 'data-label': i, 'data-kind': l.kind, 'data-detail': l.detail || '', 'data-bytes': l.now, title: this.hint(l),
      onmouseenter: () => this.choose(i), onmouseleave: () => this.choose(null)},
    swatch, element('span', {class: 'name-of'}, l.label), element('span', {class: 'bar'}, filled), element('span', {class: 'number'}, megabytes(l.now)), last);
    if (this.isRemarkable(l)) row.append(element('span', {class: 'hint'}, this.hint(l)));
    return row;
  }

  // What is said at once: the largest line, or the one that grew most.
  isRemarkable(l) {
    const {labels, hasTwoAccounts} = this.model;
    const size = hasTwoAccounts ? x => x.now - x.before : x => x.now;
    return size(l) > 0 && size(l) === Math.max(...labels.map(size));
  }

  hint(l) { return [l.growsBy ? `grows by ${l.growsBy}` : '', l.shrinksBy ? `gets smaller by ${l.shrinksBy}` : ''].filter(Boolean).join('; '); }

  sum() {
    const {model} = this, two = model.hasTwoAccounts;
    const last = two ? element('span', {class: 'number ' + growClass(model.resident - model.residentBefore)}, grownBytes(model.resident - model.residentBefore)) : element('span', {class: 'number'}, '100 %');
    return element('div', {class: two ? 'label-row two sum' : 'label-row sum', 'data-bytes': model.resident, 'data-grown': two ? model.resident - model.residentBefore : 0}, element('i', {}), element('span', {class: 'name-of'}, 'all of it'), element('span', {class: 'gap'}),
      element('span', {class: 'number'}, megabytes(model.resident)), last);
  }

  choose(i) {
    for (const piece of document.querySelectorAll('.stack-bar i')) piece.classList.toggle('dim', i !== null && Number(piece.dataset.label) !== i);
    for (const row of document.querySelectorAll('.label-row')) row.classList.toggle('chosen', i !== null && Number(row.dataset.label) === i);
  }
}
