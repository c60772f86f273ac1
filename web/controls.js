// Buttons, fields and keys, and what they show.

class Controls {
  constructor(app) {
    this.app = app;
    byId('main').dataset.part = app.state.part;
    document.documentElement.dataset.theme = app.theme;
    byId('search').value = app.state.query;
    this.bindButtons();
    this.bindGraph();
    this.bindSearch();
    document.addEventListener('keydown', e => this.key(e));
    new ResizeObserver(() => this.resized()).observe(byId('scroller'));
    new ResizeObserver(() => app.timeline.draw(app.theme)).observe(byId('timeline'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', e => app.setTheme(e.matches ? 'dark' : 'light'));
  }

  resized() {
    const {app} = this;
    if (byId('scroller').clientWidth === app.graph.width && byId('scroller').clientHeight === app.graph.height) return;
    app.layout();
  }

  bindButtons() {
    const {app} = this, on = (id, act) => byId(id).addEventListener('click', act);
    on('flame', () => app.setShape(false));
    on('icicle', () => app.setShape(true));
    on('callees', () => { if (app.state.inverted) app.invert(); });
    on('callers', () => { if (!app.state.inverted) app.invert(); });
    for (const [id, clock] of [['cpu', 0], ['wall', 1]]) on(id, () => this.refilter(() => { app.state.clock = clock; }));
    for (const side of ['before', 'after']) on(side, () => this.refilter(() => { app.state.side = side; app.timeline.range = app.state.range = null; }));
    for (const part of ['graph', 'both', 'table']) on('part-' + part, () => app.setPart(part));
    on('theme-button', () => app.setTheme(app.theme === 'dark' ? 'light' : 'dark'));
    on('help-button', () => openDialog('Keys and mouse', helpBody()));
    on('about-button', () => openDialog('About this recording', aboutBody(app.recordings)));
    on('threads-button', () => this.openThreads());
    const gc = byId('gc');
    for (const [value, text] of [['any', 'GC: any'], ['in', 'during a GC'], ['out', 'not during a GC'], ['mode1', 'cooperative mode'], ['mode2', 'preemptive mode']])
      gc.append(element('option', {value}, text));
    gc.value = app.state.mode !== 'any' ? 'mode' + app.state.mode : app.state.gc;
    gc.addEventListener('change', () => this.refilter(() => {
      const mode = gc.value.startsWith('mode');
      app.state.gc = mode ? 'any' : gc.value;
      app.state.mode = mode ? Number(gc.value.slice(4)) : 'any';
    }));
  }

  refilter(change) {
    change();
    this.app.weigh();
    this.describe();
  }

  bindSearch() {
    const {app} = this, field = byId('search');
    field.addEventListener('input', () => {
      cancelAnimationFrame(this.searching);
      this.searching = requestAnimationFrame(() => app.searchFor(field.value));
    });
    field.addEventListener('keydown', e => {
      if (e.key === 'Enter') field.blur();
      if (e.key === 'Escape') {
        field.value = '';
        app.searchFor('');
        field.blur();
        e.stopPropagation();
      }
    });
  }

  bindGraph() {
    const {app} = this, canvas = byId('graph');
    canvas.addEventListener('mousemove', e => this.hover(app.graph.at(e.offsetX, e.offsetY), e));
    canvas.addEventListener('mouseleave', () => this.hover(null));
    canvas.addEventListener('click', e => {
      const node = app.graph.at(e.offsetX, e.offsetY);
      if (node === null || node < 0) return;
      app.tooltip.hide();
      app.zoomTo(node);
    });
    byId('scroller').addEventListener('scroll', () => app.tooltip.hide());
  }

  hover(node, e) {
    const {app} = this, was = app.graph.hovered;
    app.graph.hovered = node > 0 ? node : 0;
    if (app.graph.hovered !== was) app.graph.draw();
    if (node === null) return app.tooltip.hide();
    app.tooltip.show(e.clientX, e.clientY, node < 0 ? [element('p', {}, 'Many narrow boxes together: zoom in to see them.')] : describeNode(app, node));
  }

  key(e) {
    const {app} = this;
    if (e.ctrlKey || e.metaKey || e.altKey || byId('dialog').open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const act = {
      '/': () => { byId('search').focus(); byId('search').select(); },
      Escape: () => app.escape(),
      ArrowUp: () => app.select(app.graph.neighbour(app.state.icicle ? 'out' : 'in')),
      ArrowDown: () => app.select(app.graph.neighbour(app.state.icicle ? 'in' : 'out')),
      ArrowLeft: () => app.select(app.graph.neighbour('left')),
      ArrowRight: () => app.select(app.graph.neighbour('right')),
      '+': () => app.zoomTo(app.graph.selected || app.graph.hovered), '=': () => app.zoomTo(app.graph.selected || app.graph.hovered),
      '-': () => app.zoomTo(Math.max(app.tree.parent(app.graph.zoom), 0)),
      Enter: () => app.zoomTo(app.graph.selected),
      f: () => app.setShape(!app.state.icicle),
      i: () => app.invert(),
      t: () => this.nextPart(),
      d: () => app.setTheme(app.theme === 'dark' ? 'light' : 'dark'),
      '?': () => openDialog('Keys and mouse', helpBody()),
    }[e.key];
    if (!act || (e.key === 'Enter' && e.target.tagName === 'BUTTON')) return;
    e.preventDefault();
    act();
  }

  nextPart() {
    const parts = innerWidth > 760 ? ['graph', 'both', 'table'] : ['graph', 'table'];
    this.app.setPart(parts[(parts.indexOf(this.app.state.part) + 1) % parts.length]);
  }

  openThreads() {
    const {app} = this;
    const dialog = new ThreadDialog(app.groups.list(app.state.clock), app.state.threads, app.theme, chosen => this.refilter(() => { app.state.threads = chosen; }));
    openDialog('Threads', dialog.body);
  }

  // ---- what is shown
  describe() {
    const {app} = this, first = app.recordings[app.recordings.length - 1];
    const p = first.processes[0];
    const title = app.isDifference ? `${app.recordings[0].name} \u2192 ${app.recordings[1].name}` : first.name || (first.processes.length > 1 ? processNames(first) : p ? p.command || p.comm || processName(p) : '');
    byId('title').textContent = title;
    byId('title').title = title;
    const parts = app.isDifference ? app.recordings.map(r => element('div', {}, `${r.name}: `, ...accountLine(r))) : accountLine(first);
    byId('account').replaceChildren(...parts);
    byId('time').hidden = !hasTimes(app.shown());
    byId('activities').hidden = !app.recordings.some(hasStates);
    byId('clocks').hidden = app.recordings.every(r => r.clocks.size < 2);
    byId('sides').hidden = !app.isDifference;
    byId('gc').hidden = !app.recordings.some(r => r.context_gc_pending.some(Boolean) || r.context_gc_mode.some(Boolean));
    byId('states').hidden = byId('activities').hidden && byId('gc').hidden;
    const threads = app.state.threads, all = app.recordings[app.shownIndex()].threads;
    byId('threads-button').hidden = app.recordings.every(r => r.threads.every(t => !t.tid));
    byId('threads-button').textContent = threads === null ? `All threads (${count(all.length)})` :
      threads.size === 1 && !app.isDifference && all[[...threads][0]] ? app.groups.nameOf(first, [...threads][0]) : `${threads.size} of ${all.length} threads`;
    this.pressed();
    this.range();
  }

  pressed() {
    const {state} = this.app, press = (id, on) => byId(id).setAttribute('aria-pressed', on);
    press('flame', !state.icicle); press('icicle', state.icicle);
    press('callees', !state.inverted); press('callers', state.inverted);
    press('cpu', state.clock === 0); press('wall', state.clock === 1);
    press('after', state.side === 'after'); press('before', state.side === 'before');
    for (const part of ['graph', 'both', 'table']) press('part-' + part, state.part === part);
  }

  // Chips of states and kinds, with their shares.
  counts() {
    const {app} = this, r = app.shown();
    const byState = ACTIVITIES.map(() => 0);
    const wanted = wantedContexts(r, {...app.state, activities: ACTIVITIES.map(() => true)}, index => app.groups.group(r, index));
    const from = app.state.range ? firstSample(r, app.state.range[0]) : 0;
    const to = app.state.range ? firstSample(r, app.state.range[1]) : r.sample_slice.length;
    for (let i = from; i < to; i++) {
      const context = r.sample_context[i];
      if (wanted[context]) byState[Math.min(r.context_activity[context], 4)] += r.sample_count[i];
    }
    const all = byState.reduce((a, b) => a + b, 0);
    byId('activities').replaceChildren(...ACTIVITIES.map((word, a) => byState[a] || app.state.activities[a] !== app.state.defaultActivities[a] ?
      chip(word, percent(byState[a], all), ACTIVITY_COLORS[app.theme][a], app.state.activities[a], () => this.refilter(() => { app.state.activities[a] = !app.state.activities[a]; })) : null).filter(Boolean));
    this.legend();
  }

  legend() {
    const {app} = this, self = KINDS.map(() => 0), there = KINDS.map(() => false);
    for (const kind of app.functions.kinds) there[kind] = true;
    for (let n = 1; n < app.forest.count; n++) self[app.functions.kinds[app.forest.key[n]]] += app.weights.self[n];
    const chips = KINDS.map((kind, k) => there[k] ? chip(kind.word, app.state.hidden[k] ? 'hidden' : percent(self[k], app.weights.all), kindColor(k, app.theme), !app.state.hidden[k], () => {
      app.state.hidden[k] = !app.state.hidden[k];
      app.makeForest();
    }) : null).filter(Boolean);
    // Of names alone no kind is known: nothing to choose from.
    if (KINDS.every((kind, k) => !there[k] || (kind.id === 'unknown' && !app.state.hidden[k]))) chips.length = 0;
    if (app.isDifference) chips.unshift(element('span', {class: 'scale'}, 'shrank', element('i', {}), 'grew'));
    byId('legend').replaceChildren(...chips);
  }

  matched() {
    const {app} = this, box = byId('matched'), found = app.state.query && app.found !== null;
    box.className = found && app.found > 0 ? 'found' : '';
    box.textContent = app.searchError || (found ? (app.found > 0 ? `matched ${percent(app.found, app.weights.all)}` : 'no match') : '');
  }

  range() {
    const {app} = this, {range} = app.state, ns = app.shown().slice_ns;
    const words = range ? `${duration(range[0] * ns)} to ${duration(range[1] * ns)}` : '';
    byId('timeline').setAttribute('aria-valuetext', words || 'all of it');
    byId('range').replaceChildren(...(range ? [words, element('button', {type: 'button', onclick: () => app.timeline.select(null, true)}, 'all')] : []));
  }

  crumbs() {
    const {app} = this, way = [];
    for (let n = app.graph.zoom; n >= 0; n = app.tree.parent(n)) way.unshift(n);
    const shown = way.length > 9 ? [way[0], -1, ...way.slice(-7)] : way;
    byId('crumbs').replaceChildren(...shown.flatMap((n, i) => {
      const text = n === 0 ? 'all' : n < 0 ? '\u2026' : shorterNames(app.functions.names[app.tree.key(n)]).slice(-2)[0];
      const part = n < 0 ? element('span', {}, text) : element('button', {type: 'button', title: n ? app.functions.names[app.tree.key(n)] : 'all', onclick: () => app.zoomTo(n)}, text);
      return i ? [element('span', {}, '\u203a'), part] : [part];
    }));
  }

  // The line at the bottom: the chosen function, or the selected box.
  status() {
    const {app} = this, node = app.graph.selected;
    if (app.marked >= 0) return this.functionStatus(app.marked);
    if (node <= 0) return byId('status').replaceChildren(element('span', {}, `Click a box to zoom${hasTimes(app.shown()) ? ', drag over the timeline to choose a part of the time' : ''}. Keys: ?`));
    const key = app.tree.key(node);
    byId('status').replaceChildren(element('b', {}, app.functions.names[key]), element('span', {}, app.functions.modules[key]),
      element('span', {}, `${percent(app.tree.value(node), app.weights.all)} of all, ${app.isOfBytes() ? byteWords(app.tree.value(node)) : counted(app.tree.value(node), 'sample')}`),
      element('button', {type: 'button', onclick: () => app.showCallersOf(key)}, 'Callers'));
  }

  functionStatus(f) {
    const {app} = this, {self, total} = app.weights.byFunction(app.forest);
    byId('status').replaceChildren(element('b', {}, app.functions.names[f]), element('span', {}, app.functions.modules[f]),
      element('span', {}, `self ${percent(self[f], app.weights.all)}, total ${percent(total[f], app.weights.all)}`),
      element('button', {type: 'button', onclick: () => app.showCallersOf(f)}, 'Callers'));
  }
}

function chip(word, figure, color, on, toggle) {
  const swatch = element('i', {});
  swatch.style.background = color;
  return element('button', {type: 'button', class: 'chip', 'aria-pressed': String(on), title: on ? 'click to take it out' : 'click to take it in', onclick: toggle},
    swatch, word, element('small', {}, figure));
}

// Content of the tooltip of a box.
function describeNode(app, node) {
  if (node === 0) return [element('b', {}, 'all'), element('p', {}, app.amount(app.weights.all))];
  const {tree, functions} = app, key = tree.key(node), value = tree.value(node), all = app.weights.all;
  const amount = n => n === 0 ? 'none' : `${percent(n, all)}, ${app.amount(n)}`;
  const rows = [[app.state.inverted ? 'here' : 'total', amount(value)], [app.state.inverted ? 'not called' : 'self', amount(tree.self(node))]];
  if (app.graph.zoom !== 0) rows.push(['of the zoomed', percent(value, tree.value(app.graph.zoom))]);
  if (app.isDifference) rows.push(['change', `${points(app.change(node))} points of share`]);
  const place = app.places.of(node, tree);
  const lines = [functions.modules[key] && (functions.paths[key] || functions.modules[key]), KINDS[functions.kinds[key]].word, ...place].filter(Boolean);
  return [element('b', {}, functions.names[key]), ...lines.map(line => element('p', {}, line)),
    element('table', {}, ...rows.map(([word, text]) => element('tr', {}, element('td', {}, word), element('td', {}, text))))];
}

function showLive(app, text) {
  const box = byId('live'), {live} = app;
  box.hidden = false;
  document.documentElement.dataset.ready = app.recordings ? '1' : '';
  document.documentElement.dataset.version = live.version;
  const button = element('button', {type: 'button', onclick: () => { live.paused = !live.paused; showLive(app, live.paused ? 'paused' : 'live'); }}, live.paused ? 'Go on' : 'Pause');
  box.replaceChildren(text, text === 'ended' ? '' : button);
}
