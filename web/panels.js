// What is told in words: the account of the recording, help, the tooltip.

function openDialog(title, body) {
  const dialog = byId('dialog');
  dialog.replaceChildren(element('header', {}, element('h2', {}, title),
    element('button', {type: 'button', onclick: () => dialog.close()}, 'Close')), body);
  if (!dialog.open) dialog.showModal();
}

const LOSSES = [
  ['lost_in_kernel', 'by the kernel, which had no room'],
  ['lost_in_queue', 'because walking was slower than sampling'],
  ['lost_in_tree', 'for want of room for different stacks'],
  ['lost_to_stops', 'of threads that could not be stopped'],
];

function lostOf(account) { return LOSSES.reduce((sum, [field]) => sum + account[field], 0); }

function rateWords(facts) {
  const list = [];
  if (facts.cpu_hertz) list.push(`${facts.cpu_hertz} Hz CPU`);
  if (facts.wall_hertz) list.push(`${facts.wall_hertz} Hz wall`);
  return list.join(' + ');
}

// As the command's other formats say it (shown_processes). Of folded stacks no process is known.
function processName(p) { return p.pid ? `${p.comm || 'process'} (${p.pid})` : p.comm || 'stacks'; }

function processNames(r) {
  const most = 3, names = r.processes.slice(0, most).map(processName).join(', ');
  return r.processes.length > most ? `${names} and ${r.processes.length - most} more` : names;
}

// Folded stacks tell neither.
function hasTimes(r) { return r.facts.duration_ns > 0 || r.slices > 1; }
function hasStates(r) { return r.context_activity.some(a => a < ACTIVITIES.indexOf('unknown')); }

// The line below the title: what this is a picture of, and what is missing in it. What counts most comes first.
function accountLine(r) {
  const {facts} = r, account = facts.account, lost = lostOf(account), first = r.processes[0], parts = [];
  const warn = (text, bad, title = '') => bad ? element('span', {class: 'warn', title}, text) : text;
  parts.push(counted(account.samples, 'sample'));
  if (lost || hasTimes(r)) parts.push(warn(lost ? `${count(lost)} lost (${percent(lost, lost + account.samples)})` : 'none lost', lost > 0));
  if (account.skipped) parts.push(warn(`${counted(account.skipped, 'round')} left out`, true));
  if (account.cut) parts.push(warn(`${percent(account.cut, account.samples)} incomplete stacks`, account.cut > account.samples / 100));
  if (facts.notes.length) parts.push(warn(counted(facts.notes.length, 'note'), true, facts.notes.join('\n')));
  if (hasTimes(r)) parts.push(`${duration(facts.duration_ns)}${r.clocks && r.clocks.has(2) ? '' : ` at ${rateWords(facts) || 'an unknown rate'}`}`);
  if (r.processes.length === 1 && first.pid) parts.push(`pid ${first.pid}`);
  if (r.processes.length > 1) parts.push(`${r.processes.length} processes`);
  if (first && first.runtime) parts.push(`.NET ${first.runtime}`);
  if (facts.source) parts.push(facts.source);
  return parts.flatMap((part, i) => i ? [' \u00b7 ', part] : [part]);
}

function definitions(pairs) {
  return element('dl', {}, ...pairs.filter(([, value]) => value !== '' && value !== null)
    .flatMap(([word, value, of = '']) => [element('dt', {}, word), element('dd', {'data-of': of}, value)]));
}

