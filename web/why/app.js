// All together: what is shown, what is chosen, keys.

class WhyApp {
  constructor(data) {
    this.data = data;
    this.graph = new WhyGraph(data);
    this.picture = new Picture(byId('picture'), node => this.open(node));
    this.describe();
    byId('verdicts').replaceChildren(...verdictCards(data, this.graph, tid => this.showThread(tid)));
    this.search('');
    this.picture.draw(this.graph);
    byId('nothing').hidden = this.graph.nodes.length > 0;
    byId('nothing').textContent = 'No thread waits for anything that has a name.';
    byId('picture-part').classList.toggle('empty', !this.graph.nodes.length);
    this.first();
    this.listen();
  }

  describe() {
    const {data} = this;
    byId('title').textContent = data.program || String(data.pid);
    document.title = `why ${data.program.split('/').pop()} (${data.pid})`;
    byId('account').textContent = [data.pid ? `${data.core ? 'core of ' : ''}pid ${data.pid}` : '', data.runtimes,
      counted(data.threads.length, 'thread'), data.command].filter(Boolean).join(' \u00b7 ');
    byId('account').title = data.command;
    const chip = (kind, words) => element('span', {class: 'chip key-' + kind}, element('i', {}), words);
    byId('legend').replaceChildren(chip('thread', 'thread'), chip('object', 'waited for'), chip('method', 'async method'), chip('ring', 'cycle'));
  }

  // What one looks at first: the first thread of the first verdict.
  first() {
    const verdict = this.data.verdicts[0], tid = verdict ? verdict.steps[0] : null;
    if (tid !== null && this.graph.threads.has(tid)) this.showThread(tid, false);
    else byId('details').replaceChildren(element('p', {class: 'faint'}, 'Click a thread, or what it waits for.'));
  }

  open(node) {
    if (node.kind === 'thread') return this.detail(this.graph.threads.get(node.threads[0]));
    this.fill(objectDetails(this.data, this.graph, node, tid => this.showThread(tid)));
  }

  detail(thread) { this.fill(threadDetails(this.data, this.graph, thread, tid => this.showThread(tid))); }

  fill(content) {
    byId('details').replaceChildren(...content);
    byId('details').scrollTop = 0;
  }

  showThread(tid, moves = true) {
    const thread = this.graph.threads.get(tid), node = this.graph.nodeOfThread.get(tid);
    this.picture.select(node || null);
    if (node && moves && !this.picture.isInView(node)) this.picture.show(node);
    this.detail(thread);
  }

  search(query) {
    const words = query.trim().toLowerCase();
    const has = t => !words || [t.tid, t.name, t.doing, t.place, t.wait ? t.wait.type : '', ...this.data.stacks[t.stack].map(f => f[1])]
      .some(text => String(text).toLowerCase().includes(words));
    const threads = this.data.threads.filter(has);
    byId('lists').replaceChildren(...lists(this.data, this.graph, threads, tid => this.showThread(tid)));
    byId('matched').textContent = words ? counted(threads.length, 'thread') : '';
    if (!this.picture.graph) return;
    const found = new Set(threads.map(t => t.tid));
    this.picture.mark(words ? new Set(this.graph.nodes.filter(n => n.threads.some(t => found.has(t)) || n.title.toLowerCase().includes(words))) : null);
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
  }

  openHelp() {
    const dialog = byId('dialog');
    dialog.replaceChildren(element('header', {}, element('h2', {}, 'Keys'), element('button', {type: 'button', onclick: () => dialog.close()}, 'Close')), helpBody());
    if (!dialog.open) dialog.showModal();
  }

  listen() {
    const on = (id, action) => byId(id).addEventListener('click', action), {picture} = this;
    this.setTheme(document.documentElement.dataset.theme);
    on('theme-button', () => this.setTheme(this.theme === 'dark' ? 'light' : 'dark'));
    on('help-button', () => this.openHelp());
    on('zoom-in', () => picture.zoom(1.3));
    on('zoom-out', () => picture.zoom(1 / 1.3));
    on('zoom-fit', () => picture.fit());
    byId('search').addEventListener('input', e => this.search(e.target.value));
    addEventListener('keydown', e => this.key(e));
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || byId('dialog').open) return;
    const {picture} = this, search = byId('search');
    if (e.target === search) {
      if (e.key !== 'Escape') return;
      search.value = '';
      this.search('');
      byId('picture').focus();
      return;
    }
    if (e.key.startsWith('Arrow') && e.target !== byId('picture') && e.target !== document.body) return;  // lists scroll
    const isButton = e.target instanceof HTMLButtonElement || e.target instanceof HTMLElement && e.target.tagName === 'SUMMARY';
    const keys = {
      ArrowLeft: () => picture.step(-1, 0), ArrowRight: () => picture.step(1, 0), ArrowUp: () => picture.step(0, -1), ArrowDown: () => picture.step(0, 1),
      Enter: () => picture.selected && this.open(picture.selected), '+': () => picture.zoom(1.3), '-': () => picture.zoom(1 / 1.3), 0: () => picture.fit(),
      '/': () => search.focus(), d: () => this.setTheme(this.theme === 'dark' ? 'light' : 'dark'), '?': () => this.openHelp(),
    };
    if (!Object.hasOwn(keys, e.key) || e.key === 'Enter' && isButton) return;
    e.preventDefault();
    keys[e.key]();
  }
}

async function begin() {
  const root = document.documentElement;
  root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const block = byId('data-why'), bytes = bytesOfBase64(block.textContent.trim());
  block.remove();
  const text = new TextDecoder().decode(bytes[0] === 0x7b ? bytes : await inflated(bytes));
  globalThis.whyPage = new WhyApp(JSON.parse(text));
  root.dataset.ready = '1';
}

begin().catch(error => {
  byId('verdicts').replaceChildren(element('p', {class: 'warn'}, 'This page cannot be shown: ' + error.message));
  document.documentElement.dataset.ready = 'failed';
  throw error;
});
