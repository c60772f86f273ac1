// Source lines and doubts of boxes: looked up when a box is pointed at.

class Places {
  constructor(recording, forest, nodeOf, numbers) {
    this.recording = recording;
    this.numbers = numbers;  // of its functions
    this.forest = forest;
    this.nodeOf = nodeOf;
    this.frames = null;  // of each node of the forest, those of the recording: made when first asked for
  }

  // Lists of frames by node, as one array with where each begins.
  prepare() {
    const {nodeOf, recording} = this, first = new Int32Array(this.forest.count + 1);
    for (let i = 1; i < nodeOf.length; i++) first[nodeOf[i] + 1]++;
    for (let i = 0; i < this.forest.count; i++) first[i + 1] += first[i];
    const frames = new Int32Array(nodeOf.length), next = first.slice();
    for (let i = 1; i < nodeOf.length; i++) frames[next[nodeOf[i]]++] = recording.node_frame[i];
    this.first = first;
    this.frames = frames;
  }

  // Words on where the box's code is and how sure it is. Callers' boxes stand for many places: of the function alone.
  of(node, tree) {
    if (!(tree instanceof Callees)) return this.ofFunction(tree.key(node));
    if (!this.frames) this.prepare();
    return this.words(this.frames.subarray(this.first[node], this.first[node + 1]), tree.key(node));
  }

  ofFunction(key) {
    const r = this.recording, list = [];
    for (let i = 0; i < r.frame_function.length && list.length < 200; i++) if (this.numbers[r.frame_function[i]] === key) list.push(i);
    return this.words(list, key);
  }

  words(frames, key) {
    const r = this.recording, lines = new Map(), words = [];
    let trust = 0, inlined = false;
    for (const f of frames) {
      if (this.numbers[r.frame_function[f]] !== key) continue;  // of a kind that is hidden
      if (r.frame_line[f] && r.files[r.frame_file[f]] !== undefined) {
        const file = r.files[r.frame_file[f]];
        if (!lines.has(file)) lines.set(file, new Set());
        lines.get(file).add(r.frame_line[f]);
      }
      trust = Math.max(trust, r.frame_trust[f]);
      inlined = inlined || r.frame_inlining[f] !== 0;
    }
    for (const [file, numbers] of [...lines].slice(0, 3)) {
      const list = [...numbers].sort((a, b) => a - b);
      words.push(`${file}:${list.slice(0, 6).join(', ')}${list.length > 6 ? ', \u2026' : ''}`);
    }
    if (inlined) words.push('inlined into its caller');
    if (trust) words.push(r.trusts[trust] || 'not certain');
    return words;
  }
}
