// SPDX-License-Identifier: MIT
// The dashboard of `dibs web`. Names come from anywhere: they become text nodes only, never markup.
'use strict';

const main = document.getElementById('main');
let state = null, points = [], chart = null, shown = '', query = { q: '', sort: 'wait', page: 0 };

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) e.setAttribute(key, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) e.append(child);
  }
  return e;
}

function span(ms) {
  if (ms < 1) return ms > 0 ? (ms * 1000).toFixed(0) + ' µs' : '0';
  if (ms < 1000) return ms.toFixed(ms < 10 ? 1 : 0) + ' ms';
  const s = ms / 1000;
  if (s < 60) return s.toFixed(1) + ' s';
  if (s < 3600) return Math.floor(s / 60) + ':' + String(Math.floor(s % 60)).padStart(2, '0');
  if (s < 172800) return Math.floor(s / 3600) + ' h ' + Math.floor(s % 3600 / 60) + ' min';
  return Math.floor(s / 86400) + ' days';
}

function table(heads, rows, empty) {
  if (rows.length === 0) return el('p', { class: 'quiet' }, empty);
  const cells = (row, tag) => row.map((cell, i) => {
    const h = heads[i], c = [h.n ? 'n' : h.name ? 'name' : '', h.off ? 'phone-off' : ''];
    if (cell && cell.grade) c.push(cell.grade);
    return el(tag, { class: c.filter(Boolean).join(' ') || null, scope: tag === 'th' ? 'col' : null },
              cell && cell.grade !== undefined ? cell.text : cell);
  });
  return el('div', { class: 'wide' }, el('table', {},
    el('thead', {}, el('tr', {}, cells(heads.map(h => h.t), 'th'))),
    el('tbody', {}, rows.map(row => el('tr', {}, cells(row, 'td'))))));
}

async function get(path, more) {
  const reply = await fetch('api/' + path + (more ? '?' + new URLSearchParams(more) : ''));
  const body = await reply.json();
  if (!reply.ok) throw new Error(body.error || reply.statusText);
  return body;
}

const wait = ms => ({ text: ms > 0 ? span(ms) : '–', grade: ms > 60000 ? 'bad' : ms > 5000 ? 'warn' : '' });

function nameRows(rows) {
  return table([{ t: 'Name', name: 1 }, { t: 'Kind', off: 1 }, { t: 'Held by', off: 1 },
    { t: 'Held', n: 1, off: 1 }, { t: 'Lease', n: 1 }, { t: 'Waiting', n: 1 }, { t: 'Oldest', n: 1 }],
  rows.map(r => [el('a', { href: '#/name/' + r.id }, r.name), r.kind,
    r.kind === 'semaphore' && r.limit ? r.used + ' of ' + r.limit + ' permits' : r.by || (r.held ? 'not registered' : '–'),
    r.held ? span(r.held_ms) : 'free',
    { text: r.held ? span(r.left_ms) : '–', grade: r.held && r.ttl_ms && r.left_ms < r.ttl_ms / 3 ? 'warn' : '' },
    String(r.waiters), wait(r.oldest_ms)]), 'No name is held or waited for.');
}

function card(title, value, grade) {
  return el('div', { class: 'card' }, title, el('b', { class: grade || null }, value));
}

function drawChart(canvas) {
  const css = getComputedStyle(document.documentElement), color = key => css.getPropertyValue(key).trim();
  if (chart) chart.destroy();
  chart = new Chart(canvas, { type: 'line', data: { labels: [], datasets: [
    { label: 'held', data: [], borderColor: color('--link'), pointRadius: 0, borderWidth: 2 },
    { label: 'waiting', data: [], borderColor: color('--warn'), pointRadius: 0, borderWidth: 2 },
    { label: 'oldest wait, s', data: [], borderColor: color('--bad'), pointRadius: 0, borderWidth: 1, yAxisID: 's' }] },
  options: { animation: false, maintainAspectRatio: false, color: color('--text'),
    interaction: { mode: 'index', intersect: false },
    scales: { x: { ticks: { color: color('--quiet'), maxTicksLimit: 6, maxRotation: 0 }, grid: { color: color('--line') } },
      y: { beginAtZero: true, ticks: { color: color('--quiet'), precision: 0 }, grid: { color: color('--line') } },
      s: { beginAtZero: true, position: 'right', ticks: { color: color('--quiet') }, grid: { display: false } } } } });
}

