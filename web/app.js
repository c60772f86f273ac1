// All together: what is looked at (`state`), and what must be made anew when it changes.

class App {
  constructor() {
    this.state = {
      icicle: false, inverted: false, query: '', clock: 0, defaultClock: 0, activities: ACTIVITIES.map(() => true), defaultActivities: ACTIVITIES.map(() => true),
      hidden: KINDS.map(() => false), gc: 'any', mode: 'any', threads: null, range: null, zoom: [], side: 'after',
      part: 'graph', defaultPart: 'graph',
    };
    this.graph = new Graph(byId('graph'), byId('scroller'), byId('spacer'));
    this.timeline = new Timeline(byId('timeline'), (range, done) => this.chooseRange(range, done));
    this.table = new FunctionTable(byId('table-head'), byId('table-scroller'), byId('table-rows'), {
      chosen: f => this.chooseFunction(f), opened: f => this.showCallersOf(f)});
    this.tooltip = new Tooltip(byId('tooltip'));
    this.marked = -1;  // function chosen in the table
    this.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }

  // The first time, and again with newer ones.
  open(recordings, before) {
    const first = !this.recordings;
    const paths = first ? null : this.pathNames();
    this.recordings = recordings;
    this.isDifference = before;
    this.groups = new ThreadGroups(recordings);
    this.functions = new Functions(recordings);
    this.graph.labels.clear();
    this.colors = functionColors(this.functions, this.theme);
    if (first) this.firstLook();
    else this.restoreNames(paths);
    this.controls.describe();
    this.makeForest();
  }

  firstLook() {
    const {state} = this, {look} = this.recordings[this.recordings.length - 1];
    this.findClocks();
    state.clock = state.defaultClock = look.clock ?? (this.clocks.has(0) ? 0 : 1);
    state.defaultActivities = ACTIVITIES.map(word => look.idle || !WAITING.includes(word));
    state.defaultInverted = look.inverted;
    state.part = state.defaultPart = innerWidth >= 1100 ? 'both' : 'graph';
    readAddress(location.hash, state, this.recordings);
    this.timeline.range = state.range;
    this.controls = new Controls(this);
  }

  // Numbers of functions are those of one recording: across a newer one, names are kept.
  pathNames() {
    const name = f => f < 0 ? null : this.functions.names[f] + '\n' + this.functions.modules[f] + '\n' + this.functions.kinds[f];
    return {zoom: this.state.zoom.map(name), marked: name(this.marked), selected: this.tree.keysTo(this.graph.selected).map(name)};
  }

  restoreNames({zoom, marked, selected}) {
    const numbers = new Map();
    for (let f = 0; f < this.functions.count; f++) {
      numbers.set(this.functions.names[f] + '\n' + this.functions.modules[f] + '\n' + this.functions.kinds[f], f);
    }
    const number = name => numbers.get(name) ?? -1;
    this.state.zoom = zoom.map(number);
    this.marked = marked === null ? -1 : number(marked);
    this.keepSelected = selected.map(number);
    this.findClocks();
  }

  // Those that there are samples of.
  findClocks() {
    this.clocks = new Set();
    for (const r of this.recordings) {
      r.clocks = new Set();
      for (const c of r.sample_context) r.clocks.add(r.context_clock[c]);
      r.clocks.forEach(c => this.clocks.add(c));
    }
  }

  shownIndex() { return this.isDifference && this.state.side === 'before' ? 0 : this.recordings.length - 1; }
  shown() { return this.recordings[this.shownIndex()]; }
  period() {
    const {facts} = this.shown(), hertz = [facts.cpu_hertz, facts.wall_hertz, 0][clockOf(this.shown(), this.state.clock)];
    return hertz ? 1e9 / hertz : 0;
  }

  // So much of the chosen clock in words.
  amount(value) {
    if (this.isOfBytes()) return byteWords(value);
    const period = this.period();
    return counted(value, 'sample') + (period ? ', ' + duration(value * period) : '');
  }
  isOfBytes() { return clockOf(this.shown(), this.state.clock) === 2; }

  makeForest() {
    this.forest = new Forest(this.recordings, this.functions, this.state.hidden);
    this.weigh();
  }

