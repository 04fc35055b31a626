// The page's data: slots of time, and the figures of each account, CPU and row by slot.

// Sums of nanoseconds exceed the exact integers of a double: a week of 128 CPUs.
const exactSum = (list, from, to) => {
  let sum = 0n;
  for (let i = from; i < to; i++) if (list[i] !== null) sum += BigInt(list[i]);
  return sum;
};

// Index of the first value in a sorted list that is not less.
const placeOf = (list, value) => {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
};

// A call with one argument per value would exceed the engine's limit.
const extend = (list, more) => { for (const one of more) list.push(one); };

const WORDS = ['ppid', 'parent', 'comm', 'command', 'user', 'cgroup', 'unit', 'container', 'pod', 'namespace', 'began_us'];

// Accounts that a window may lack. Their time is part of tasks and of idle then.
const MEASURED_AT_TIMES = ['irq', 'steal'];

// Changes from a slot on, which becomes the first. The last change before it still applies.
const changesFrom = (changes, slots) => {
  const first = changes.findLastIndex(change => change.slot <= slots);
  return changes.slice(Math.max(0, first)).map(change => ({ ...change, slot: Math.max(0, change.slot - slots) }));
};

class Row {
  constructor(told, before) {
    this.pid = null;
    for (const word of WORDS) this[word] = null;
    Object.assign(this, told);
    let slot = before;
    this.at = told.slots.map(step => (slot += step));
    this.slots = null;
    this.threads = (told.threads ?? []).map(([slot, n]) => ({ slot: slot + before, n }));
  }

  // Living threads in a slot; undefined: unknown.
  threadsAt(slot) {
    return this.threads.findLast(change => change.slot <= slot)?.n;
  }

  // True if it was not there in the slots of a mark, or has more threads at the end of later ones. A
  // task that begins runs, so it is seen in that slot.
  isNewSince(mark, markBegins_us, [, to]) {
    const then = this.threadsAt(mark[1] - 1), now = this.threadsAt(to - 1);
    return (this.at[0] >= mark[1] && (this.began_us ?? Infinity) >= markBegins_us) || (then !== undefined && now > then);
  }

  // Sum of a column over some slots; null: unknown in one of them, undefined: the row was not
  // there.
  sum(column, from, to) {
    const begin = placeOf(this.at, from), end = placeOf(this.at, to);
    if (begin === end) return undefined;
    const figures = this.figures[column];
    if (!Array.isArray(figures)) return figures === null ? null : figures * (end - begin);
    let sum = 0;
    for (let i = begin; i < end; i++) {
      if (figures[i] === null) return null;
      sum += figures[i];
    }
    return sum;
  }

  // Sum of the known figures.
  known(column, from, to) {
    const figures = this.figures[column];
    let sum = 0;
    for (let i = placeOf(this.at, from), end = placeOf(this.at, to); i < end; i++) sum += (Array.isArray(figures) ? figures[i] : figures) ?? 0;
    return sum;
  }

  // Appends figures of later slots.
  append(later) {
    const [had, more] = [this.at.length, later.at.length];
    const all = (figures, n) => Array.isArray(figures) ? figures : new Array(n).fill(figures);
    this.figures = this.figures.map((figures, i) => {
      const next = later.figures[i];
      const same = !Array.isArray(figures) && figures === next;
      return same ? figures : all(figures, had).concat(all(next, more));
    });
    this.at = this.at.concat(later.at);
    this.threads = this.threads.concat(later.threads.filter(({ n }, i) => i > 0 || n !== this.threads.at(-1)?.n));
    this.words = null;
    for (const word of WORDS) this[word] = later[word] ?? this[word];
  }

  // Drops the first slots.
  forget(slots) {
    const gone = placeOf(this.at, slots);
    this.at = this.at.slice(gone).map(at => at - slots);
    this.figures = this.figures.map(figures => Array.isArray(figures) ? figures.slice(gone) : figures);
    this.threads = changesFrom(this.threads, slots);
  }
}

