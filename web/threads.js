// Which threads are looked at: a list to choose from, with how much each was sampled.

// Threads of one recording stand for themselves; of two that are compared, those of one name are one.
class ThreadGroups {
  constructor(recordings) {
    this.byName = recordings.length > 1;
    this.recordings = recordings;
  }

  nameOf(r, index) {
    const thread = r.threads[index];
    return thread.name || thread.comm || `thread ${thread.tid}`;
  }

  group(r, index) { return this.byName ? this.nameOf(r, index) : index; }

  // Groups with periods by state, of the chosen clock, most first.
  list(clock) {
    const groups = new Map();
    for (const r of this.recordings) {
      const counts = new Float64Array(r.context_thread.length);
      for (let i = 0; i < r.sample_slice.length; i++) counts[r.sample_context[i]] += r.sample_count[i];
      for (let c = 0; c < counts.length; c++) {
        const group = this.entry(groups, r, r.context_thread[c]);
        if (r.context_clock[c] !== clockOf(r, clock)) continue;
        group.counts[Math.min(r.context_activity[c], 4)] += counts[c];
        group.all += counts[c];
      }
    }
    return [...groups.values()].sort((a, b) => b.all - a.all || (a.name < b.name ? -1 : 1));
  }

  entry(groups, r, index) {
    const id = this.group(r, index);
    let group = groups.get(id);
    if (!group) {
      const thread = r.threads[index], process = r.processes[thread.process];
      const where = this.byName ? '' : r.processes.length > 1 ? `${thread.tid} in ${process.comm} ${process.pid}` : String(thread.tid);
      group = {id, name: this.nameOf(r, index), where, counts: [0, 0, 0, 0, 0], all: 0};
      groups.set(id, group);
    }
    return group;
  }
}

// The dialog. `chosen`: null for all, or a Set; `changed(null or Set)` at each change.
class ThreadDialog {
  constructor(list, chosen, theme, changed) {
    Object.assign(this, {list, theme, changed});
    this.chosen = new Set(chosen || list.map(t => t.id));
    this.rows = element('div', {});
    this.filter = element('input', {type: 'search', placeholder: 'Filter', 'aria-label': 'filter threads', oninput: () => this.draw()});
    const button = (text, ids) => element('button', {type: 'button', onclick: () => this.choose(ids())}, text);
    this.body = element('div', {class: 'body'},
      element('div', {class: 'thread-tools'}, this.filter, button('All', () => this.list.map(t => t.id)),
        button('Only those shown', () => this.shown().map(t => t.id)), button('None', () => [])),
      this.rows);
    this.draw();
  }

  shown() {
    const text = this.filter.value.toLowerCase();
    return this.list.filter(t => `${t.name} ${t.where}`.toLowerCase().includes(text));
  }

  choose(ids) {
    this.chosen = new Set(ids);
    this.changed(this.chosen.size === this.list.length ? null : this.chosen);
    this.draw();
  }

  draw() {
    const most = Math.max(...this.list.map(t => t.all), 1), shown = this.shown();
    this.rows.replaceChildren(...shown.slice(0, 1000).map(t => this.row(t, most)));
    if (shown.length > 1000) this.rows.append(element('p', {}, `and ${count(shown.length - 1000)} more: filter them`));
  }

  row(thread, most) {
    const toggle = () => {
      const ids = new Set(this.chosen);
      if (!ids.delete(thread.id)) ids.add(thread.id);
      this.choose(ids);
    };
    const box = element('input', {type: 'checkbox', 'aria-label': thread.name, onchange: toggle});
    box.checked = this.chosen.has(thread.id);
    const bar = element('div', {class: 'bar'}, ...thread.counts.map((value, a) => {
      const part = element('i', {title: ACTIVITIES[a]});
      part.style.width = 100 * value / most + '%';
      part.style.background = ACTIVITY_COLORS[this.theme][a];
      return part;
    }));
    return element('div', {class: 'thread'}, box,
      element('div', {class: 'what', title: thread.name}, thread.name + ' ', element('small', {}, thread.where)),
      element('div', {class: 'number'}, count(thread.all)), bar,
      element('button', {type: 'button', onclick: () => this.choose([thread.id])}, 'only'));
  }
}
