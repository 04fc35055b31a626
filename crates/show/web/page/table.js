// The table of processes and exited groups, or of rows merged by a common property. Only the
// visible rows are in the document.

const BY = {
  process: 'process', command: 'command', user: 'user', unit: 'unit', container: 'container',
  pod: 'pod', namespace: 'namespace', cgroup: 'control group', parent: 'parent',
};
const USUAL = ['run_ns', 'user_ns', 'system_ns', 'lat_ns', 'throttle_ns', 'block_ns', 'steal_ns', 'dispatches', 'icx', 'syscalls', 'exited'];
const NO_NAME = '(none, or unknown)';
// Rows that are drawn above and below those in sight.
const MARGIN = 4;

// Width of the name on a phone, and room beside a figure, pixels.
const NARROW_NAME = 116, NARROW_ROOM = 18;
const isNarrow = () => matchMedia('(max-width: 640px)').matches;

// Columns that name a row.
const WHO = [
  { text: 'PID', name: 'pid', of: row => row.pid },
  { text: 'USER', word: true, of: row => row.user },
  { text: 'UNDER', word: true, of: row => row.parent ? `${row.parent} ${row.ppid}` : null },
];
const ROWS = [{ text: 'ROWS', of: (row, line) => count(line.members.length) }];

const nameOf = row => row.kind === 'kernel' ? `[${row.comm}]` : row.comm;

const groupOf = (row, by) => {
  if (row.kind === 'other') return '~other';
  if (by === 'command') return row.kind === 'kernel' ? `[${row.comm.replace(/\/.*/, '')}]` : row.comm;
  if (by === 'parent') return row.parent ? `${row.parent} (${row.ppid})` : NO_NAME;
  return row[by] ?? NO_NAME;
};

const wordsOf = row => [row.comm, row.command, row.user, row.cgroup, row.unit, row.container, row.pod, row.pid, row.parent]
  .filter(word => word !== null && word !== undefined).join('\n').toLowerCase();

// A sum is unknown if a part is; a row that was not there adds nothing.
const together = (members, column, [from, to]) => {
  let sum;
  for (const row of members) {
    const figure = row.sum(column, from, to);
    if (figure === null) return null;
    if (figure !== undefined) sum = (sum ?? 0) + figure;
  }
  return sum;
};

// Makes these the rows of a table's body. Rows that stay are not touched, so they are not laid out
// again.
const arrange = (body, rows) => {
  const stay = new Set(rows);
  for (const row of [...body.children]) if (!stay.has(row)) row.remove();
  let next = body.firstChild;
  for (const row of rows) {
    if (row === next) next = next.nextSibling;
    else body.insertBefore(row, next);
  }
};

class Table {
  constructor(model, address, open) {
    Object.assign(this, { model, address, open, lines: [] });
    this.place = $('rows');
    this.life = model.column('life_ns');
    this.place.addEventListener('scroll', soon(() => this.draw()));
    this.isOnPaper = false;
    addEventListener('beforeprint', () => { this.isOnPaper = true; this.draw(); });
    addEventListener('afterprint', () => { this.isOnPaper = false; this.draw(); });
    fill($('by'), ...Object.entries(BY).map(([value, text]) => part('option', { value, text })));
    $('by').addEventListener('change', event => address.go({ by: event.target.value }));
    // A phone has no heading to press for most columns.
    fill($('sort'), part('option', { value: 'name', text: 'name' }), part('option', { value: 'pid', text: 'PID' }), ...model.columns.map(column => part('option', { value: column.name, text: this.title(column) })));
    $('sort').addEventListener('change', event => address.go(this.sorted(event.target.value)));
    $('unit').addEventListener('change', event => address.go({ unit: event.target.value }));
    $('search').addEventListener('input', event => address.go({ q: event.target.value }, true));
    const boxes = model.columns.map(column => {
      const box = part('input', { type: 'checkbox', value: column.name });
      box.addEventListener('change', () => address.go({ cols: this.boxes.filter(of => of.checked).map(of => of.value) }));
      return [box, part('label', { title: column.help }, box, ` ${this.title(column)}`)];
    });
    fill($('rows-files'), part('summary', { text: 'As a file' }), fileButtons(model, () => `rows-by-${this.state.by}`, () => this.figures()));
    this.boxes = boxes.map(([box]) => box);
    fill($('columns-list'), ...boxes.map(([, label]) => label));
  }

  // Sorts by a column, the largest first, and shows it.
  sorted(name) {
    const shown = this.shown.map(i => this.model.columns[i].name), isThere = ['name', 'pid'].includes(name) || shown.includes(name);
    return { sort: name, desc: true, cols: isThere ? this.state.cols : [...shown, name] };
  }