// A control group: the ledger's figures of its own tasks, then the kernel's figures of the whole
// subtree.
class Group extends Row {
  constructor(told, before) {
    super(told, before);
    this.path ??= null;
    this.meaning ??= null;
    this.limits = (told.limits ?? []).map(([slot, weight, cpus, max]) => ({ slot: slot + before, weight, cpus, max }));
  }

  append(later) {
    super.append(later);
    this.path = later.path ?? this.path;
    this.meaning = later.meaning ?? this.meaning;
    for (const limit of later.limits) {
      const last = this.limits.at(-1);
      if (!last || last.weight !== limit.weight || last.max !== limit.max || last.cpus !== limit.cpus) this.limits.push(limit);
    }
  }

  forget(slots) {
    super.forget(slots);
    this.limits = changesFrom(this.limits, slots);
  }

  // Limits in a slot, as last read; null: not read.
  limitAt(slot) {
    return this.limits.findLast(limit => limit.slot <= slot) ?? null;
  }
}

// Number of group figures that come from the ledger and add up.
const LEDGER = 4;
// Most groups, and most threads, that a live page keeps.
const LIVE_GROUPS = 2000;
// Most pairs of the blame book, under all keys together.
const LIVE_PAIRS = 2000;
// Most owners of waits by size, likewise.
const LIVE_SIZES = 200;

class Model {
  constructor(told) {
    this.accounts = told.accounts;
    this.columns = told.columns;
    this.about = told.about;
    this.n = 0;
    this.slots = null;
    this.cpus = new Map();
    this.rows = new Map();
    this.groups = new Map();
    this.threads = new Map();
    this.pairs = new Map();
    this.sizes = new Map();
    this.sizeEnds = told.size_ends_ns;
    this.places = 2 * this.sizeEnds.length;
    this.groupColumns = told.group_columns;
    this.groupsLeftOut = told.groups_left_out;
    this.threadsLeftOut = told.threads_left_out;
    this.gaps = [];
    this.marks = [];
    this.marksLeftOut = this.gapsLeftOut = this.cpusLeftOut = 0;
    this.rowsLeftOut = told.rows_left_out;
    this.append(told);
  }

  // Appends the slots that follow.
  append(told) {
    const before = this.n, slots = told.slots;
    if (this.slots === null) {
      this.slots = slots;
    } else {
      for (const name of ['from_us', 'to_us', 'length_ns', 'windows', 'state', 'capacity_ns', 'blame_ns', 'sizes_ns', 'irq_windows', 'steal_windows']) {
        extend(this.slots[name], slots[name]);
      }
      slots.parts_ns.forEach((parts, i) => extend(this.slots.parts_ns[i], parts));
      extend(this.slots.peaks, slots.peaks.map(([slot, peak]) => [slot + before, peak]));
      for (const name of ['windows', 'repaired', 'inexact']) this.about[name] += told.about[name];
      this.about.cpus = Math.max(this.about.cpus, told.about.cpus);
      this.about.source = told.about.source;
    }
    this.n = this.slots.from_us.length;
    for (const cpu of told.cpus) {
      const known = this.cpus.get(cpu.cpu) ?? { cpu: cpu.cpu, busy_ns: [], most_permille: [] };
      for (const name of ['busy_ns', 'most_permille']) {
        while (known[name].length < before) known[name].push(null);
        extend(known[name], cpu[name]);
      }
      this.cpus.set(cpu.cpu, known);
    }
    // A CPU that was offline throughout has no figures.
    for (const cpu of this.cpus.values()) {
      for (const list of [cpu.busy_ns, cpu.most_permille]) while (list.length < this.n) list.push(null);
    }
    for (const of of told.rows) {
      const row = new Row(of, before), known = this.rows.get(row.key);
      if (known) known.append(row); else this.rows.set(row.key, row);
    }
    for (const [of, into, Kind] of [[told.groups, this.groups, Group], [told.threads, this.threads, Row], [told.pairs, this.pairs, Row], [told.sizes, this.sizes, Row]]) {
      // Counts of waits have places, of which a slot has many.
      const first = into === this.sizes ? before * this.places : before;
      for (const one of of) {
        const row = new Kind(one, first), known = into.get(row.key);
        if (known) known.append(row); else into.set(row.key, row);
      }
    }
    extend(this.gaps, told.gaps);
    this.takeMarks(told.marks, before);
    this.marksLeftOut += told.marks_left_out;
    this.gapsLeftOut += told.gaps_left_out;
    this.cpusLeftOut = Math.max(this.cpusLeftOut, told.cpus_left_out);
    this.peaksOf = null;
  }

