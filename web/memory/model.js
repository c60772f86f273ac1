'use strict';
// What the page shows, out of the JSON of `mixstack memory` (one moment, or two and what grew).

// One colour for each use, near ones for near uses.
const LABEL_COLORS = {
  gc_objects: ['#3b7dd8', '#5b95e3', '#7fb0ee', '#2a62b5', '#4a86cf', '#9cc3f5'], gc_committed: ['#a9cdf7', '#bcd8f9', '#cfe3fb', '#8fbdf2', '#b3d2f8', '#d9e9fc'],
  gc_bookkeeping: ['#6f8fbb'], gc_other: ['#8aa3c7'], jit_code: ['#8e6cc9'], loader_heap: ['#a584d9', '#b79be2', '#c9b3ea', '#9673d0', '#d6c7f0'],
  runtime_stubs: ['#cbb9e8'], malloc_used: ['#d9772b'], malloc_free: ['#f0bf8a'], malloc_large: ['#c25d14'], malloc_unwalked: ['#e39a59'], malloc_other: ['#e0a86e'], stack: ['#3fa37c'],
  file_assembly: ['#8a96a3'], file_program: ['#a5afba'], file_other: ['#bcc4cc'], shared: ['#5eb7b0'], kernel: ['#cfd5db'], unknown: ['#d0453a'],
};

function megabytes(bytes) { return (bytes / 1e6).toLocaleString('en', {minimumFractionDigits: 1, maximumFractionDigits: 1}) + ' MB'; }

function signed(value, text) { return (value > 0 ? '+' : value < 0 ? '\u2212' : '') + text; }

function grownBytes(bytes) { return signed(bytes, megabytes(Math.abs(bytes))); }

function growClass(value) { return value > 0 ? 'grow' : value < 0 ? 'shrink' : ''; }

class MemoryModel {
  constructor(data) {
    this.before = data.growth ? data.moments[0] : null;
    this.now = data.moments[data.moments.length - 1];
    this.growth = data.growth;
    this.tree = data.tree;
    this.labels = this.makeLabels();
    this.types = this.makeTypes();
  }

  get resident() { return this.now.account.resident; }
  get residentBefore() { return this.before && this.before.account ? this.before.account.resident : null; }
  get hasTwoAccounts() { return this.growth !== null && this.growth.resident !== null; }

  // Lines of the account, those of the second moment with what they were before.
  makeLabels() {
    if (!this.now.account) return [];
    const used = {};
    const color = kind => {
      const list = LABEL_COLORS[kind] || LABEL_COLORS.unknown, at = used[kind] = (used[kind] === undefined ? -1 : used[kind]) + 1;
      return list[at % list.length];
    };
    const of = (line, before, now) => ({label: line.label, kind: line.kind, detail: line.detail, growsBy: line.grows_by, shrinksBy: line.shrinks_by, before, now, color: color(line.kind)});
    if (!this.hasTwoAccounts) return this.now.account.lines.map(line => of(line, null, line.resident));
    return this.growth.labels.map(l => of(l, l.resident.before, l.resident.after)).sort((a, b) => b.now - a.now);
  }

  // Types of all heaps, together by name.
  makeTypes() {
    if (this.growth && this.growth.has_types) {
      return this.growth.types.map(t => ({name: this.typeName(t), bytes: t.bytes.after, objects: t.objects.after, old: t.old_bytes.after,
        grown: t.bytes.grown, grownObjects: t.objects.grown, kept: t.kept_bytes ? t.kept_bytes.grown : null, isFree: t.is_free}));
    }
    if (this.growth) return [];
    const types = [];
    for (const heap of this.now.heaps) {
      for (const t of heap.types) {
        types.push({name: this.typeName(t), bytes: t.bytes, objects: t.objects, old: t.bytes - (t.bytes_of['0'] || 0) - (t.bytes_of['1'] || 0),
          grown: 0, grownObjects: 0, kept: null, isFree: t.is_free});
      }
    }
    return types;
  }

  typeName(t) { return t.is_free ? '(gaps between objects)' : t.type || `(type at ${t.method_table}, name not known)`; }
}