  // Sorts by the column beside the sort column.
  besides(step) {
    const names = ['name', ...(this.state.by === 'process' ? ['pid'] : []), ...this.shown.map(i => this.model.columns[i].name)];
    const at = names.indexOf(this.state.sort) + step;
    return this.sorted(names[Math.max(0, Math.min(names.length - 1, at))]);
  }

  title(column) {
    return column.title.replace(/_NS$/, '');
  }

  // The columns on the page.
  columns(state) {
    if (state.cols) return this.model.columns.map((_, i) => i).filter(i => state.cols.includes(this.model.columns[i].name));
    // The default columns, without those that are unknown in all rows.
    const isKnown = i => [...this.model.rows.values()].some(row => Array.isArray(row.figures[i]) ? row.figures[i].some(figure => figure !== null) : row.figures[i] !== null);
    return USUAL.map(name => this.model.column(name)).filter(i => i >= 0 && isKnown(i));
  }

  show(state, one, other, mark = null) {
    Object.assign(this, { state, mark });
    this.ranges = other ? [one, other] : [one];
    this.lengths = this.ranges.map(range => this.model.lengthNs(range));
    this.shown = this.columns(state);
    this.sortBy = Math.max(0, this.model.column(state.sort));
    this.boxes.forEach((box, i) => { box.checked = this.shown.includes(i); });
    [$('by').value, $('unit').value, $('sort').value] = [state.by in BY ? state.by : 'process', state.unit, state.sort];
    if (document.activeElement !== $('search')) $('search').value = state.q;
    this.arrange();
    this.fit();
    this.head();
    this.foot();
    this.draw();
  }

  // The columns of the table. On a phone: as many as fit beside the name, first the sort column; the
  // others are in the row's detail.
  fit() {
    const who = this.state.by === 'process' ? WHO : ROWS, heads = this.allHeads();
    Object.assign(this, { who, heads, left: [] });
    if (!isNarrow()) return;
    const pen = this.pen ??= part('canvas').getContext('2d');
    pen.font = `bold 13.6px ${getComputedStyle(this.place).fontFamily}`;
    const wide = texts => Math.ceil(texts.reduce((most, text) => Math.max(most, pen.measureText(text ?? '').width), 0)) + NARROW_ROOM;
    const lines = this.lines.slice(0, 100), sum = { members: this.lines.flatMap(line => line.members) };
    const isSorted = head => head.name === this.state.sort;
    const order = [...heads.filter(isSorted), ...who.filter(one => !one.word), ...heads.filter(head => !isSorted(head)), ...who.filter(one => one.word)];
    let room = this.place.clientWidth - NARROW_NAME;
    const fits = new Set(order.filter(one => {
      one.wide = one.of ? wide([`${one.text} ▼`, ...lines.map(line => String(one.of(line.row, line) ?? ''))])
        : wide([`${one.text} ▼`, ...[...lines, sum].map(line => `≥ ${this.cellText(one, line)}`)]);
      // A column after one that does not fit would be out of order.
      room = one.wide <= room ? room - one.wide : -1;
      return room >= 0;
    }));
    const isIn = one => fits.has(one);
    Object.assign(this, { who: who.filter(isIn), heads: heads.filter(isIn), left: heads.filter(head => !isIn(head)) });
  }

  // Heading, text and meaning of the columns that a phone's table leaves out, for a row's detail.
  leftOut(row) {
    return this.left.map(head => [head.text, this.cellText(head, { members: [row] }), head.help]);
  }

  // The lines and their order.
  arrange() {
    const { by, q, sort, desc, fresh } = this.state, wanted = q.trim().toLowerCase();
    const there = [...this.model.rows.values()].filter(row => this.ranges.some(([from, to]) => placeOf(row.at, from) < placeOf(row.at, to)));
    const matches = row => wanted === '' || (row.words ??= wordsOf(row)).includes(wanted);
    const begins_us = this.mark && this.model.slots.from_us[this.mark[0]];
    const isNew = row => !fresh || !this.mark || (row.kind !== 'other' && row.isNewSince(this.mark, begins_us, this.ranges.at(-1)));
    const found = there.filter(row => matches(row) && isNew(row));
    if (by === 'process' || !(by in BY)) {
      this.lines = found.map(row => ({ key: row.key, kind: row.kind, name: nameOf(row), row, members: [row] }));
    } else {
      const groups = new Map();
      for (const row of found) {
        const name = groupOf(row, by);
        if (!groups.has(name)) groups.set(name, { key: name, kind: 'group', name, row: null, members: [] });
        groups.get(name).members.push(row);
      }
      this.lines = [...groups.values()];
    }
    this.all = there.length;
    const value = sort === 'name' ? null : sort === 'pid' ? line => line.row?.pid : line => line.sorted ??= this.figure(line, this.sortBy);
    const order = value
      ? (a, b) => (value(b) ?? -Infinity) - (value(a) ?? -Infinity) || a.name.localeCompare(b.name)
      : (a, b) => b.name.localeCompare(a.name);
    this.lines.sort(order);
    if (!desc) this.lines.reverse();
  }

