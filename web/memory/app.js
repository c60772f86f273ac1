// All together: what is told, what is chosen, keys.

const LEAST_TEXT = 1000;  // bytes of strings of one text that are worth a line

class MemoryApp {
  constructor(data) {
    this.model = new MemoryModel(data);
    this.describe();
    this.showAccount();
    this.showTypes();
    this.showHolders();
    this.listen();
  }

  describe() {
    const {now, growth} = this.model, name = now.core || `process ${now.pid}`;
    byId('title').textContent = now.name ? `${now.name} (${now.core ? now.core.split('/').pop() : now.pid})` : name;
    document.title = `memory ${now.name || now.pid}`;
    const time = ms => ms === null ? '' : new Date(ms).toISOString().replace('T', ' ').slice(0, 19) + ' UTC';
    const mark = now.mark || {runtimes: []};
    byId('account').textContent = [`pid ${now.pid}`, mark.host, ...mark.runtimes.map(r => r.version ? `.NET ${r.version}` : ''), time(mark.taken_unix_ms ?? null),
      growth && growth.between_ms !== null ? `${duration(growth.between_ms * 1e6)} after the first moment` : '',
      growth && growth.collections.length > 2 ? `${counted(growth.collections[0], 'collection')} meanwhile, ${growth.collections[2]} of them full` : ''].filter(Boolean).join(' \u00b7 ');
    if (growth) byId('account').dataset.collections = growth.collections.join(' ');
  }

  showAccount() {
    const {model} = this, {account} = model.now;
    byId('account-part').hidden = !account;
    byId('types-part').classList.toggle('alone', !account);
    if (!account) return;
    byId('account-title').textContent = model.hasTwoAccounts ? 'What grew' : 'Where it is';
    const figure = (value, words, of) => element('div', {class: 'figure-of', 'data-figure': of}, element('b', {}, value), element('small', {}, words));
    const managed = account.runtimes.reduce((sum, r) => sum + Object.values(r.objects).reduce((a, b) => a + b, 0), 0);
    byId('figures').replaceChildren(figure(megabytes(account.resident), 'resident', 'resident'),
      ...(model.hasTwoAccounts ? [figure(grownBytes(model.resident - model.residentBefore), 'grown', 'grown')] : []),
      figure(megabytes(account.swapped), 'swapped', 'swapped'),
      ...(managed ? [figure(megabytes(managed), 'managed objects, resident or not', 'managed')] : []),
      ...(account.limit ? [figure(megabytes(account.limit), 'limit of the cgroup', 'limit')] : []),
      ...(account.limit && account.used_of_limit ? [figure(percent(account.used_of_limit, account.limit), 'of the limit used', 'used_of_limit')] : []));
    this.bars = new AccountBars(model);
    const remarks = [], growth = model.growth;
    if (growth && growth.forecast) remarks.push([growth.forecast.words, 'forecast']);
    if (account.allocator && account.allocator !== 'glibc') remarks.push([`malloc is that of ${account.allocator}, whose structures are not known`, 'allocator']);
    for (const piece of account.unknown.slice(0, 3).filter(p => p.resident >= LEAST_LINE)) remarks.push([`not known: ${megabytes(piece.resident)} at ${piece.begin}-${piece.end} ${piece.rights} ${piece.path || ''}`, 'unknown']);
    for (const note of account.notes) remarks.push([[note.subject, note.text].filter(Boolean).join(': '), note.code]);
    byId('remarks').replaceChildren(...remarks.map(([text, code]) => element('p', {'data-code': code}, text)),
      ...(growth ? growth.next : []).map(n => element('p', {'data-code': 'next'}, 'next: ', element('code', {}, n.command), ` (${n.why})`)));
  }

  showTypes() {
    const {model} = this, {now, growth, types} = model, part = byId('types-part');
    part.hidden = !types.length && !now.heaps.length;
    byId('account-part').classList.toggle('alone', part.hidden);
    if (part.hidden) return;
    const objects = types.filter(t => !t.isFree).reduce((sum, t) => sum + t.objects, 0);
    const bytes = types.filter(t => !t.isFree).reduce((sum, t) => sum + t.bytes, 0);
    byId('types-title').textContent = types.length ? `${counted(objects, 'object')} in ${megabytes(bytes)}` : 'Types were not counted';
    const why = growth ? growth.why_not : now.heaps.map(h => h.why_not).find(Boolean);
    const kept = growth && growth.kept_seen ? `Kept: in generation 2 after a full collection, and after ${growth.kept_seen} more. Garbage is not in it.` : '';
    byId('types-note').textContent = [why ? 'Not certain: ' + why : '', kept].filter(Boolean).join(' ');
    byId('type-table').hidden = byId('search-box').hidden = !types.length;
    this.table = new TypeTable(model);
    byId('elements').replaceChildren(...now.heaps.map(h => h.elements).filter(Boolean).map(e => this.elements(e)));
  }

