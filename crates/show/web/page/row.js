// One row: its identity, and its states over time.

const STATES = [
  ['user', 'user mode', ['user_ns']],
  ['system', 'kernel mode', ['system_ns']],
  ['tasks', 'on a CPU', []],
  ['steal', 'stolen by the hypervisor', ['steal_ns']],
  ['irq', 'interrupts', ['irq_ns']],
  ['lat', 'waiting for a CPU', ['lat_ns']],
  ['throttle', 'throttled by a quota', ['throttle_ns']],
  ['lock', 'on a lock', ['lock_ns']],
  ['fault', 'in a page fault', ['text_fault_ns', 'data_fault_ns']],
  ['block', 'blocked (disk and other D)', ['block_ns']],
  ['stop', 'stopped', ['stop_ns']],
  ['sleep', 'asleep', ['sleep_ns']],
];

const statesOf = (model, row, from, to) => {
  const sum = name => row.sum(model.column(name), from, to);
  const parts = STATES.map(([, , names]) => names.map(sum).reduce((all, ns) => all + (ns ?? 0), 0));
  // If user and system time are not separated, their sum has a colour of its own.
  const run = sum('run_ns'), user = sum('user_ns'), system = sum('system_ns');
  const apart = user !== null && system !== null && user + system > 0;
  if (run && !apart) parts.splice(0, 3, 0, 0, run);
  return { life: sum('life_ns'), parts };
};

// A part of a time; null: one of them is unknown, or there was no time.
const shareOf = (ns, whole) => ns === null || ns === undefined || !whole ? null : ns / whole;

// A state's time as the document has it; null: unknown, undefined: the row was not there.
const stateNs = (model, row, [, , names], range) => names.map(name => row.sum(model.column(name), ...range))
  .reduce((all, ns) => ns === undefined || all === undefined ? undefined : all === null || ns === null ? null : all + ns, 0);

// Its time in each state, ns; null: unknown, or told by other states. Time on a CPU stands alone
// where user and kernel mode are not separated.
const figuresOf = (model, row, range) => {
  const run = row.sum(model.column('run_ns'), ...range);
  const [user, system] = STATES.slice(0, 2).map(state => stateNs(model, row, state, range));
  const apart = user !== null && system !== null && user + system > 0;
  return STATES.map(state => {
    if (state[2].length === 0) return apart ? null : run;
    return run && !apart && ['user', 'system'].includes(state[0]) ? null : stateNs(model, row, state, range);
  });
};

const statePlot = (model, row) => ({
  label: `States of ${nameOf(row)}, in per cent of its own time`,
  name: () => `states-${nameOf(row)}-${row.pid ?? 'exited'}`,
  legend: () => STATES,
  height: () => 150,
  left: () => [['100 %', 0.04], ['0', 0.96]],
  paint: plot => {
    const colours = STATES.map(([name]) => colour(name));
    const [begin, end] = plot.view.map(slot => placeOf(row.at, slot));
    for (let i = begin; i < end; i++) {
      const slot = row.at[i], { life, parts } = statesOf(model, row, slot, slot + 1);
      const all = parts.reduce((sum, ns) => sum + ns, 0);
      const [from, to] = plot.pixels(model.slots.from_us[slot], model.slots.to_us[slot]);
      paintPile(plot, from, to, parts, Math.max(life ?? 0, all, 1), colours);
    }
  },
  told: slot => {
    const life = row.sum(model.column('life_ns'), slot, slot + 1), figures = figuresOf(model, row, [slot, slot + 1]);
    const told = figures.map((ns, i) => ns ? `${STATES[i][1]} ${life ? `${percent(ns / life)} %` : duration(ns)}` : null).filter(text => text);
    const none = figures.some(ns => ns === 0) ? 'did nothing' : 'no figures';
    return `${clock(model.slots.from_us[slot], true)}: ${told.length ? told.join(', ') : none}`;
  },
  table: ([from, to]) => {
    const [from_us, length, time] = begins(model);
    const heads = [from_us, length, head('CPU time', 'run_ns', duration), head('Own time', 'life_ns', duration),
      ...STATES.map(([name, title], i) => head(`${title} %`, `${name}_ns`, (ns, row) => ns === null ? NONE : percent(ns / row[3], 2)))];
    const rows = row.at.filter(slot => slot >= from && slot < to).map(slot => {
      const range = [slot, slot + 1], sum = name => row.sum(model.column(name), ...range);
      return [...time(slot), sum('run_ns'), sum('life_ns'), ...figuresOf(model, row, range)];
    });
    return [heads, rows];
  },
});