  // After a change of filters.
  weigh() {
    const shown = this.shownIndex();
    const weights = this.recordings.map((r, i) => {
      const wanted = wantedContexts(r, this.state, index => this.groups.group(r, index));
      return new Weights(r, this.forest, this.forest.nodeOf[i], wanted, i === shown ? this.state.range : null);
    });
    this.weights = weights[shown];
    this.otherWeights = this.isDifference ? weights[1 - shown] : null;
    this.before = this.isDifference ? weights[0] : null;
    this.after = weights[weights.length - 1];
    this.places = new Places(this.shown(), this.forest, this.forest.nodeOf[shown], this.functions.numbers[shown]);
    this.measureTime();
    this.makeTree();
    this.makeTable();
    this.controls.counts();
  }

  measureTime() {
    const r = this.shown();
    this.timeline.measure(r, wantedContexts(r, this.state, index => this.groups.group(r, index)), this.period());
    this.timeline.draw(this.theme);
  }

  makeTree() {
    const selected = this.keepSelected || (this.tree ? this.tree.keysTo(this.graph.selected) : []);
    this.keepSelected = null;
    this.tree = this.state.inverted ? new Callers(this.forest, this.weights, this.otherWeights) :
      new Callees(this.forest, this.weights, this.otherWeights);
    this.graph.zoom = this.tree.find(this.state.zoom);
    this.state.zoom = this.tree.keysTo(this.graph.zoom);
    const found = this.tree.find(selected);
    this.graph.selected = this.tree.depth(found) === selected.length ? found : 0;
    this.graph.hovered = 0;
    this.search();
    this.layout();
  }

  // The change in share of a node, recordings compared.
  change(node) {
    const here = this.weights.all > 0 ? this.tree.value(node) / this.weights.all : 0;
    const there = this.otherWeights && this.otherWeights.all > 0 ? this.tree.otherValue(node) / this.otherWeights.all : 0;
    return this.state.side === 'before' ? there - here : here - there;
  }

  fill(node, key) {
    if (node === 0) return this.theme === 'dark' ? '#3a414b' : '#d5dae1';
    if (!this.isDifference) return this.colors[key];
    return changeColor(this.change(node), 0.1, this.theme);
  }

  layout() {
    const {graph, state} = this;
    graph.resize();
    graph.icicle = state.icicle;
    const all = this.weights.all;
    graph.show(this.tree, {
      fill: (node, key) => this.fill(node, key), marks: this.marks, theme: this.theme, names: this.functions.names,
      rootName: `all: ${this.amount(all)}`,
    });
    graph.layout();
    byId('nothing').hidden = all > 0;
    if (all === 0) byId('nothing').textContent = this.whyNothing();
    graph.scrollToZoom();
    graph.draw();
    this.controls.crumbs();
    this.controls.status();
    this.remember();
  }

  whyNothing() {
    const r = this.shown(), {state} = this;
    const activities = ACTIVITIES.map((word, a) => state.activities[a] || WAITING.includes(word));
    const wanted = wantedContexts(r, {...state, activities}, index => this.groups.group(r, index));
    let waited = 0;
    for (let i = 0; i < r.sample_slice.length; i++) if (wanted[r.sample_context[i]]) waited += r.sample_count[i];
    const untouched = !state.range && state.activities.every((on, a) => on === state.defaultActivities[a]);
    return waited && untouched ? `All threads waited. ${counted(waited, 'sample')} of them: click "waiting" above to take them in.` :
      'No samples of this choice of threads, states and time.';
  }