  elements(e) {
    const of = (amount, what) => `${counted(amount.count, what)} in ${megabytes(amount.bytes)}`, about = e.one_in > 1 ? 'about ' : '';
    const row = (name, text) => [element('dt', {}, name), element('dd', {}, text)];
    return element('dl', {}, ...row('strings', `${of(e.strings, 'string')}; ${about}${count(e.duplicates.count)} repeat the text of another: ${about}${megabytes(e.duplicates.bytes)} less with one of each`),
      ...e.most.filter(m => m.bytes >= LEAST_TEXT).slice(0, 5).flatMap(m => row('', `${megabytes(m.bytes)}: ${count(m.count)} of ${counted(m.length, 'character')}${m.text ? ` "${m.text}"` : ''}`)),
      ...row('empty', [of(e.empty_strings, 'string'), of(e.empty_arrays, 'array'), ...(e.empty_lists ? [of(e.empty_lists, 'list')] : [])].join(', ')),
      ...row('oversized', `${of(e.half_empty_arrays, 'array')}, ${megabytes(e.zeros_of_them)} of them zeros at the end`),
      ...(e.not_read.count ? row('not looked into', of(e.not_read, 'large object')) : []));
  }

  // `mixstack memory --holders` brings the tree.
  showHolders() {
    const {tree} = this.model;
    byId('holders-part').hidden = !tree;
    if (!tree) return;
    byId('holders-title').textContent = `What holds ${megabytes(tree.bytes)}`;
    this.holders = new HolderPicture(byId('holders'), tree);
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
  }

  openHelp() {
    const dialog = byId('dialog'), row = (key, words) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, words)];
    dialog.replaceChildren(element('header', {}, element('h2', {}, 'Keys'), element('button', {type: 'button', onclick: () => dialog.close()}, 'Close')),
      element('div', {class: 'body', 'data-part': 'keys'}, element('dl', {}, ...row('/', 'search types'), ...row('Escape', 'no search'), ...row('d', 'dark or light'), ...row('?', 'this list')),
        element('p', {}, 'Bars add up: each byte that is resident is in one label. A click on a head of the table sorts by it.')));
    if (!dialog.open) dialog.showModal();
  }

  listen() {
    const on = (id, action) => byId(id).addEventListener('click', action), turn = () => this.setTheme(this.theme === 'dark' ? 'light' : 'dark');
    this.setTheme(document.documentElement.dataset.theme);
    on('theme-button', turn);
    on('help-button', () => this.openHelp());
    for (const [id, form] of [['as-map', 'map'], ['as-icicle', 'icicle']]) {
      on(id, () => {
        if (this.holders) this.holders.setForm(form);
        for (const other of ['as-map', 'as-icicle']) byId(other).setAttribute('aria-pressed', String(other === id));
      });
    }
    const search = byId('search');
    search.addEventListener('input', () => this.table.search(search.value));
    addEventListener('keydown', e => {
      if (e.ctrlKey || e.metaKey || e.altKey || byId('dialog').open) return;
      if (e.target === search && e.key !== 'Escape') return;
      const keys = {'/': () => search.focus(), d: turn, '?': () => this.openHelp(), Escape: () => { search.value = ''; if (this.table) this.table.search(''); search.blur(); }};
      if (!Object.hasOwn(keys, e.key)) return;
      e.preventDefault();
      keys[e.key]();
    });
  }
}

async function begin() {
  const root = document.documentElement;
  root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const block = byId('data-memory'), bytes = bytesOfBase64(block.textContent.trim());
  block.remove();
  const text = new TextDecoder().decode(bytes[0] === 0x7b ? bytes : await inflated(bytes));
  globalThis.memoryPage = new MemoryApp(JSON.parse(text));
  root.dataset.ready = '1';
}

begin().catch(error => {
  byId('failure').hidden = false;
  byId('failure').textContent = 'This page cannot be shown: ' + error.message;
  document.documentElement.dataset.ready = 'failed';
  throw error;
});
