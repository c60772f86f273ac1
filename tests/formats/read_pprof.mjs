// Decodes a pprof profile with npm pprof-format and prints what is in it as JSON: node read_pprof.mjs MODULES FILE
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {gunzipSync} from 'node:zlib';

const [modules, file] = process.argv.slice(2);
const {Profile} = createRequire(modules + '/')('pprof-format');
const profile = Profile.decode(gunzipSync(readFileSync(file)));
const text = index => profile.stringTable.strings[Number(index)];
const functions = new Map(profile.function.map(f => [Number(f.id), text(f.name)]));
const locations = new Map(profile.location.map(l => [Number(l.id), l]));
const mappings = profile.mapping.map(m => ({file: text(m.filename), buildId: text(m.buildId)}));
const samples = profile.sample.map(sample => ({
  // Outermost first; functions that were inlined are further lines of one location.
  stack: sample.locationId.flatMap(id => locations.get(Number(id)).line.map(l => functions.get(Number(l.functionId)))).reverse(),
  places: sample.locationId.length,
  values: sample.value.map(Number),
  labels: Object.fromEntries(sample.label.map(l => [text(l.key), Number(l.str) ? text(l.str) : Number(l.num)])),
}));
console.log(JSON.stringify({
  types: profile.sampleType.map(t => [text(t.type), text(t.unit)]),
  duration: Number(profile.durationNanos),
  time: String(profile.timeNanos),
  period: Number(profile.period),
  comments: profile.comment.map(text),
  mappings, samples,
}));