function fillChart() {
  if (!chart) return;
  const d = chart.data;
  d.labels = points.map(p => new Date(p[0] * 1000).toLocaleTimeString());
  d.datasets[0].data = points.map(p => p[1]);
  d.datasets[1].data = points.map(p => p[2]);
  d.datasets[2].data = points.map(p => p[3] / 1000);
  chart.update();
}

function overview() {
  if (shown !== 'overview') {
    const canvas = el('canvas', { role: 'img', 'aria-label': 'held and waiting in the last hour' });
    main.replaceChildren(el('div', { id: 'cards', class: 'cards' }), el('p', { id: 'unseen', class: 'quiet', hidden: '' }),
      el('h2', {}, 'Last hour'),
      typeof Chart === 'undefined' ? el('p', { class: 'quiet' }, 'This dibs was built without libjs-chart.js: no chart.')
        : el('div', { class: 'chart' }, canvas),
      el('h2', {}, 'Longest waits'), el('div', { id: 'top' }), el('h2', {}, 'By class'), el('div', { id: 'classes' }));
    shown = 'overview';
    if (typeof Chart !== 'undefined') drawChart(canvas);
  }
  if (!state) return;
  const hasTotals = state.clients !== null, lost = state.classes.reduce((sum, c) => sum + c.lost, 0);
  document.getElementById('cards').replaceChildren(card('Held', state.held), card('Waiting', state.waiting),
    card('Oldest wait', state.waiting ? span(state.oldest_ms) : '–', wait(state.oldest_ms).grade),
    card('Lost, since the totals began', hasTotals ? lost : 'not known', !hasTotals ? null : lost ? 'bad' : 'good'),
    card('Clients', hasTotals ? state.clients : 'not known'),
    card('Round trip', span(state.round_trip_us / 1000)),
    card(state.servers_down ? 'Servers ok, not ' + state.server_down : 'Servers ok',
      state.servers_down ? state.servers - state.servers_down + ' of ' + state.servers : state.servers,
      state.servers_down ? 'bad' : null));
  const unseen = document.getElementById('unseen');
  unseen.hidden = !state.not_seen;
  unseen.textContent = state.not_seen + ' of ' + state.names + ' names are not counted yet: they are inspected in turn.';
  document.getElementById('top').replaceChildren(nameRows(state.top.slice(0, 10)));
  document.getElementById('classes').replaceChildren(table([{ t: 'Class', name: 1 }, { t: 'Kind', off: 1 },
    { t: 'Granted', n: 1 }, { t: 'Not granted', n: 1, off: 1 }, { t: 'Lost', n: 1 }, { t: 'Wait p50', n: 1, off: 1 },
    { t: 'Wait p99', n: 1 }, { t: 'Hold p99', n: 1, off: 1 }],
  state.classes.map(c => [c.class, c.kind, String(c.granted), String(c.failed),
    { text: String(c.lost), grade: c.lost ? 'bad' : '' }, span(c.wait_p50_us / 1000), span(c.wait_p99_us / 1000),
    span(c.hold_p99_us / 1000)]), hasTotals ? 'No client has reported yet; each does so every 10 s.'
    : 'The totals cannot be read. If the server refuses that, dibs acl prints the rights.'));
  fillChart();
}

async function names() {
  if (shown !== 'names') {
    const search = el('input', { type: 'search', id: 'search', placeholder: 'part of a name', 'aria-label': 'Search names', value: query.q });
    const sort = el('select', { 'aria-label': 'Order' }, [['wait', 'longest wait'], ['held', 'longest held'], ['lease', 'shortest lease'], ['name', 'name']]
      .map(([value, text]) => el('option', { value, selected: value === query.sort ? '' : null }, text)));
    const again = change => { Object.assign(query, change); names().catch(error => gone(error.message)); };
    const turn = step => again({ page: Math.max(0, query.page + step) });
    const back = el('button', { type: 'button', id: 'back' }, 'Back'), next = el('button', { type: 'button', id: 'next' }, 'Next');
    const form = el('form', {}, search, sort, back, el('span', { id: 'page' }), next);
    form.addEventListener('submit', e => e.preventDefault());
    search.addEventListener('input', () => again({ q: search.value, page: 0 }));
    sort.addEventListener('change', () => again({ sort: sort.value, page: 0 }));
    back.addEventListener('click', () => turn(-1));
    next.addEventListener('click', () => turn(1));
    main.replaceChildren(form, el('div', { id: 'rows' }, 'Loading …'));
    shown = 'names';
  }
  const asked = JSON.stringify(query), found = await get('names', query);
  if (shown !== 'names' || asked !== JSON.stringify(query)) return;      // another question is on its way
  if (found.page > 0 && found.page >= found.pages) {                     // names went away
    query.page = Math.max(0, found.pages - 1);
    return names();
  }
  document.getElementById('rows').replaceChildren(nameRows(found.rows));
  document.getElementById('page').textContent = found.count + ' names, page ' + (found.page + 1) + ' of ' + Math.max(1, found.pages);
  document.getElementById('back').disabled = found.page === 0;
  document.getElementById('next').disabled = found.page + 1 >= found.pages;
}

