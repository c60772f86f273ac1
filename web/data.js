'use strict';
// A recording as the page gets it: see src/output/report/page_data.h for the form.

const NONE = 0xffffffff;

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  if (bytes[0] === 0x4d) return bytes;  // "MXP1": was not compressed
  const stream = new DecompressionStream('deflate'), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  const written = writer.write(bytes).then(() => writer.close());
  written.catch(() => {});  // the reader says it, too
  const pieces = [];
  let size = 0;
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function wordColumn(bytes, at, count) {
  const words = new Uint32Array(count);
  const [a, b, c, d] = [0, 1, 2, 3].map(plane => bytes.subarray(at + plane * count, at + (plane + 1) * count));
  for (let i = 0; i < count; i++) words[i] = a[i] | b[i] << 8 | c[i] << 16 | d[i] << 24;
  return words;
}

// The columns become arrays named as in the head.
function recordingOf(bytes) {
  if (String.fromCharCode(...bytes.subarray(0, 4)) !== 'MXP1') throw new Error('this is no recording');
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  let at = 8 + size;
  for (const column of head.columns) {
    if (at + column.width * column.count > bytes.length) throw new Error('the recording is cut off');
    head[column.name] = column.width === 4 ? wordColumn(bytes, at, column.count) : bytes.subarray(at, at + column.count);
    at += column.width * column.count;
  }
  const parent = head.node_parent, slice = head.sample_slice;
  for (let i = 0; i < parent.length; i++) parent[i] = i - parent[i];
  for (let i = 1; i < slice.length; i++) slice[i] += slice[i - 1];
  const end = slice.length ? slice[slice.length - 1] + 1 : 1;
  head.slices = Math.max(end, Math.ceil(head.facts.duration_ns / head.slice_ns), 1);
  return head;
}

async function openRecording(bytes) {
  return recordingOf(await inflated(bytes));
}
