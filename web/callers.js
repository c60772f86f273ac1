// Callers: the same stacks from their innermost functions outwards. Only nodes that are looked at are made.

class Callers {
  constructor(forest, weights, other) {
    this.forest = forest;
    this.weights = weights;
    this.other = other;
    this.root = 0;
    this.slot = new Int32Array(forest.functions.count).fill(-1);  // scratch of `grouped`
    const places = [], values = [], others = [];
    for (let n = 1; n < forest.count; n++) {
      const before = other ? other.self[n] : 0;
      if (weights.self[n] <= 0 && before <= 0) continue;
      places.push(n);
      values.push(weights.self[n]);
      others.push(before);
    }
    // Each node: stacks by where in the forest they are now, and how much each of them is.
    this.nodes = [{key: -1, parent: -1, depth: 0, value: weights.all, other: other ? other.all : 0, children: null}];
    this.nodes[0].children = this.grouped(0, places, values, others);
  }

  // Children of node `parent`: `places` by their functions, heaviest first.
  grouped(parent, places, values, others) {
    const groups = [], key = this.forest.key;
    for (let i = 0; i < places.length; i++) {
      const k = key[places[i]];
      let at = this.slot[k];
      if (at < 0) {
        at = this.slot[k] = groups.length;
        groups.push({key: k, parent, depth: this.nodes[parent].depth + 1, value: 0, other: 0, children: null,
                     places: [], values: [], others: []});
      }
      const group = groups[at];
      group.value += values[i];
      group.other += others[i];
      group.places.push(places[i]);
      group.values.push(values[i]);
      group.others.push(others[i]);
    }
    for (const group of groups) this.slot[group.key] = -1;
    groups.sort((a, b) => b.value - a.value || a.key - b.key);
    const start = this.nodes.length;
    for (const group of groups) this.nodes.push(group);
    return groups.map((_, i) => start + i);
  }

  children(n) {
    const node = this.nodes[n];
    if (node.children === null) {
      const places = [], values = [], others = [];
      for (let i = 0; i < node.places.length; i++) {
        const outer = this.forest.parent[node.places[i]];
        if (outer <= 0) continue;
        places.push(outer);
        values.push(node.values[i]);
        others.push(node.others[i]);
      }
      node.children = this.grouped(n, places, values, others);
      node.self = node.value;
      for (const c of node.children) node.self -= this.nodes[c].value;
      node.places = node.values = node.others = null;
    }
    return node.children;
  }

  value(n) { return this.nodes[n].value; }
  // Stacks that begin here: nobody called it.
  self(n) { this.children(n); return this.nodes[n].self || 0; }
  otherValue(n) { return this.nodes[n].other; }
  key(n) { return this.nodes[n].key; }
  parent(n) { return this.nodes[n].parent; }
  depth(n) { return this.nodes[n].depth; }
  keysTo(n) {
    const keys = [];
    for (; n > 0; n = this.nodes[n].parent) keys.push(this.nodes[n].key);
    return keys.reverse();
  }
  find(keys) {
    let node = 0;
    for (const key of keys) {
      const next = this.children(node).find(c => this.nodes[c].key === key);
      if (next === undefined) break;
      node = next;
    }
    return node;
  }
}