class RowView {
  constructor(model, choose, close) {
    Object.assign(this, { model, choose, row: null, leftOut: () => [], look: new LookView(model), sizes: new SizesView(model, 'row-sizes', choose) });
    this.culprits = new CulpritsView(model);
    $('row-close').addEventListener('click', close);
    const files = (place, name, table) => fill($(place), part('summary', { text: 'As a file' }), fileButtons(model, () => `${name}-${nameOf(this.row)}-${this.row.pid ?? 'exited'}`, table));
    files('row-sums-files', 'sums', () => this.sumFigures());
    files('row-threads-files', 'threads', () => this.threadFigures());
  }

  show(key, view, chosen, one, other) {
    const row = key === null ? undefined : this.model.rows.get(key);
    $('row-section').hidden = !row;
    this.look.at(row ?? null);
    if (!row) {
      this.row = null;
      return;
    }
    this.ranges = other ? [one, other] : [one];
    if (this.row !== row) {
      this.row = row;
      this.plot = new Plot($('row-states'), this.model, statePlot(this.model, row), this.choose);
    }
    $('row-title').textContent = row.pid === null ? `${nameOf(row)} (exited)` : `${nameOf(row)} ${row.pid}`;
    const facts = [['Command line', row.command], ['User', row.user], ['Parent', row.parent ? `${row.parent} ${row.ppid}` : null], ['Unit', row.unit],
      ['Container', row.container], ['Pod', row.pod], ['Namespace', row.namespace], ['Control group', row.cgroup],
      ['Kind', { kernel: 'Kernel thread', exited: 'Exited processes of one name below one parent' }[row.kind]]];
    facts.push(this.moves(row, one), ...this.limits(row.cgroup, one), ...this.leftOut(row));
    const openGroup = row.cgroup && part('button', { class: 'link', onclick: () => this.openGroup(`path:${row.cgroup}`), text: row.cgroup });
    const told = ([name, text, title]) => [part('dt', { text: name, title }), name === 'Control group' ? part('dd', {}, openGroup) : part('dd', { text, title: text === NONE ? title : null })];
    fill($('row-facts'), ...facts.filter(([, text]) => text).flatMap(told));
    showLegend($('row-legend'), STATES);
    this.sums(row, one, other);
    this.threads(row, one);
    this.plot.show(view, chosen);
    // Kernel threads are owners by pool, which a row does not name.
    for (const place of ['sizes', 'culprits']) $(`row-${place}-section`).hidden = row.kind === 'kernel';
    if (row.kind === 'kernel') return;
    this.culprits.show(row, one, other);
    $('row-sizes-title').textContent = `Waits of all processes named ${row.comm}, by size`;
    const owners = [...this.model.sizes.values()].filter(({ by, owner }) => by === 'command' && owner === row.comm);
    this.sizes.show(row.comm, owners, view, chosen, one);
  }

  moves(row, one) {
    const moves = row.sum(this.model.column('migrations'), ...one);
    const text = moves === null || moves === undefined ? NONE : `${count(moves)}, ${(1e9 * moves / this.model.lengthNs(one)).toFixed(1)} a second`;
    return ['Moves between CPUs', text, moves === null ? 'The source has no count of moves in all of that time.' : 'It was not there in that time.'];
  }

  // Its time in each state, in each range.
  sumFigures() {
    const { model, row, ranges } = this, seconds = ['', '_second'].slice(0, ranges.length);
    const heads = ['state', ...seconds.flatMap(end => [`time_ns${end}`, `life_ns${end}`])].map(name => head('', name));
    const life = range => row.sum(model.column('life_ns'), ...range) ?? null;
    const figures = ranges.map(range => figuresOf(model, row, range));
    return [heads, STATES.map((state, i) => [state[0], ...ranges.flatMap((range, of) => [figures[of][i] ?? null, life(range)])])];
  }

