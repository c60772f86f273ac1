// What stands beside the picture: verdicts, lists of what waits, and the stack of what was clicked.

const FIRST_STEPS = 8;   // of a verdict, until more are asked for
const FIRST_GROUPS = 60;
const FIRST_THREADS = 40;

const KIND_TITLES = {u: 'code of the program', m: 'managed code', n: 'native code', s: 'the runtime', i: 'put into its caller by the compiler'};

// A list of which the rest is shown when asked for.
function cutList(items, first, made) {
  const list = element('ol', {class: 'plain'}, ...items.slice(0, first).map(made));
  if (items.length > first) {
    const rest = element('li', {}, element('button', {type: 'button', class: 'link', onclick: () => {
      rest.replaceWith(...items.slice(first).map(made));
    }}, `${items.length - first} more`));
    list.append(rest);
  }
  return list;
}

function threadButton(thread, words, show) {
  return element('button', {type: 'button', class: 'link thread-link', 'data-tid': thread.tid, onclick: () => show(thread.tid)},
    element('b', {}, thread.name || 'thread'), ' ' + thread.tid, words ? element('span', {}, ' ' + words) : null);
}

function placeLine(thread) { return thread.place ? element('div', {class: 'place'}, 'at ' + thread.place) : null; }

function chainLine(chain) { return chain ? element('div', {class: 'place'}, 'awaits: ' + chain.words) : null; }

function awaitsLine(methods, method) {
  return `${method.method} ${method.box} awaits ${methods[(methods.indexOf(method) + 1) % methods.length].method}`;
}

// Verdicts, or that there is none.
function verdictCards(data, graph, show) {
  const cards = data.verdicts.map(v => {
    const threads = v.steps.map(tid => graph.threads.get(tid)).filter(Boolean);
    const [word, ...rest] = v.words.split(': ');
    return element('article', {class: 'verdict ' + (v.certain ? 'certain' : 'possible')},
      element('h2', {}, element('span', {class: 'badge'}, word), ' ' + rest.join(': ')),
      v.methods.length ? cutList(v.methods, FIRST_STEPS, m => element('li', {title: m.whole}, awaitsLine(v.methods, m))) : null,
      cutList(threads, FIRST_STEPS, t => element('li', {}, threadButton(t, t.doing, show), placeLine(t), chainLine(graph.chainOf.get(t.tid)))));
  });
  if (data.end) cards.unshift(element('article', {class: 'verdict certain'}, element('h2', {}, data.end)));
  if (data.slow) cards.push(busyCard(data.slow, true));
  if (data.busy_words) cards.push(busyCard(data.busy_words, !data.verdicts.length && !data.slow && data.busy.is_busy));
  if (!data.verdicts.length) {
    cards.push(element('article', {class: 'verdict ' + (data.known ? 'fine' : 'possible')}, element('h2', {}, data.nothing),
      data.health ? element('p', {}, 'Counted: ' + data.health) : null,
      data.contended ? element('pre', {}, data.contended.trimEnd()) : null));
  }
  if (data.unmoved) cards.push(element('article', {class: 'verdict fine'}, element('p', {}, data.unmoved)));
  for (const note of data.notes) cards.push(element('p', {class: 'warn'}, note));
  return cards;
}

function busyCard(words, isAnswer) {
  const [headline, ...rest] = words.trimEnd().split('\n');
  return element('article', {class: 'verdict ' + (isAnswer ? 'busy' : 'fine')}, element('h2', {}, headline), element('pre', {}, rest.join('\n')));
}