  // Merges a finding that continues where the last one ended.
  takeMarks(marks, before) {
    for (const mark of marks) {
      const last = this.marks.findLast(known => known.id === mark.id && known.subject === mark.subject);
      // The wall clock may be slewed, so the ends need not match exactly.
      if (before > 0 && last && Math.abs(last.to_us - mark.from_us) < 50e3) {
        if (mark.about_ns > last.worst_ns) [last.sentence, last.evidence, last.leads] = [mark.sentence, mark.evidence, mark.leads];
        last.to_us = mark.to_us;
        last.windows += mark.windows;
        last.worst_ns = Math.max(last.worst_ns, mark.about_ns);
        last.about_ns += mark.about_ns;
      } else {
        this.marks.push({ ...mark, worst_ns: mark.about_ns });
      }
    }
  }

  // Keeps the largest rows; the others, also groups, are merged into one row.
  keepRows(most) {
    const others = { kind: 'other', comm: '~other' };
    this.putAway(this.rows, most, this.column('run_ns'), this.columns.map(column => !column.of_rows_alone), told => new Row({ ...others, ...told }, 0));
    this.putAway(this.groups, LIVE_GROUPS, 0, this.groupColumns.map((_, i) => i < LEDGER), told => new Group(told, 0));
    this.pairs = this.keepByKey(this.pairs, LIVE_PAIRS, { victim: '~other', kind: 'other', culprit: '~other' });
    this.sizes = this.keepByKey(this.sizes, LIVE_SIZES, { owner: '~other' });
    // Threads belong to no sum, so they are only dropped.
    const threads = [...this.threads.values()].sort((a, b) => b.at.at(-1) - a.at.at(-1));
    for (const thread of threads.slice(LIVE_GROUPS)) this.threads.delete(thread.key);
  }

  // Keeps the rows with the largest sums under each key; the others are one.
  keepByKey(all, most, others) {
    if (all.size <= most) return all;
    const byKey = Map.groupBy(all.values(), row => row.by), kept = new Map();
    for (const [by, of] of byKey) {
      const rows = new Map(of.map(row => [row.key, row]));
      this.putAway(rows, most / byKey.size, 0, [true], told => new Row({ by, ...others, ...told }, 0), [by, ...Object.values(others)].join('\n'));
      for (const [key, row] of rows) kept.set(key, row);
    }
    return kept;
  }

  putAway(rows, most, by, addsUp, other, key = 'other') {
    if (rows.size <= most) return;
    const sums = new Map();
    const used = new Map([...rows.values()].map(row => [row, row.key === key ? -1 : row.sum(by, 0, Infinity) ?? 0]));
    // Merges some more rows, so that not every window has to merge one.
    const least = [...used.keys()].sort((a, b) => used.get(b) - used.get(a)).slice(Math.floor(0.9 * most));
    for (const row of least) {
      rows.delete(row.key);
      row.at.forEach((slot, i) => {
        const sum = sums.get(slot) ?? sums.set(slot, addsUp.map(() => 0)).get(slot);
        addsUp.forEach((adds, c) => {
          const figure = Array.isArray(row.figures[c]) ? row.figures[c][i] : row.figures[c];
          sum[c] = !adds || sum[c] === null || figure === null ? null : sum[c] + figure;
        });
      });
    }
    const at = [...sums.keys()].sort((a, b) => a - b);
    const figures = addsUp.map((_, c) => at.map(slot => sums.get(slot)[c]));
    const made = other({ key, slots: [], figures });
    made.at = at;
    rows.set(made.key, made);
  }

