// Where nodes stand. Each part of the graph that hangs together by itself: cycles as closed ways over a grid, so that
// one of a thousand steps is a square and not a line, with who waits behind them below; all else in columns, from who
// waits on the left to who is waited for on the right.

const NODE = {width: 176, height: 46, gapX: 64, gapY: 22};
const STEP_X = NODE.width + NODE.gapX, STEP_Y = NODE.height + NODE.gapY;

function partsOf(graph) {
  const seen = new Set(), parts = [];
  for (const start of graph.nodes) {
    if (seen.has(start)) continue;
    const part = [start];
    seen.add(start);
    for (let i = 0; i < part.length; i++) {
      for (const next of [...part[i].out.map(e => e.to), ...part[i].in.map(e => e.from)]) {
        if (seen.has(next)) continue;
        seen.add(next);
        part.push(next);
      }
    }
    parts.push(part);
  }
  const rank = part => part.some(n => n.ring) ? 2 : part.some(n => n.verdict) ? 1 : 0;
  return parts.sort((a, b) => rank(b) - rank(a) || b.length - a.length);
}

// Cells of a closed way over a grid, each beside the one before: the first row to the right, the other rows in turns
// without their first cell, and the first column back. Rows are even in number.
function closedWay(count) {
  const few = 12, wide = count <= few ? Math.ceil(count / 2) : Math.ceil(Math.sqrt(count * STEP_Y / STEP_X * 1.6));
  let rows = 2;
  while (rows * wide < count) rows += 2;
  const columns = Math.max(2, Math.ceil(count / rows));
  const cells = [];
  for (let x = 0; x < columns; x++) cells.push([x, 0]);
  for (let y = 1; y < rows; y++) {
    for (let i = 1; i < columns; i++) cells.push([y % 2 ? columns - i : i, y]);
  }
  for (let y = rows - 1; y > 0; y--) cells.push([0, y]);
  // Cells that are too many are left out of the column that leads back.
  const spare = cells.length - count;
  return cells.filter((cell, i) => !(i >= cells.length - (rows - 1) && i - (cells.length - (rows - 1)) < spare)).slice(0, count);
}

function placeCycle(cycle, left, top) {
  const cells = closedWay(cycle.length);
  cycle.forEach((node, i) => {
    node.x = left + cells[i][0] * STEP_X;
    node.y = top + cells[i][1] * (STEP_Y + 14);
    node.placed = true;
  });
}

function boundsOf(nodes) {
  const xs = nodes.map(n => n.x), ys = nodes.map(n => n.y);
  const least = list => list.reduce((a, b) => Math.min(a, b), Infinity), most = list => list.reduce((a, b) => Math.max(a, b), -Infinity);
  return {left: least(xs), top: least(ys), right: most(xs) + NODE.width, bottom: most(ys) + NODE.height};
}

// Behind what is placed: one row for each step away from it, each node near what it hangs at.
function placeBehind(part) {
  let row = part.filter(n => n.placed);
  const {left} = boundsOf(row);
  for (let top = boundsOf(row).bottom + NODE.gapY * 2.5; row.length; top += STEP_Y + 14) {
    const next = new Map();
    for (const node of row) {
      for (const other of [...node.in.map(e => e.from), ...node.out.map(e => e.to)]) {
        if (!other.placed && !next.has(other)) next.set(other, node.ring ? node.x + STEP_X / 2 : node.x);
        if (!other.placed && node.ring) other.behind = true;
      }
    }
    row = [...next].sort((a, b) => a[1] - b[1]).map(([node]) => node);
    let free = left;
    for (const node of row) {
      node.x = Math.max(free, next.get(node));
      node.y = top;
      node.placed = true;
      free = node.x + STEP_X;
    }
  }
}