// Equal things together, the most frequent first: [[key, items], ...].
function grouped(items, key) {
  const groups = new Map();
  for (const item of items) {
    const k = key(item);
    if (!groups.has(k)) groups.set(k, []);
    groups.get(k).push(item);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

function section(title, ...content) {
  const parts = content.filter(Boolean);
  return parts.length ? element('section', {class: 'list'}, element('h3', {}, title), ...parts) : null;
}

// Threads that do the same at the same place are one entry.
function threadSection(title, threads, graph, show) {
  const groups = grouped(threads, t => {
    const chain = graph.chainOf.get(t.tid);
    return [chain ? chain.group : t.wait ? t.wait.kind + ' ' + t.wait.type : t.doing, t.place].join('\n');
  });
  const entry = ([, list]) => {
    const [first] = list, chain = graph.chainOf.get(first.tid);
    const head = list.length === 1 ? threadButton(first, first.doing, show)
      : element('details', {}, element('summary', {}, element('b', {}, `${list.length} threads: `), first.doing),
        cutList(list, FIRST_THREADS, t => element('li', {}, threadButton(t, '', show))));
    return element('li', {}, head, placeLine(first), chainLine(chain));
  };
  return section(title, groups.length ? cutList(groups, FIRST_GROUPS, entry) : null);
}

function lists(data, graph, threads, show) {
  const waits = threads.filter(t => t.wait && !t.idle), others = threads.filter(t => !t.wait && !t.idle), idle = threads.filter(t => t.idle);
  const chains = grouped(data.chains.filter(c => !c.waiter), c => c.group);
  return [
    threadSection(`${counted(waits.length, 'thread waits', 'threads wait')} for something that is known`, waits, graph, show),
    section('Async methods that no thread waits for', chains.length
      ? cutList(chains, FIRST_GROUPS, ([, list]) => element('li', {}, `${list.length} x ${list[0].words}`)) : null),
    section('Pool, timers, collections', data.lines.length ? element('ul', {class: 'plain'}, ...data.lines.map(l => element('li', {}, l))) : null),
    threadSection('Other threads', others, graph, show),
    threadSection('Threads that wait for their work', idle, graph, show),
  ].filter(Boolean);
}

function stackList(stack) {
  if (!stack.length) return element('p', {class: 'faint'}, 'Its stack is not known.');
  return element('ol', {class: 'stack'}, ...stack.map(([kind, text]) => element('li', {class: 'frame ' + kind, title: KIND_TITLES[kind]}, text)));
}

function threadDetails(data, graph, thread, show) {
  const node = graph.nodeOfThread.get(thread.tid), chain = graph.chainOf.get(thread.tid);
  const same = node ? node.threads.filter(tid => tid !== thread.tid) : [];
  const owners = thread.wait ? thread.wait.owners.map(tid => graph.threads.get(tid)).filter(Boolean) : [];
  const waiters = data.threads.filter(t => t.wait && t.wait.owners.includes(thread.tid));
  const row = (word, threads) => threads.length ? element('p', {class: 'row-of'}, element('span', {class: 'faint'}, word + ' '),
    cutList(threads, FIRST_STEPS, t => element('li', {}, threadButton(t, '', show)))) : null;
  return [
    element('h2', {}, `${thread.name || 'thread'} ${thread.tid}`),
    element('p', {}, thread.doing),
    chain ? element('div', {}, element('h3', {}, 'Async methods, each awaits the next'),
      element('ol', {class: 'stack'}, ...chain.steps.map(s => element('li', {class: 'frame u', title: s.box}, s.whole))), element('p', {}, chain.words)) : null,
    row('held by', owners), row('waits for it:', waiters),
    row(`${same.length} more do the same:`, same.map(tid => graph.threads.get(tid))),
    element('h3', {}, 'Stack'), stackList(data.stacks[thread.stack]),
  ].filter(Boolean);
}

// Of what is waited for, or of an async method.
function objectDetails(data, graph, node, show) {
  const waiters = node.in.flatMap(e => e.from.threads), owners = node.out.flatMap(e => e.to.threads);
  const list = (word, tids) => tids.length ? element('div', {}, element('h3', {}, word),
    cutList(tids.map(tid => graph.threads.get(tid)), FIRST_STEPS, t => element('li', {}, threadButton(t, t.doing, show), placeLine(t)))) : null;
  const facts = node.wait
    ? definitions([['what', node.wait.kind.replaceAll('_', ' ')], ['type', node.wait.type], ['address', node.wait.object], ['state', node.wait.detail]])
    : element('ol', {class: 'stack'}, ...node.chain.steps.map(s => element('li', {class: 'frame u', title: s.box}, s.whole)));
  return [element('h2', {}, node.wait ? node.wait.type || node.label : node.label), node.chain ? element('p', {}, node.chain.words) : null, facts,
    list(node.chain ? 'Run by' : 'Held by', owners), list(`Waited for by ${counted(waiters.length, 'thread')}`, waiters)].filter(Boolean);
}

function definitions(pairs) {
  return element('dl', {}, ...pairs.filter(([, value]) => value)
    .flatMap(([word, value]) => [element('dt', {}, word), element('dd', {}, value)]));
}

const KEYS = [
  ['\u2190 \u2191 \u2192 \u2193', 'move in the picture'],
  ['Enter', 'stack of the selected thread, or who waits for the selected object'],
  ['+ / \u2212 / 0', 'larger, smaller, all of it; also the wheel, and dragging'],
  ['/', 'search threads, types and methods'],
  ['Esc', 'close, clear the search'],
  ['d', 'dark or light'],
  ['?', 'this help'],
];

function helpBody() {
  return element('div', {class: 'body'},
    element('p', {}, 'Boxes are threads; round ones are what they wait for, or async methods between. An arrow leads from who waits to what is waited for, and on to who holds it. Red: threads that wait for each other in a cycle. Dashed: likely, not proved. Threads that do the same are one box.'),
    element('dl', {}, ...KEYS.flatMap(([key, text]) => [element('dt', {}, element('kbd', {}, key)), element('dd', {}, text)])));
}
