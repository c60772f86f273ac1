// Which samples are looked at, and how much of them each node and function is. Counts are periods of the chosen clock.

const ACTIVITIES = ['running', 'runnable', 'waiting', 'blocked', 'unknown'];

const WAITING = ['waiting', 'blocked'];

// Of two that are compared one may have no samples of the chosen clock: the other clock then.
function clockOf(r, chosen) {
  return r.clocks.has(chosen) || r.clocks.size === 0 ? chosen : [...r.clocks][0];
}

// Whether samples of each context are wanted, beside time. `choice`: {clock, activities: [bool], gc: 'any'|'in'|'out',
// mode: 'any'|0..2, threads: null or a Set of what threadGroup answers}.
function wantedContexts(r, choice, threadGroup) {
  const wanted = new Uint8Array(r.context_thread.length), clock = clockOf(r, choice.clock);
  for (let i = 0; i < wanted.length; i++) {
    const pending = r.context_gc_pending[i] !== 0;
    wanted[i] = r.context_clock[i] === clock && choice.activities[Math.min(r.context_activity[i], 4)] &&
      (choice.gc === 'any' || pending === (choice.gc === 'in')) &&
      (choice.mode === 'any' || r.context_gc_mode[i] === choice.mode) &&
      (choice.threads === null || choice.threads.has(threadGroup(r.context_thread[i]))) ? 1 : 0;
  }
  return wanted;
}

// The first sample of a slice or later.
function firstSample(r, slice) {
  let low = 0, high = r.sample_slice.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (r.sample_slice[middle] < slice) low = middle + 1; else high = middle;
  }
  return low;
}

// Periods of each node of the forest: innermost there (self), and there with all it called (total).
class Weights {
  constructor(r, forest, nodeOf, wanted, range) {
    this.self = new Float64Array(forest.count);
    const from = range ? firstSample(r, range[0]) : 0;
    const to = range ? firstSample(r, range[1]) : r.sample_slice.length;
    for (let i = from; i < to; i++) {
      if (wanted[r.sample_context[i]]) this.self[nodeOf[r.sample_stack[i]]] += r.sample_count[i];
    }
    this.total = this.self.slice();
    for (let n = forest.count - 1; n > 0; n--) this.total[forest.parent[n]] += this.total[n];
    this.all = this.total[0];
  }

  // The same by function; the same arrays each time.
  byFunction(forest) {
    if (this.figures) return this.figures;
    const self = new Float64Array(forest.functions.count), total = new Float64Array(forest.functions.count);
    for (let n = 1; n < forest.count; n++) {
      const key = forest.key[n];
      self[key] += this.self[n];
      if (forest.outermost[n]) total[key] += this.total[n];
    }
    return this.figures = {self, total};
  }

  // Periods of stacks in which any function is marked.
  ofMarked(forest, marks) {
    let sum = 0;
    const inside = new Uint8Array(forest.count);
    for (let n = 1; n < forest.count; n++) {
      if (inside[forest.parent[n]]) {
        inside[n] = 1;
      } else if (marks[forest.key[n]]) {
        inside[n] = 1;
        sum += this.total[n];
      }
    }
    return sum;
  }
}

// Callees: what a graph needs of the forest with weights. `other`: weights of the recording compared with, or null.
class Callees {
  constructor(forest, weights, other) {
    this.forest = forest;
    this.weights = weights;
    this.other = other;
    this.root = 0;
    this.sorted = new Map();
  }
  value(n) { return this.weights.total[n]; }
  self(n) { return this.weights.self[n]; }
  otherValue(n) { return this.other ? this.other.total[n] : 0; }
  key(n) { return this.forest.key[n]; }
  parent(n) { return n === 0 ? -1 : this.forest.parent[n]; }
  depth(n) { return this.forest.depth[n]; }
  keysTo(n) { return this.forest.keysTo(n); }
  find(keys) { return this.forest.find(keys); }

  // Heaviest first.
  children(n) {
    let list = this.sorted.get(n);
    if (list === undefined) {
      const {first, child} = this.forest, total = this.weights.total;
      list = child.subarray(first[n], first[n + 1]).filter(c => total[c] > 0);
      if (list.length > 1) list.sort((a, b) => total[b] - total[a] || a - b);
      this.sorted.set(n, list);
    }
    return list;
  }
}