function stopCounts(r) {
  const counts = new Map();
  for (let i = 0; i < r.sample_slice.length; i++) {
    const stop = r.context_stop[r.sample_context[i]];
    counts.set(stop, (counts.get(stop) || 0) + r.sample_count[i]);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function aboutOne(r) {
  const {facts} = r, account = facts.account;
  const body = [definitions([
    ['started', facts.started_ms ? new Date(facts.started_ms).toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC') : ''],
    ['lasted', hasTimes(r) ? duration(facts.duration_ns) : '', 'duration_ns'], ['rate', rateWords(facts)], ['source', facts.source],
    ['host', [facts.host, facts.arch].filter(Boolean).join(', ')], ['mixstack', facts.version],
    ['cost', facts.own_cpu_ns ? `${duration(facts.own_cpu_ns)} of processor time (${percent(facts.own_cpu_ns, facts.duration_ns)} of a core)` : ''],
    ['threads held', facts.holds ? `${count(facts.holds)} times, ${duration(facts.held_ns)} in all, ${duration(facts.longest_hold_ns)} at most` : facts.source ? 'never' : '', 'holds'],
  ])];
  for (const p of r.processes) {
    body.push(element('h3', {'data-pid': p.pid}, p.pid ? `process ${p.pid}` : 'stacks'), definitions([[p.pid ? 'command' : 'name', p.command || p.comm], ['.NET', p.runtime], ['started by', p.parent ? String(p.parent) : '']]));
  }
  body.push(element('h3', {}, 'samples'), definitions([
    ['taken', count(account.samples)],
    ['of those walked', account.walked && account.walked !== account.samples ? `${count(account.walked)}; the others' threads had not run since their last` : ''],
    ['lost', lostOf(account) ? '' : hasTimes(r) ? 'none' : ''],
    ...LOSSES.map(([field, words]) => ['lost', account[field] ? `${count(account[field])} ${words}` : '', field]),
    ['rounds left out', account.skipped ? count(account.skipped) : ''],
    ['time in slices of', r.slice_ns > 1 ? duration(r.slice_ns) : ''],
  ]));
  const all = account.samples || 1;
  body.push(element('h3', {}, 'where stacks end'), definitions(stopCounts(r).map(([stop, n]) => [percent(n, all), `${r.stops[stop] || 'unknown'} (${count(n)})`])));
  if (facts.notes.length) body.push(element('h3', {}, 'notes'), element('ul', {}, ...facts.notes.map(note => element('li', {}, note))));
  return body;
}

function aboutBody(recordings) {
  const body = element('div', {class: 'body'});
  for (const r of recordings) {
    if (recordings.length > 1) body.append(element('h2', {}, r.name));
    body.append(...aboutOne(r));
  }
  return body;
}

const HELP = [
  ['/', 'search: text, or a regular expression between slashes'],
  ['Esc', 'close, clear the search, the range, the zoom'],
  ['\u2190 \u2191 \u2192 \u2193', 'move the selection; in the timeline, move the range (Shift: its end)'],
  ['Enter', 'zoom to the selection'],
  ['+ / \u2212', 'zoom in to the selection, out by one'],
  ['f', 'flame graph or icicle'],
  ['i', 'inverted: callees or callers'],
  ['t', 'graph, both, table'],
  ['d', 'dark or light'],
  ['?', 'this help'],
];

function helpBody() {
  const word = text => element('p', {}, text);
  return element('div', {class: 'body', 'data-part': 'keys'},
    word('The width of a box is the share of samples in which its function was on the stack; what it called lies beside its edge. Heaviest first, from the left: the order says nothing of time.'),
    element('dl', {}, ...HELP.flatMap(([key, text]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, text)])),
    word('Click a box to zoom, a row of the table to mark a function. Drag over the timeline to look at a part of the time. Kinds of code that are switched off in the legend are taken out of all stacks: their time is their callers\'. A purple line in the timeline: the runtime was stopping threads for a garbage collection, or had.'),
    word('The address of this page keeps what you look at: it can be sent with the file.'));
}

class Tooltip {
  constructor(box) { this.box = box; }
  show(x, y, content) {
    this.box.replaceChildren(...content);
    this.box.hidden = false;
    const {width, height} = this.box.getBoundingClientRect();
    const left = x + 14 + width > innerWidth - 8 ? Math.max(8, x - 14 - width) : x + 14;
    const top = y + 16 + height > innerHeight - 8 ? Math.max(8, y - 12 - height) : y + 16;
    this.box.style.left = left + 'px';
    this.box.style.top = top + 'px';
  }
  hide() { this.box.hidden = true; }
}
