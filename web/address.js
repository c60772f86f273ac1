// What is looked at, in the address behind #, so that it can be sent and gone back to.

function addressOf(state) {
  const p = new URLSearchParams();
  if (state.icicle) p.set('shape', 'icicle');
  if (state.inverted !== state.defaultInverted) p.set('callers', state.inverted ? '1' : '0');
  if (state.query) p.set('q', state.query);
  if (state.clock !== state.defaultClock) p.set('clock', ['cpu', 'wall', 'bytes'][state.clock]);
  if (ACTIVITIES.some((_, a) => state.activities[a] !== state.defaultActivities[a])) p.set('states', ACTIVITIES.filter((_, a) => state.activities[a]).join('.'));
  const hidden = KINDS.filter((_, k) => state.hidden[k]).map(kind => kind.id);
  if (hidden.length) p.set('hide', hidden.join('.'));
  if (state.gc !== 'any') p.set('gc', state.gc);
  if (state.mode !== 'any') p.set('mode', state.mode);
  if (state.threads) p.set('threads', [...state.threads].map(t => encodeURIComponent(t).replaceAll('.', '%2E')).join('.'));
  if (state.range) p.set('range', state.range.join('-'));
  if (state.zoom.length) p.set('zoom', state.zoom.join('.'));
  if (state.side === 'before') p.set('side', 'before');
  if (state.part !== state.defaultPart) p.set('part', state.part);
  return p.toString();
}

// What the address says, into `state`; nonsense in it is passed over.
function readAddress(text, state, recordings) {
  const p = new URLSearchParams(text.replace(/^#/, ''));
  const list = name => (p.get(name) || '').split('.').filter(Boolean);
  state.icicle = p.get('shape') === 'icicle';
  state.inverted = p.has('callers') ? p.get('callers') === '1' : state.defaultInverted;
  state.query = (p.get('q') || '').slice(0, 1000);
  if (p.has('clock')) state.clock = Math.max(['cpu', 'wall', 'bytes'].indexOf(p.get('clock')), 0);
  state.activities = p.has('states') ? ACTIVITIES.map(a => list('states').includes(a)) : state.defaultActivities.slice();
  state.hidden = KINDS.map(kind => list('hide').includes(kind.id));
  state.gc = ['in', 'out'].includes(p.get('gc')) ? p.get('gc') : 'any';
  state.mode = ['0', '1', '2'].includes(p.get('mode')) ? Number(p.get('mode')) : 'any';
  state.threads = threadsOf(list('threads'), p.has('threads'), recordings);
  const range = (p.get('range') || '').split('-').map(Number), slices = recordings[recordings.length - 1].slices;
  state.range = range.length === 2 && range.every(Number.isInteger) && range[0] < range[1] && range[1] <= slices ? range : null;
  state.zoom = list('zoom').map(Number).filter(Number.isInteger);
  if (p.get('side') === 'before' && recordings.length > 1) state.side = 'before';
  if (['graph', 'both', 'table'].includes(p.get('part'))) state.part = p.get('part');
}

function threadsOf(list, there, recordings) {
  if (!there) return null;
  try {
    return new Set(list.map(decodeURIComponent).map(t => recordings.length > 1 ? t : Number(t)));
  } catch {
    return null;
  }
}
