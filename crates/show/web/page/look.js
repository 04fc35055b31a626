// Waits of a process, the tasks that wake it, and its system calls. The server attaches programs
// for these only while a page shows them. A page in a file has none.

const whoOf = of => of.pid === 0 || of.pid === null ? (of.comm || 'interrupt') : `${of.comm}/${of.tid ?? of.pid}`;

// The largest parts of a whole, in words.
const largest = (parts, amount, told, most = 3) => {
  const all = [...parts].sort((a, b) => amount(b) - amount(a));
  const words = all.slice(0, most).map(told);
  if (all.length > most) words.push(`${count(all.length - most)} more`);
  return words.join(', ');
};

// Parts by name. Several processes of one name, such as the short-lived ones of a shell, become one
// part with their number.
const byName = (parts, amount) => {
  const pids = new Map(), sums = new Map();
  for (const of of parts) if (of.pid) pids.set(of.comm, (pids.get(of.comm) ?? new Set()).add(of.pid));
  for (const of of parts) {
    const n = of.pid ? pids.get(of.comm).size : 1, name = n > 1 ? `${of.comm} × ${count(n)}` : whoOf(of);
    sums.set(name, (sums.get(name) ?? 0) + of[amount]);
  }
  return [...sums].map(([name, amount]) => ({ name, amount }));
};

const waitCells = (row, ns) => {
  const own = ns * Math.max(1, row.threads);
  const sleeps = largest(row.sleeps.filter(sleep => sleep.ns > 0), sleep => sleep.ns,
    sleep => `${sleep.state} ${sleep.syscall ?? (sleep.nr < 0 ? 'no call' : `call ${sleep.nr}`)} ${percent(sleep.ns / own)} %`, 4);
  const queue = of => of.count ? `${percent(of.ns / own, 2)} %, ${count(of.count)} times, p99 ${duration(of.p99_ns)}, longest ${duration(of.max_ns)}` : '';
  const ran = row.ran_instead.reduce((sum, of) => sum + of.ns, 0), woken = row.woken_by.reduce((sum, of) => sum + of.wakes, 0);
  return [sleeps, queue(row.after_wakeup), queue(row.after_preemption),
    largest(byName(row.ran_instead, 'ns'), of => of.amount, of => `${of.name} ${percent(of.amount / ran, 0)} %`),
    largest(byName(row.woken_by, 'wakes'), of => of.amount, of => `${of.name} ${percent(of.amount / woken, 0)} % (${count(of.amount)})`)];
};

// All threads of a window as one.
const allThreads = rows => {
  const add = (into, more, key, amount) => {
    for (const one of more) {
      const known = into.get(key(one));
      if (known) known[amount] += one[amount]; else into.set(key(one), { ...one });
    }
  };
  const [sleeps, ran, woken] = [new Map(), new Map(), new Map()];
  for (const row of rows) {
    add(sleeps, row.sleeps, one => `${one.state} ${one.nr}`, 'ns');
    add(ran, row.ran_instead, whoOf, 'ns');
    add(woken, row.woken_by, whoOf, 'wakes');
  }
  const none = { count: 0 };
  return { threads: rows.length, sleeps: [...sleeps.values()], after_wakeup: none, after_preemption: none, ran_instead: [...ran.values()], woken_by: [...woken.values()] };
};

const tableOf = (place, heads, rows) => fill(place,
  part('thead', {}, part('tr', {}, ...heads.map(text => part('th', { scope: 'col', text })))),
  part('tbody', {}, ...rows.map(([name, ...cells]) => part('tr', {}, part('th', { scope: 'row', text: name }), ...cells.map(text => part('td', { text }))))));

class LookView {
  constructor(model) {
    Object.assign(this, { model, row: null, source: null, calls: false, key: null });
    $('row-count-calls').addEventListener('click', () => { this.calls = !this.calls; this.open(); });
    // A page in the background needs no programs.
    document.addEventListener('visibilitychange', () => this.open());
  }

  // Shows a process; null: none.
  at(row) {
    const before = this.row, now = row && row.pid !== null && row.kind !== 'exited' ? row : null;
    if (before?.key === now?.key) return;
    this.row = now;
    this.calls = false;
    this.open();
  }