// Edges that would lead back while the part is walked through are left out of the order.
function forwardEdges(part) {
  const state = new Map(), forward = new Map(part.map(n => [n, []]));
  for (const start of [...part].sort((a, b) => a.in.length - b.in.length)) {
    if (state.has(start)) continue;
    const path = [{node: start, next: 0}];
    state.set(start, 1);
    while (path.length) {
      const top = path[path.length - 1];
      if (top.next === top.node.out.length) {
        state.set(top.node, 2);
        path.pop();
        continue;
      }
      const {to} = top.node.out[top.next++];
      if (state.get(to) === 1) continue;
      forward.get(top.node).push(to);
      if (!state.has(to)) {
        state.set(to, 1);
        path.push({node: to, next: 0});
      }
    }
  }
  return forward;
}

// The column of a node: as many steps before the last as the longest way to an end has.
function columnsOf(part) {
  const forward = forwardEdges(part), depth = new Map();
  const open = part.map(n => [n, false]);
  while (open.length) {
    const [node, done] = open.pop();
    if (depth.has(node)) continue;
    if (done) {
      depth.set(node, forward.get(node).reduce((most, to) => Math.max(most, depth.get(to) + 1), 0));
      continue;
    }
    open.push([node, true], ...forward.get(node).filter(to => !depth.has(to)).map(to => [to, false]));
  }
  const most = [...depth.values()].reduce((a, b) => Math.max(a, b), 0), columns = Array.from({length: most + 1}, () => []);
  for (const node of part) columns[most - depth.get(node)].push(node);
  return columns;
}

function placeColumns(part, left, top) {
  const columns = columnsOf(part), row = new Map();
  const number = column => column.forEach((node, i) => row.set(node, i));
  columns.forEach(number);
  const middle = nodes => nodes.length ? nodes.reduce((sum, n) => sum + row.get(n), 0) / nodes.length : null;
  for (let sweep = 0; sweep < 6; sweep++) {
    const order = sweep % 2 ? columns : [...columns].reverse();
    for (const column of order) {
      const want = new Map(column.map(n => [n, middle(sweep % 2 ? n.in.map(e => e.from) : n.out.map(e => e.to)) ?? row.get(n)]));
      column.sort((a, b) => want.get(a) - want.get(b));
      number(column);
    }
  }
  const tallest = columns.reduce((most, c) => Math.max(most, c.length), 0);
  columns.forEach((column, c) => column.forEach((node, i) => {
    node.x = left + c * STEP_X;
    node.y = top + (i + (tallest - column.length) / 2) * STEP_Y;
    node.placed = true;
  }));
}

function move(nodes, dx, dy) {
  for (const node of nodes) {
    node.x += dx;
    node.y += dy;
  }
}

// Places all nodes. Small parts stand beside each other, up to the width of the widest one.
function layOut(graph) {
  const parts = partsOf(graph), placed = [];
  for (const part of parts) {
    const cycles = graph.cycles.filter(c => part.includes(c[0]) && !c.some(n => n.placed));
    let left = 0;
    for (const cycle of cycles) {
      placeCycle([...new Set(cycle)], left, 0);
      left = boundsOf(part.filter(n => n.placed)).right + NODE.gapX * 1.5;
    }
    if (cycles.length) placeBehind(part);
    else placeColumns(part, 0, 0);
    const box = boundsOf(part);
    move(part, -box.left, -box.top);
    placed.push({part, width: box.right - box.left, height: box.bottom - box.top});
  }
  const width = Math.max(1000, ...placed.map(p => p.width));
  let x = 0, y = 0, tallest = 0;
  for (const p of placed) {
    if (x > 0 && x + p.width > width) {
      x = 0;
      y += tallest + NODE.gapY * 2;
      tallest = 0;
    }
    move(p.part, x, y);
    x += p.width + NODE.gapX;
    tallest = Math.max(tallest, p.height);
  }
  return graph.nodes.length ? boundsOf(graph.nodes) : {left: 0, top: 0, right: 0, bottom: 0};
}
