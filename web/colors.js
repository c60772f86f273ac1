// Colours of the canvases. Labels are dark in both themes, so all fills are light enough for them.

const KIND_COLORS = {
  light: [[142, 62, 66], [172, 42, 74], [33, 82, 70], [263, 62, 80], [4, 74, 78], [52, 58, 68], [215, 9, 78]],
  dark: [[142, 48, 58], [172, 30, 62], [33, 68, 63], [263, 50, 74], [4, 62, 70], [52, 46, 60], [215, 8, 64]],
};
const ACTIVITY_COLORS = {
  light: ['#2f9e5b', '#d69a1d', '#7d8fb3', '#c8513f', '#a8adb5'],
  dark: ['#43b873', '#d9a83c', '#7487b3', '#d8695a', '#747b86'],
};
const GC_COLOR = {light: '#8250c8', dark: '#b58cf0'};
const MATCH_COLOR = {light: '#ffe23d', dark: '#ffe23d'};

function hsl(h, s, l) { return `hsl(${h} ${s}% ${l}%)`; }

// Neighbours of one kind differ a little, a function is always the same.
function functionColors(functions, theme) {
  const variants = KIND_COLORS[theme].map(([h, s, l]) => [-5, -2.5, 0, 2.5, 5].map(d => hsl(h + d, s, l + d * 0.9)));
  return Array.from({length: functions.count}, (_, i) => {
    const name = functions.names[i];
    const mix = name.length * 7 + name.charCodeAt(0) + 3 * name.charCodeAt(name.length >> 1);
    return variants[functions.kinds[i]][(mix || 0) % 5];
  });
}

function kindColor(kind, theme) { return hsl(...KIND_COLORS[theme][kind]); }

// Red grew, blue shrank: by the change in share of all, `most` being the strongest colour.
function changeColor(change, most, theme) {
  const strength = Math.min(Math.sqrt(Math.abs(change) / most), 1);
  if (strength < 0.04) return theme === 'dark' ? '#a3a8b0' : '#d9dce1';
  const plain = theme === 'dark' ? 72 : 88;
  return change > 0 ? hsl(6, 40 + 45 * strength, plain - 22 * strength) : hsl(214, 40 + 45 * strength, plain - 22 * strength);
}