const party = p => p.host ? p.host + ':' + p.pid + ' ' + p.program : p.id;

async function oneName(id) {
  const n = await get('name', { id });
  if (location.hash !== '#/name/' + id) return;
  shown = 'name';
  main.replaceChildren(el('h1', { class: 'name' }, n.name), el('p', {}, n.kind + ', ' + n.state),
    el('h2', {}, 'Holders'), table([{ t: 'Client' }, { t: 'Held', n: 1 }, { t: 'Lease left', n: 1 }, { t: 'Fence', n: 1 }, { t: 'Note', off: 1 }],
      (n.holders || []).map(h => [party(h), span(h.held_ms), span(h.remaining_ms), h.fence_text, h.note || '']), 'It is free.'),
    el('h2', {}, 'Queue'), table([{ t: '#', n: 1 }, { t: 'Client' }, { t: 'Waits', n: 1 }],
      (n.queue || []).map(w => [String(w.pos), party(w), wait(w.waited_ms)]), 'No client waits.'),
    el('h2', {}, 'History'), table([{ t: 'Ended' }, { t: 'How' }, { t: 'Waited', n: 1 }, { t: 'Held', n: 1 }, { t: 'Client' }],
      (n.history || []).map(h => [span(h.ago_us / 1000) + ' ago', { text: h.end, grade: h.end === 'released' ? '' : 'warn' },
        span(h.waited_us / 1000), span(h.held_us / 1000), h.host + ':' + (h.pid || '?') + ' ' + h.program]),
      'Nothing notable. history=all in the clients\' settings keeps every hold.'));
}

// The nodes from which a path leads back to themselves.
function cyclic(edges) {
  const next = new Map(), found = new Set();
  for (const e of edges) next.set(e.from, [...(next.get(e.from) || []), e.to]);
  for (const start of next.keys()) {
    const seen = new Set(), todo = [...next.get(start)];
    while (todo.length) {
      const at = todo.pop();
      if (at === start) { found.add(start); break; }
      if (!seen.has(at)) { seen.add(at); todo.push(...(next.get(at) || [])); }
    }
  }
  return found;
}