  threadFigures() {
    const { model, row, ranges: [one] } = this, states = STATES.filter(([, , names]) => names.length);
    const heads = ['tid', 'name', 'run_ns', 'life_ns', ...states.map(([name]) => `${name}_ns`)].map(name => head('', name));
    const figure = (thread, name) => thread.sum(model.column(name), ...one) ?? null;
    return [heads, this.threadsOf(row, one).map(thread => [thread.tid, thread.comm, figure(thread, 'run_ns'), figure(thread, 'life_ns'),
      ...states.map(state => stateNs(model, thread, state, one) ?? null)])];
  }

  // Its threads with figures, those that ran most first.
  threadsOf(row, one) {
    const run = this.model.column('run_ns');
    const of = [...this.model.threads.values()].filter(thread => thread.process === row.key && thread.sum(0, ...one) !== undefined);
    return of.sort((a, b) => (b.sum(run, ...one) ?? 0) - (a.sum(run, ...one) ?? 0) || a.tid - b.tid);
  }

  // Each thread's figures, if the server sends them.
  threads(row, one) {
    const of = this.threadsOf(row, one), run = this.model.column('run_ns');
    const life = this.model.column('life_ns');
    const told = of.slice(0, 200).map(thread => ({ thread, ran: thread.sum(run, ...one), life: thread.sum(life, ...one), figures: figuresOf(this.model, thread, one) }));
    // States without time take no room.
    const states = STATES.map((_, i) => i).filter(i => told.some(({ figures }) => figures[i] > 0));
    const lines = told.map(({ thread, ran, life, figures }) => {
      const cells = [duration(ran), ...states.map(i => percent(shareOf(figures[i], life), 2))];
      return part('tr', {}, part('th', { scope: 'row', text: `${thread.comm} ${thread.tid}` }), ...cells.map(text => part('td', { text })));
    });
    const heads = ['Thread', 'CPU time', ...states.map(i => `${STATES[i][1]} %`)];
    fill($('row-threads'), ...(lines.length ? [part('thead', {}, part('tr', {}, ...heads.map(text => part('th', { scope: 'col', text })))), part('tbody', {}, ...lines)] : []));
    $('row-threads-told').textContent = this.threadWords(row, of.length, lines.length);
    $('row-threads-files').hidden = lines.length === 0;
    $('row-threads-section').hidden = row.pid === null;
  }

  threadWords(row, there, shown) {
    if (there > shown) return `${count(there)} threads, the ${shown} that ran most.`;
    if (there > 0) return 'In per cent of the time in which they lived and had figures.';
    if (this.model.isLive) return 'It has one thread, or its threads come with the next windows: threads are read only while a process is open.';
    const { count: others } = this.model.threadsLeftOut;
    return `It has one thread, or its threads have no figures here${others ? `: ${count(others)} threads that used and wanted little have none` : ''}.`;
  }

  sums(row, one, other) {
    const heads = ['', 'Time', '% of own time', '% of one CPU', ...(other ? ['Second: % of own time', 'Difference, points'] : [])];
    const of = range => ({ life: row.sum(this.model.column('life_ns'), ...range), figures: figuresOf(this.model, row, range) });
    const a = of(one), b = other ? of(other) : null;
    const length = this.model.lengthNs(one), share = (of, i) => shareOf(of.figures[i], of.life);
    const body = STATES.map(([, title], i) => {
      const cells = [duration(a.figures[i]), percent(share(a, i), 2), percent(shareOf(a.figures[i], length), 2)];
      if (b) cells.push(percent(share(b, i), 2), share(a, i) === null || share(b, i) === null ? NONE : signed(share(b, i) - share(a, i)));
      return part('tr', {}, part('th', { scope: 'row', text: title }), ...cells.map(text => part('td', { text })));
    });
    fill($('row-sums'), part('thead', {}, part('tr', {}, ...heads.map(text => part('th', { scope: 'col', text })))), part('tbody', {}, ...body));
  }
}
