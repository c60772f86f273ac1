// Numbers and names in words.

function percent(part, whole) {
  if (!(whole > 0) || part === 0) return '0 %';
  const value = 100 * part / whole;
  const digits = value >= 9.995 ? 1 : 2;
  return (value > 0 && value < 0.005 ? '< 0.01' : value.toFixed(digits)) + ' %';
}

// 0.123 to "+12.3 %": points of share.
function points(change) {
  const value = 100 * change;
  if (Math.abs(value) < 0.005) return '0.00';
  return (value > 0 ? '+' : '\u2212') + Math.abs(value).toFixed(2);
}

function count(value) { return Math.round(value).toLocaleString('en'); }

function counted(value, one, many = one + 's') { return `${count(value)} ${Math.round(value) === 1 ? one : many}`; }

function byteWords(bytes) {
  if (bytes < 1000) return counted(bytes, 'byte');
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000, unit = 0;
  for (; value >= 999.95 && unit < units.length - 1; unit++) value /= 1000;
  return `${value.toFixed(1)} ${units[unit]}`;
}

function duration(ns) {
  if (ns === 0) return '0';
  if (ns < 1e3) return ns.toFixed(0) + ' ns';
  if (ns < 1e6) return (ns / 1e3).toFixed(ns < 1e4 ? 1 : 0) + ' \u00b5s';
  if (ns < 1e9) return (ns / 1e6).toFixed(ns < 1e7 ? 1 : 0) + ' ms';
  if (ns < 120e9) return (ns / 1e9).toFixed(ns < 10e9 ? 2 : 1) + ' s';
  const minutes = Math.floor(ns / 60e9);
  return minutes < 120 ? `${minutes} min ${Math.round(ns / 1e9 - minutes * 60)} s` : (ns / 3600e9).toFixed(1) + ' h';
}

// Shorter and shorter forms of a name: "A.B.C.M<T>(int, string)", "A.B.C.M", "C.M", "M".
function shorterNames(name) {
  if (name.startsWith('[')) return [name];
  const plain = withoutBrackets(name);
  const parts = plain.split(/\.|::/).filter(p => p.length);
  const forms = [name];
  if (plain.length && plain !== name) forms.push(plain);
  const separator = plain.includes('::') ? '::' : '.';
  if (parts.length > 2) forms.push(parts.slice(-2).join(separator));
  if (parts.length > 1) forms.push(parts[parts.length - 1]);
  return forms;
}

// Without what is in (), <> and {}, and without what follows an argument list.
function withoutBrackets(name) {
  let depth = 0, text = '';
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === '(' || c === '<' || c === '{') {
      if (c === '(' && depth === 0 && text.length) break;
      depth++;
    } else if ((c === ')' || c === '>' || c === '}') && depth > 0) {
      depth--;
    } else if (depth === 0) {
      text += c;
    }
  }
  return text;
}

// An element with text or elements in it. Names are never markup: only text nodes are made of strings.
function element(tag, attributes, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'class') made.className = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...content.filter(c => c !== null && c !== undefined));
  return made;
}

function byId(id) { return document.getElementById(id); }