function drawGraph(edges, red) {
  const NS = 'http://www.w3.org/2000/svg', ids = [...new Set(edges.flatMap(e => [e.from, e.to]))];
  const svg = document.createElementNS(NS, 'svg'), at = new Map();
  const put = (tag, attributes, text) => {
    const e = document.createElementNS(NS, tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    svg.append(e);
  };
  svg.setAttribute('viewBox', '0 0 760 420');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', 'graph of who waits for whom; the table below has the same');
  ids.forEach((id, i) => { const a = 2 * Math.PI * i / ids.length - Math.PI / 2;
    at.set(id, [380 + 280 * Math.cos(a), 205 + 165 * Math.sin(a)]); });
  for (const e of edges) {
    const [x1, y1] = at.get(e.from), [x2, y2] = at.get(e.to), d = Math.hypot(x2 - x1, y2 - y1) || 1;
    const on = red.has(e.from) && red.has(e.to), ux = (x2 - x1) / d, uy = (y2 - y1) / d;
    const [tx, ty] = [x2 - ux * 24, y2 - uy * 24], bend = 18;
    put('path', { class: on ? 'edge cycle' : 'edge', d: `M${x1} ${y1}Q${(x1 + x2) / 2 - uy * bend} ${(y1 + y2) / 2 + ux * bend} ${tx} ${ty}` +
      `M${tx - ux * 9 - uy * 5} ${ty - uy * 9 + ux * 5}L${tx} ${ty}L${tx - ux * 9 + uy * 5} ${ty - uy * 9 - ux * 5}` });
    if (edges.length <= 16) put('text', { x: (x1 + x2) / 2 - uy * bend, y: (y1 + y2) / 2 + ux * bend }, e.name.slice(0, 24));
  }
  for (const id of ids) {
    const [x, y] = at.get(id), label = edges.find(e => e.from === id || e.to === id);
    put('circle', { class: red.has(id) ? 'node cycle' : 'node', cx: x, cy: y, r: 16 });
    put('text', { x, y: y + 32 }, (label.from === id ? label.fromText : label.toText).slice(0, 30));
  }
  return svg;
}

async function waits() {
  const list = await get('waits');
  if (location.hash !== '#/waits') return;
  shown = 'waits';
  const edges = list.flatMap(n => (n.queue || []).flatMap(w => (n.holders || []).map(h =>
    ({ from: w.id, to: h.id, fromText: party(w), toText: party(h), name: n.name, id: n.id, ms: w.waited_ms }))));
  const red = cyclic(edges);
  main.replaceChildren(...[el('h2', {}, 'Who waits for whom'),
    red.size ? el('p', { class: 'bad', id: 'cycle' }, 'A cycle: ' + red.size + ' clients wait for each other. They are red.') : null,
    edges.length && edges.length <= 60 ? el('div', { class: 'wide' }, drawGraph(edges, red)) : null,
    table([{ t: 'Client' }, { t: 'waits for' }, { t: 'Name', name: 1 }, { t: 'since', n: 1 }],
      edges.map(e => [{ text: e.fromText, grade: red.has(e.from) ? 'bad' : '' }, e.toText,
        el('a', { href: '#/name/' + e.id }, e.name), wait(e.ms)]), 'No client waits.')].filter(Boolean));
}

let examined = 0;
async function servers() {
  examined = Date.now();
  const list = await get('servers');
  if (location.hash !== '#/servers') return;
  const order = { fail: 0, warn: 1, unknown: 2, pass: 3 };
  list.sort((a, b) => order[a.grade] - order[b.grade]);
  shown = 'servers';
  main.replaceChildren(el('h2', {}, 'Servers'), el('p', { class: 'quiet' }, 'What dibs doctor finds, at most 30 s old.'),
    table([{ t: '' }, { t: 'Check' }, { t: 'Server', off: 1 }, { t: 'Result' }],
      list.map(f => [{ text: f.grade, grade: { fail: 'bad', warn: 'warn', pass: 'good' }[f.grade] || '' }, f.check, f.node,
        el('span', {}, f.text, f.advice ? el('div', { class: 'quiet' }, '→ ' + f.advice) : null)]), 'No findings.'));
}

let busy = false;
async function draw() {
  const path = location.hash.replace(/^#/, '') || '/';
  for (const a of document.querySelectorAll('nav a')) {
    if (a.getAttribute('href') === '#' + path) a.setAttribute('aria-current', 'page'); else a.removeAttribute('aria-current');
  }
  if (busy && path !== '/') return;
  busy = true;
  try {
    if (path === '/names') await names();
    else if (path.startsWith('/name/')) await oneName(path.slice(6));
    else if (path === '/waits') await waits();
    else if (path === '/servers') { if (shown !== 'servers' || Date.now() - examined > 30000) await servers(); }
    else overview();
  } catch (error) {
    if (shown !== '') gone(error.message);                  // what is there was true before
    else main.replaceChildren(el('p', { class: 'bad', id: 'fault' }, 'Nothing to show: ' + error.message));
  } finally { busy = false; }
}

function gone(text) {
  const box = document.getElementById('gone'), live = document.getElementById('live');
  box.hidden = !text;
  box.textContent = text ? 'Not current: ' + text : '';
  live.textContent = text ? 'gone' : 'live';
  live.className = text ? 'badge bad' : 'badge good';
}

function follow() {
  const source = new EventSource('api/events');
  source.onmessage = event => {
    state = JSON.parse(event.data);
    document.getElementById('url').textContent = state.url;
    gone(state.up ? '' : 'the servers do not answer. ' + state.error);
    points.push([Math.floor(Date.now() / 1000), state.held, state.waiting, state.oldest_ms]);
    if (points.length > 1800) points.shift();
    draw();
  };
  source.onerror = () => {
    gone('dibs web does not answer; trying again');
    // After an answer that is no stream, such as that of a proxy, the browser itself gives up.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}

addEventListener('hashchange', () => {
  shown = '';
  busy = false;
  main.replaceChildren(el('p', { class: 'quiet' }, 'Loading …'));
  main.focus();
  draw();
});
addEventListener('keydown', e => {
  if (e.target.matches('input, select') || e.ctrlKey || e.altKey || e.metaKey) return;
  const views = ['#/', '#/names', '#/waits', '#/servers'];
  if (views[e.key - 1]) location.hash = views[e.key - 1];
  if (e.key === '/') { e.preventDefault(); location.hash = '#/names';
    setTimeout(() => { const s = document.getElementById('search'); if (s) s.focus(); }, 50); }
});
get('points').then(list => { points = list; }).catch(() => {}).finally(() => { draw(); follow(); });