  // A figure of a line: of one range, or the difference of two ranges, each relative to its length.
  figure(line, column) {
    const [a, b] = this.ranges.map((_, i) => this.rate(line, column, i));
    if (this.ranges.length === 1) return a;
    if (a === null || b === null) return null;
    return a === undefined && b === undefined ? undefined : (b ?? 0) - (a ?? 0);
  }

  // Time as a share, counts as they are; with two ranges, counts per second.
  rate(line, column, i) {
    const sum = together(line.members, column, this.ranges[i]);
    if (sum === null || sum === undefined) return sum;
    const { unit } = this.state, isTime = this.model.columns[column].unit === 'ns';
    if (!isTime) return this.ranges.length === 1 ? sum : (sum * 1e9) / this.lengths[i];
    if (unit === 'time') return sum;
    if (unit === 'own') {
      const life = together(line.members, this.life, this.ranges[i]);
      return life ? sum / life : null;
    }
    return sum / this.lengths[i];
  }

  text(value, column) {
    if (value === undefined || value === null) return value === null ? NONE : '';
    const { unit } = this.state, isTime = this.model.columns[column].unit === 'ns', sign = this.ranges.length > 1 && value > 0 ? '+' : '';
    if (!isTime) return sign + (this.ranges.length > 1 ? value.toFixed(1) : count(value));
    return sign + (unit === 'time' ? duration(value) : value === 0 ? '0' : percent(value, 2));
  }

  // Every line with its figures in each range, as they are in the ledger.
  figures() {
    const names = ['pid', 'ppid', 'user', 'unit', 'container', 'pod', 'namespace', 'cgroup', 'command'];
    const columns = this.shown.flatMap(i => this.ranges.map((range, n) => ({ i, range, id: `${this.model.columns[i].name}${n ? '_second' : ''}` })));
    const heads = [head('', 'name'), head('', 'rows'), ...names.map(name => head('', name)), ...columns.map(({ id }) => head('', id))];
    return [heads, this.lines.map(line => [line.name, line.members.length, ...names.map(name => line.row?.[name]),
      ...columns.map(({ i, range }) => together(line.members, i, range))])];
  }

  allHeads() {
    const two = this.ranges.length > 1, title = i => this.title(this.model.columns[i]);
    const of = i => ({ name: this.model.columns[i].name, text: title(i), help: this.model.columns[i].help });
    const pair = two ? ['first', 'second'].map((text, i) => ({ name: null, text: `${title(this.sortBy)} ${text}`, help: '', rate: i })) : [];
    return [...pair, ...this.shown.map(i => ({ ...of(i), column: i }))];
  }

  head() {
    const { sort, desc, by } = this.state;
    const cell = (name, text, help, word) => {
      const is = sort === name, order = is ? (desc ? 'descending' : 'ascending') : 'none';
      const change = () => this.address.go({ sort: name, desc: is ? !desc : true });
      const button = part('button', { title: help, onclick: name ? change : null, disabled: !name }, text, is ? (desc ? ' ▼' : ' ▲') : '');
      return part('th', { scope: 'col', 'aria-sort': name ? order : null, class: word ? 'word' : null }, button);
    };
    this.headLine = part('thead', {}, part('tr', {}, cell('name', by === 'process' ? 'COMMAND' : (BY[by] ?? '').toUpperCase(), 'The command or name of the row', true),
      ...this.who.map(({ text, name, word }) => name ? cell(name, text, 'Process ID', false) : part('th', { scope: 'col', text, class: word ? 'word' : null })),
      ...this.heads.map(head => cell(head.name, head.text, head.help, false))));
    [...this.who, ...this.heads].forEach(({ wide }, i) => {
      if (wide) this.headLine.firstChild.children[i + 1].style.width = `${wide}px`;
    });
  }

  value(head, line) {
    return head.rate === undefined ? this.figure(line, head.column) : this.rate(line, this.sortBy, head.rate);
  }

  cellText(head, line) {
    const text = this.text(this.value(head, line), head.column ?? this.sortBy);
    return head.rate === undefined ? text : text.replace(/^\+/, '');
  }

  cells(line) {
    return this.heads.map(head => {
      const value = this.value(head, line), differs = this.ranges.length > 1 && head.rate === undefined && value;
      return part('td', { text: this.cellText(head, line), class: differs ? (value > 0 ? 'up' : 'down') : null });
    });
  }

