// All stacks of one recording, or of two that are compared, as one tree of functions. Functions of hidden kinds are left
// out of stacks: what they did is their callers'.

// What a colour stands for; `CodeKind` of the recording, managed code split in two.
const KINDS = [
  {id: 'user', word: 'program (managed)'},
  {id: 'framework', word: '.NET libraries'},
  {id: 'native', word: 'native'},
  {id: 'runtime', word: '.NET runtime'},
  {id: 'kernel', word: 'kernel'},
  {id: 'stub', word: 'stubs'},
  {id: 'unknown', word: 'unknown'},
];

function kindOf(code, isUser) {
  return code === 0 ? (isUser ? 0 : 1) : Math.min(code + 1, 6);
}

// Functions of all recordings, equal ones once.
class Functions {
  constructor(recordings) {
    this.names = [];
    this.modules = [];
    this.paths = [];
    this.kinds = [];
    this.numbers = [];  // of each recording's own functions
    const known = new Map();
    for (const r of recordings) {
      const numbers = new Uint32Array(r.functions.length);
      for (let i = 0; i < numbers.length; i++) numbers[i] = this.number(r, i, known);
      this.numbers.push(numbers);
    }
    this.count = this.names.length;
  }

  number(r, i, known) {
    const module = r.modules[r.function_module[i]] || ['', ''];
    const kind = kindOf(r.function_kind[i], r.function_user[i]);
    const key = r.functions[i] + '\n' + module[0] + '\n' + kind;
    let number = known.get(key);
    if (number === undefined) {
      number = this.names.length;
      known.set(key, number);
      this.names.push(r.functions[i]);
      this.modules.push(module[0]);
      this.paths.push(module[1]);
      this.kinds.push(kind);
    }
    return number;
  }
}

// Numbers of (parent, function) pairs: an open hash table in typed arrays, since a Map of a million keys is too slow.
class PairNumbers {
  constructor(most) {
    let size = 1024;
    while (size < most * 2) size *= 2;
    this.mask = size - 1;
    this.slots = new Int32Array(size);  // number + 1
    this.parent = new Int32Array(most + 1);
    this.key = new Int32Array(most + 1);
    this.count = 0;
  }

  add(parent, key) {
    let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b));
    at = (at ^ at >>> 15) & this.mask;
    for (;;) {
      const number = this.slots[at] - 1;
      if (number < 0) break;
      if (this.parent[number] === parent && this.key[number] === key) return number;
      at = at + 1 & this.mask;
    }
    const number = this.count++;
    this.slots[at] = number + 1;
    this.parent[number] = parent;
    this.key[number] = key;
    return number;
  }
}

class Forest {
  // `hidden[kind]`: left out of stacks.
  constructor(recordings, functions, hidden) {
    let most = 1;
    for (const r of recordings) most += r.node_parent.length;
    const pairs = new PairNumbers(most);
    pairs.add(-1, -1);  // 0: all stacks
    this.functions = functions;
    this.nodeOf = recordings.map((r, i) => this.enter(r, functions.numbers[i], hidden, pairs));
    this.count = pairs.count;
    this.parent = pairs.parent;
    this.key = pairs.key;
    this.linkChildren();
    this.findOutermost();
  }

  // The tree's node of each of the recording's; a parent's number is less than its children's.
  enter(r, numbers, hidden, pairs) {
    const nodeOf = new Int32Array(r.node_parent.length), isHidden = Uint8Array.from(this.functions.kinds, kind => hidden[kind] ? 1 : 0);
    const keys = Int32Array.from(r.frame_function, f => numbers[f]);
    const {node_parent, node_frame} = r;
    for (let i = 1; i < nodeOf.length; i++) {
      const key = keys[node_frame[i]], parent = nodeOf[node_parent[i]];
      nodeOf[i] = isHidden[key] ? parent : pairs.add(parent, key);
    }
    return nodeOf;
  }

  linkChildren() {
    this.first = new Int32Array(this.count + 1);  // children of n: child[first[n] .. first[n + 1])
    for (let i = 1; i < this.count; i++) this.first[this.parent[i] + 1]++;
    for (let i = 0; i < this.count; i++) this.first[i + 1] += this.first[i];
    this.child = new Int32Array(this.count);
    const next = this.first.slice();
    for (let i = 1; i < this.count; i++) this.child[next[this.parent[i]]++] = i;
  }

  // Nodes below none of their own function: a function's total is the sum of these.
  findOutermost() {
    const {first, child, key, count} = this;
    this.depth = new Uint32Array(count);
    let deepest = 0;
    for (let n = 1; n < count; n++) deepest = Math.max(deepest, this.depth[n] = this.depth[this.parent[n]] + 1);
    this.outermost = new Uint8Array(count);
    const open = new Int32Array(this.functions.count);  // on the way from the root
    const way = new Int32Array(deepest + 2), next = new Int32Array(deepest + 2);
    next[0] = first[0];
    for (let top = 0; top >= 0;) {
      const node = way[top];
      if (next[top] === first[node + 1]) {
        if (top--) open[key[node]]--;
        continue;
      }
      const inner = child[next[top]++];
      if (open[key[inner]]++ === 0) this.outermost[inner] = 1;
      way[++top] = inner;
      next[top] = first[inner];
    }
  }

  keysTo(node) {
    const keys = [];
    for (let n = node; n > 0; n = this.parent[n]) keys.push(this.key[n]);
    return keys.reverse();
  }

  // The node with these functions from the root on, as far as they are there.
  find(keys) {
    let node = 0;
    for (const key of keys) {
      let next = -1;
      for (let i = this.first[node]; i < this.first[node + 1] && next < 0; i++) {
        if (this.key[this.child[i]] === key) next = this.child[i];
      }
      if (next < 0) break;
      node = next;
    }
    return node;
  }
}