  close() {
    this.source?.close();
    this.source = null;
  }

  open() {
    this.close();
    const { row } = this;
    $('row-look').hidden = !row;
    if (!row) return;
    fill($('row-waits'));
    fill($('row-calls'));
    $('row-count-calls').setAttribute('aria-pressed', String(this.calls));
    $('row-count-calls').hidden = !this.model.isLive;
    if (!this.model.isLive) return this.recorded(row);
    const callsToo = `'exactop syscalls -p ${row.pid}' counts them, too.`;
    this.say(this.key ? 'Programs are being attached …' : `A page without a token attaches no programs: start 'exactop web --token', or run 'exactop waits -p ${row.pid}'.`);
    $('row-calls-told').textContent = this.calls ? 'Programs are being attached …' : `Press the button to count them; ${callsToo}`;
    if (document.hidden || !this.key) return;
    const asked = new URLSearchParams(location.search);
    asked.set('key', this.key);
    asked.set('pid', row.pid);
    if (this.calls) asked.set('calls', '1');
    const source = this.source = new EventSource(`look?${asked}`);
    const on = (name, what) => source.addEventListener(name, event => {
      if (this.source === source && !window.exactop.isHeld()) what(JSON.parse(event.data));
    });
    on('waits', told => this.waits(told));
    on('calls', told => this.syscalls(told));
    on('refused', told => {
      const what = told.what === 'calls' ? 'row-calls' : 'row-waits';
      $(`${what}-told`).textContent = told.why;
      // Earlier figures do not belong to this process.
      fill($(what));
    });
    source.addEventListener('error', () => {
      if (this.source === source && source.readyState === EventSource.CLOSED) this.say(`Refused: too many pages look at processes, or the process has exited. Run 'exactop waits -p ${row.pid}'.`);
    });
  }

  say(words) {
    $('row-waits-told').textContent = words;
  }

  recorded(row) {
    this.say(`A recorded page has no waits and wake-ups. 'exactop waits --replay DIR -p ${row.pid}' has those of windows in which a live view with --record had its page open.`);
    $('row-calls-told').textContent = 'A recording has only the number of system calls (column SCL). On a live machine \'exactop syscalls -p PID\' and this page count each call.';
  }

  waits(told) {
    const ns = told.window.t1_ns - told.window.t0_ns, heads = ['Thread', 'Waits in', 'Queued after wake-up', 'after preemption', 'Ran meanwhile', 'Woken by'];
    const rows = told.rows.slice(0, 200).map(row => [`${row.comm} ${row.tid ?? row.pid}`, ...waitCells(row, ns)]);
    if (told.rows.length > 1) rows.unshift([`all ${count(told.rows.length)} threads`, ...waitCells(allThreads(told.rows), ns)]);
    this.say(told.rows.length ? `Of the last ${duration(ns)}, in per cent of a thread's time.${this.lost(told)}` : `No thread waited in the last ${duration(ns)}.`);
    tableOf($('row-waits'), heads, rows);
  }

  syscalls(told) {
    const ns = told.window.t1_ns - told.window.t0_ns, heads = ['Call', 'Calls', 'a second', 'Time', 'Mean', 'Longest', 'In flight', 'Failed', 'with'];
    const errors = of => largest(Object.entries(of), ([, n]) => n, ([name, n]) => `${name} ${count(n)}`);
    const rows = told.calls.map(row => [row.syscall ?? `call ${row.nr}`, count(row.calls), count((row.calls * 1e9) / ns), duration(row.total_ns), duration(row.mean_ns),
      duration(row.max_ns), count(row.in_flight), count(row.errors), errors(row.errnos ?? {})]);
    $('row-calls-told').textContent = rows.length ? `Of the last ${duration(ns)}.${this.lost(told)}` : `No calls in the last ${duration(ns)}.`;
    tableOf($('row-calls'), heads, rows);
  }

  lost(told) {
    return told.lost ? ` ${count(told.lost)} were not counted: the tables were full.` : '';
  }
}