  foot() {
    const members = this.lines.flatMap(line => line.members);
    const cells = this.cells({ members });
    this.heads.forEach((head, i) => this.atLeast(cells[i], members, head.column));
    const label = part('td', { text: `Sum of ${count(this.lines.length)}` });
    this.footLine = part('tfoot', {}, part('tr', {}, label, this.who.length ? part('td', { colspan: this.who.length }) : null, ...cells));
    const left = this.all - members.length;
    $('rows-count').textContent = `${count(this.lines.length)} rows${left > 0 ? `, ${count(left)} others ${this.state.fresh && this.mark ? 'are not new' : 'do not match'}` : ''}${this.othersWords()}${this.ranges.length > 1 ? '; differences: the second time range less the first, counts per second' : ''}${this.left.length ? `; ${counted(this.left.length, 'column')} without room: a row’s detail has them` : ''}`;
  }

  // If a sum is unknown, shows its known part as a lower bound.
  atLeast(cell, members, column) {
    const { unit } = this.state, isTime = column !== undefined && this.model.columns[column].unit === 'ns';
    if (cell.textContent !== NONE || column === undefined || this.ranges.length > 1 || (isTime && unit === 'own')) return;
    const least = members.reduce((sum, row) => sum + row.known(column, ...this.ranges[0]), 0);
    if (least === 0) return;
    cell.textContent = `≥ ${this.text(isTime && unit !== 'time' ? least / this.lengths[0] : least, column)}`;
    cell.title = 'Some rows have no figure in some windows';
  }

  othersWords() {
    const { count: others, at_most } = this.model.rowsLeftOut;
    return others > 0 ? `; ${count(others)}${at_most ? ' or fewer' : ''} others have no row of their own: ~other` : '';
  }

  line(line) {
    const row = line.row, chosen = row && this.state.row === row.key;
    const open = () => row ? this.open(row.key) : this.address.go({ by: 'process', q: line.name === NO_NAME ? '' : line.name });
    const exited = row?.kind === 'exited' && this.ranges.length === 1 ? together([row], this.model.column('exited'), this.ranges[0]) : 0;
    const button = part('button', { title: row?.command ?? line.name, onclick: row?.kind === 'other' ? null : open }, exited ? `${count(exited)} × ${line.name}` : line.name);
    const who = this.who.map(({ word, of }) => part('td', { text: of(row, line) ?? '', class: word ? 'word' : null }));
    return part('tr', { class: `${line.kind}${chosen ? ' chosen' : ''}` }, part('td', { class: 'word' }, button), ...who, ...this.cells(line));
  }

  // Draws the visible rows, and space for the others; on paper, which does not scroll, the first
  // rows.
  draw() {
    if (!this.headLine) return;
    const all = this.isOnPaper || matchMedia('print').matches ? 300 : 0;
    const height = this.height ?? 25, seen = Math.ceil(Math.min(innerHeight, this.place.clientHeight || innerHeight) / height);
    const top = Math.floor(this.place.scrollTop / height);
    // While the rows in sight are drawn, scrolling draws nothing.
    const { drawn } = this, isNew = drawn?.head !== this.headLine || drawn.all !== all || drawn.height !== height;
    if (!isNew && (all || (drawn.first <= top && Math.min(this.lines.length, top + seen) <= drawn.last))) return;
    const first = all ? 0 : Math.max(0, Math.min(this.lines.length - 1, top - MARGIN));
    const last = Math.min(this.lines.length, all || first + seen + 2 * MARGIN);
    const focused = this.place.contains(document.activeElement) && document.activeElement.closest('tr')?.dataset.key;
    const lines = this.lines.slice(first, last).map((line, i) => {
      const made = line.made ??= this.line(line);
      made.setAttribute('aria-rowindex', first + i + 2);
      made.dataset.key = line.key;
      return made;
    });
    const { scrollTop } = this.place;
    if (isNew) {
      this.body = part('tbody');
      this.spaces = [0, 1].map(() => part('tr', { class: 'space', 'aria-hidden': 'true' }, part('td', { colspan: 1 + this.who.length + this.heads.length })));
      fill(this.place, part('table', { 'aria-rowcount': this.lines.length + 2, 'aria-labelledby': 'rows-title' }, this.headLine, this.body, this.footLine));
    }
    [first, all ? 0 : this.lines.length - last].forEach((rows, i) => {
      this.spaces[i].hidden = rows <= 0;
      this.spaces[i].firstChild.style.height = `${rows * height}px`;
    });
    arrange(this.body, [this.spaces[0], ...lines, this.spaces[1]]);
    if (isNew && this.place.scrollTop !== scrollTop) this.place.scrollTop = scrollTop;
    this.drawn = { head: this.headLine, first, last, all, height };
    if (focused) lines.find(line => line.dataset.key === focused)?.querySelector('button')?.focus({ preventScroll: true });
    const real = isNew && lines[0]?.getBoundingClientRect().height;
    if (real && this.height !== real) {
      this.height = real;
      if (!all) this.draw();
    }
  }
}