  remember() {
    const address = addressOf(this.state);
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => history.replaceState(null, '', address ? '#' + address : location.pathname + location.search), 150);
  }

  // ---- search
  pattern(query) {
    const slashes = query.match(/^\/(.+)\/$/);
    if (slashes) return new RegExp(slashes[1], 'i');
    return new RegExp(query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
  }

  // Marks what is found, or the function chosen in the table.
  search() {
    const {query} = this.state, functions = this.functions;
    this.marks = null;
    this.found = null;
    this.searchError = '';
    if (query) {
      try {
        const pattern = this.pattern(query);
        this.marks = Uint8Array.from(functions.names, (name, f) => pattern.test(name) || pattern.test(functions.modules[f]) ? 1 : 0);
      } catch {
        this.searchError = 'no regular expression';
      }
    } else if (this.marked >= 0) {
      this.marks = new Uint8Array(functions.count);
      this.marks[this.marked] = 1;
    }
    if (this.marks) this.found = this.weights.ofMarked(this.forest, this.marks);
    this.controls.matched();
  }

  searchFor(query) {
    this.state.query = query;
    if (query) this.marked = this.table.selected = -1;
    this.search();
    this.graph.look.marks = this.marks;
    this.graph.draw();
    this.makeTable();
    this.controls.status();
    this.remember();
  }

  makeTable() {
    if (this.state.part === 'graph') return;
    const {self, total} = this.after.byFunction(this.forest);
    const before = this.before ? {...this.before.byFunction(this.forest), all: this.before.all} : null;
    this.table.selected = this.marked;
    this.table.show(this.functions, {self, total, all: this.after.all, period: this.period(), isOfBytes: this.isOfBytes(), before},
      this.state.query && this.marks ? this.marks : null, this.colors);
  }

  // ---- what people do
  zoomTo(node) {
    this.graph.zoom = node;
    this.graph.selected = node;
    this.state.zoom = this.tree.keysTo(node);
    this.layout();
  }

  select(node) {
    this.graph.selected = node;
    const box = this.graph.boxOf(node);
    if (box) this.graph.scrollToRow(box.row);
    this.graph.draw();
    this.controls.status();
  }

  chooseFunction(f) {
    this.marked = this.marked === f ? -1 : f;
    if (this.state.query) {
      this.state.query = '';
      byId('search').value = '';
      this.makeTable();
    }
    this.search();
    this.graph.look.marks = this.marks;
    this.graph.draw();
    this.table.select(this.marked);
    this.controls.status();
  }

  showCallersOf(f) {
    this.marked = f;
    this.state.inverted = true;
    this.state.zoom = [f];
    if (this.state.part === 'table') this.setPart('graph');
    this.makeTree();
    this.table.select(f);
    this.controls.pressed();
  }

  invert() {
    this.state.inverted = !this.state.inverted;
    this.state.zoom = [];
    this.graph.selected = 0;
    this.makeTree();
    this.controls.pressed();
  }

  setShape(icicle) {
    this.state.icicle = icicle;
    this.layout();
    this.controls.pressed();
  }

  setPart(part) {
    this.state.part = part;
    byId('main').dataset.part = part;
    this.controls.pressed();
    this.layout();
    this.makeTable();
  }

  // While a range is dragged, once a frame.
  chooseRange(range, done) {
    this.state.range = range;
    this.controls.range();
    if (this.weighing && !done) return;
    this.weighing = true;
    requestAnimationFrame(() => {
      this.weighing = false;
      this.weigh();
    });
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    this.colors = functionColors(this.functions, theme);
    this.controls.describe();
    this.timeline.draw(theme);
    this.layout();
    this.makeTable();
    this.controls.counts();
  }

  // What there is to take back, one at a time.
  escape() {
    if (this.state.query || this.marked >= 0) {
      byId('search').value = '';
      this.marked = -1;
      this.searchFor('');
      this.table.select(-1);
    } else if (this.state.zoom.length) {
      this.zoomTo(this.tree.root);
    } else if (this.state.range) {
      this.timeline.select(null, true);
    } else {
      this.select(0);
    }
  }
}

async function start() {
  const root = document.documentElement;
  root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const app = new App();
  globalThis.mixstackPage = app;
  const fail = error => {
    byId('nothing').hidden = false;
    byId('nothing').textContent = 'This page cannot be shown: ' + error.message;
    throw error;
  };
  if (root.dataset.mode === 'live') {
    app.live = new Live(r => app.open([r], false), text => showLive(app, text));
    showLive(app, 'connecting');  // its place is taken before anything is drawn
    await app.live.run();
  }
  try {
    const before = byId('data-before');
    const recordings = [];
    for (const block of before ? [before, byId('data-recording')] : [byId('data-recording')]) {
      recordings.push(await openRecording(bytesOfBase64(block.textContent)));
      block.remove();
    }
    app.open(recordings, before !== null);
    root.dataset.ready = '1';
  } catch (error) {
    fail(error);
  }
}

start();
