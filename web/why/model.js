// From the data of src/output/report/why_html.cc to a graph: nodes are threads (or several that do the same), what they wait
// for, and async methods in between; an edge leads from who waits to what is waited for, and from there to who holds it.

const FEW = 3;  // so many threads that do the same become one node

// "System.Collections.Generic.Dictionary<int, Shop.Cart>" to "Dictionary<int, Shop.Cart>".
function shortType(type) {
  const end = type.search(/[<\[ ]/), plain = end < 0 ? type : type.slice(0, end);
  return type.slice(plain.lastIndexOf('.') + 1);
}

class WhyGraph {
  constructor(data) {
    this.data = data;
    this.nodes = [];
    this.edges = [];
    this.byId = new Map();
    this.threads = new Map(data.threads.map(t => [t.tid, t]));
    this.nodeOfThread = new Map();
    this.chainOf = new Map(data.chains.filter(c => c.waiter).map(c => [c.waiter, c]));
    this.rings = data.verdicts.filter(v => v.kind === 'deadlock').map(v => v.steps);
    this.inRing = new Set(this.rings.flat());
    this.inVerdict = new Set(data.verdicts.flatMap(v => v.steps));
    this.waitedFor = new Set(data.threads.flatMap(t => t.wait ? t.wait.owners : []));
    for (const c of data.chains) if (c.runner) this.waitedFor.add(c.runner);
    this.cycles = [];
    this.addThreads();
    for (const v of data.verdicts) if (v.methods.length) this.addMethods(v.methods);
    this.addWaits();
    this.markRings();
  }

  node(id, fields) {
    let node = this.byId.get(id);
    if (!node) {
      node = {id, out: [], in: [], ring: false, ...fields};
      this.byId.set(id, node);
      this.nodes.push(node);
    }
    return node;
  }

  edge(from, to, fields) {
    const known = from.out.find(e => e.to === to);
    if (known) return known;
    const edge = {from, to, ring: false, ...fields};
    from.out.push(edge);
    to.in.push(edge);
    this.edges.push(edge);
    return edge;
  }

  // What a thread has to do with others, or with something that has a name. Threads that wait for their work do not.
  isShown(thread) {
    if (this.inVerdict.has(thread.tid) || this.waitedFor.has(thread.tid)) return true;
    if (thread.idle || !thread.wait) return false;
    if (this.chainOf.has(thread.tid)) return true;
    return thread.wait.object !== null || thread.wait.owners.length > 0 || ['socket', 'pipe', 'file', 'child_process'].includes(thread.wait.kind);
  }

  // Threads with the same key are shown as one.
  keyOf(thread) {
    if (this.inVerdict.has(thread.tid) && this.inRing.has(thread.tid) || this.waitedFor.has(thread.tid)) return '';
    const chain = this.chainOf.get(thread.tid), wait = thread.wait;
    if (!wait) return '';
    const what = chain && chain.steps.length ? 'chain ' + chain.group + ' ' + chain.runner : `${wait.kind} ${wait.object} ${wait.type}`;
    return `${what}\n${thread.place}`;
  }

  addThreads() {
    const groups = new Map();
    for (const thread of this.data.threads) {
      if (!this.isShown(thread)) continue;
      const key = this.keyOf(thread) || 'thread ' + thread.tid;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(thread);
    }
    for (const threads of groups.values()) {
      if (threads.length < FEW) threads.forEach(t => this.addThread([t]));
      else this.addThread(threads);
    }
  }

  addThread(threads) {
    const [first] = threads;
    const node = this.node('t' + first.tid, {
      kind: 'thread', threads: threads.map(t => t.tid), verdict: threads.some(t => this.inVerdict.has(t.tid)),
      label: threads.length > 1 ? `${threads.length} threads` : first.name || 'thread ' + first.tid,
      sub: threads.length > 1 ? this.placeName(first) || first.name : [first.tid, this.placeName(first)].filter(Boolean).join(' \u00b7 '),
      title: threads.slice(0, 12).map(t => `${t.tid} "${t.name}" ${t.doing}`).join('\n'),
    });
    for (const thread of threads) this.nodeOfThread.set(thread.tid, node);
  }

  placeName(thread) {
    const method = withoutBrackets(thread.place.split(' in ')[0]).trim();
    return method.split('.').slice(-2).join('.');
  }

  addWaits() {
    for (const node of this.nodes.filter(n => n.kind === 'thread')) {
      const thread = this.threads.get(node.threads[0]), chain = this.chainOf.get(thread.tid);
      if (chain && chain.steps.length) this.addChainIntoCycle(node, chain) || this.addChain(node, chain);
      else if (thread.wait) this.addObject(node, thread);
    }
  }

  // What a thread waits for without an address is its own: nobody else is known to wait for the same.
  addObject(from, thread) {
    const {wait} = thread;
    const id = wait.object !== null ? 'o' + wait.object : 'o' + wait.kind + ' ' + (wait.type || thread.tid);
    const words = wait.kind.replaceAll('_', ' ');
    const object = this.node(id, {
      kind: 'object', threads: [], verdict: false, label: shortType(wait.type) || words,
      sub: [words, wait.object].filter(Boolean).join(' '), title: `${words} ${wait.type} ${wait.object || ''} ${wait.detail}`,
      wait,
    });
    this.edge(from, object, {words: wait.likely ? 'waits for (likely)' : 'waits for', likely: wait.likely});
    for (const tid of wait.owners) {
      const owner = this.nodeOfThread.get(tid);
      if (owner) this.edge(object, owner, {words: 'held by', likely: wait.likely, holds: true});
    }
  }

  // Async methods that await each other.
  addMethods(methods) {
    const nodes = methods.map((m, i) => this.node('m' + m.box, {
      kind: 'method', threads: [], verdict: true, ring: true, label: m.method, sub: m.box, title: m.whole,
      chain: {steps: [m], words: `${m.method} awaits ${methods[(i + 1) % methods.length].method}`},
    }));
    nodes.forEach((node, i) => { this.edge(node, nodes[(i + 1) % nodes.length], {words: 'awaits', likely: false}).ring = true; });
    if (nodes.length > 1) this.cycles.push(nodes);
  }

  outside(chain, entered, gate) {
    const steps = chain.steps.slice(0, entered);
    return {...chain, steps, words: `${steps.map(s => s.method).join(' > ')} awaits ${gate.label}`};
  }

  // A chain that ends in a cycle of methods which are shown leads to it.
  addChainIntoCycle(from, chain) {
    const entered = chain.steps.findIndex(s => this.byId.has('m' + s.box));
    if (entered < 0) return false;
    const gate = this.byId.get('m' + chain.steps[entered].box);
    const last = entered > 0 ? this.addChain(from, this.outside(chain, entered, gate)) : from;
    this.edge(last, gate, {words: entered > 0 ? 'awaits' : 'waits for', likely: false});
    return true;
  }

  // Chains that read the same are one node: their boxes differ, and say nothing to a reader.
  addChain(from, chain) {
    const id = from.threads.length > 1 ? 'c' + chain.group + chain.runner : 'c' + chain.steps[0].box;
    const names = chain.steps.map(s => s.method);
    const node = this.node(id, {
      kind: 'method', threads: [], verdict: false, label: names.length > 1 ? `${names[0]} > ${names.length > 2 ? '... > ' : ''}${names[names.length - 1]}` : names[0],
      sub: chain.words.slice(chain.words.lastIndexOf(names[names.length - 1]) + names[names.length - 1].length).trim(),
      title: chain.words, chain,
    });
    this.edge(from, node, {words: 'waits for', likely: false});
    const owners = from.threads.flatMap(tid => this.threads.get(tid).wait ? this.threads.get(tid).wait.owners : []);
    for (const tid of new Set([chain.runner, ...owners])) {
      const runner = this.nodeOfThread.get(tid);
      if (runner) this.edge(node, runner, {words: 'run by', likely: false, holds: true});
    }
    return node;
  }

  // The way around each cycle: thread, what it waits for, who holds that, and so on.
  markRings() {
    for (const steps of this.rings) {
      const way = [];
      steps.forEach((tid, i) => {
        const from = this.nodeOfThread.get(tid), to = this.nodeOfThread.get(steps[(i + 1) % steps.length]);
        if (!from || !to) return;
        way.push(from);
        const between = from.out.find(e => e.to === to || e.to.out.some(next => next.to === to));
        if (!between) return;
        between.ring = true;
        if (between.to === to) return;
        way.push(between.to);
        between.to.out.find(next => next.to === to).ring = true;
      });
      for (const node of way) node.ring = true;
      if (way.length > 1) this.cycles.push(way);
    }
  }
}