  // Keeps the last slots only; returns the number of dropped slots.
  keep(most) {
    const gone = this.n - most;
    if (gone <= 0) return 0;
    // A slot of a live page is one window.
    for (let i = 0; i < gone; i++) {
      this.about.windows -= this.slots.windows[i];
      const state = [null, 'repaired', 'inexact'][this.slots.state[i]];
      if (state) this.about[state] -= this.slots.windows[i];
    }
    for (const [name, list] of Object.entries(this.slots)) {
      if (name === 'parts_ns') list.forEach(parts => parts.splice(0, gone));
      else if (name === 'peaks') this.slots.peaks = list.filter(peak => peak[0] >= gone).map(([slot, peak]) => [slot - gone, peak]);
      else list.splice(0, gone);
    }
    for (const cpu of this.cpus.values()) [cpu.busy_ns, cpu.most_permille].forEach(list => list.splice(0, gone));
    for (const rows of [this.rows, this.groups, this.threads, this.pairs, this.sizes]) {
      for (const row of rows.values()) {
        row.forget(rows === this.sizes ? gone * this.places : gone);
        if (row.at.length === 0) rows.delete(row.key);
      }
    }
    this.n = most;
    const from = this.slots.from_us[0];
    this.gaps = this.gaps.filter(gap => gap.to_us > from);
    this.marks = this.marks.filter(mark => mark.to_us > from);
    this.peaksOf = null;
    return gone;
  }

  column(name) {
    return this.columns.findIndex(column => column.name === name);
  }

  // The windows of a slot with the largest figure of an account.
  peaks(slot) {
    if (this.peaksOf === null) {
      this.peaksOf = new Map();
      for (const [of, [from_us, length_ns, capacity_ns, ...parts]] of this.slots.peaks) {
        if (!this.peaksOf.has(of)) this.peaksOf.set(of, []);
        this.peaksOf.get(of).push({ from_us, length_ns, capacity_ns, parts });
      }
    }
    return this.peaksOf.get(slot) ?? [];
  }

  // Slots whose middle lies in a time range: the first one, and the one after the last. At least
  // one slot.
  slotsOf([from_us, to_us]) {
    const middle = i => (this.slots.from_us[i] + this.slots.to_us[i]) / 2;
    let from = -1, to = 0;
    for (let i = 0; i < this.n; i++) {
      if (middle(i) >= from_us && middle(i) < to_us) {
        if (from < 0) from = i;
        to = i + 1;
      }
    }
    if (from >= 0) return [from, to];
    let near = 0;
    for (let i = 0; i < this.n; i++) if (middle(i) <= (from_us + to_us) / 2) near = i;
    return [near, Math.min(near + 1, this.n)];
  }

  timeOf([from, to]) {
    return [this.slots.from_us[from], this.slots.to_us[to - 1]];
  }

  lengthNs([from, to]) {
    return Number(exactSum(this.slots.length_ns, from, to));
  }

  windowsOf(from, to) {
    return Number(exactSum(this.slots.windows, from, to));
  }

  // In how many windows of some slots an account was not measured. Only interrupts and steal can be.
  unmeasured(account, from, to) {
    const { id } = this.accounts[account];
    if (!MEASURED_AT_TIMES.includes(id)) return 0;
    return this.windowsOf(from, to) - Number(exactSum(this.slots[`${id}_windows`], from, to));
  }

  // An account's name, with the windows of these slots in which it was not measured.
  accountTitle(account, from, to) {
    const missing = this.unmeasured(account, from, to), all = this.windowsOf(from, to), { title } = this.accounts[account];
    if (missing === 0) return title;
    return `${title}: not measured${missing < all ? ` in ${count(missing)} of ${count(all)} windows` : ''}`;
  }

  // Sums of the accounts over some slots, to the nanosecond.
  sums([from, to]) {
    return {
      capacity: exactSum(this.slots.capacity_ns, from, to),
      parts: this.slots.parts_ns.map(parts => exactSum(parts, from, to)),
      known: this.slots.parts_ns.map(parts => parts.slice(from, to).some(part => part !== null)),
    };
  }
}
