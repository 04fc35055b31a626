// Control groups: the CPU time that each got of what it asked for, beside its limits.

const GROUP_BY = { path: 'control group', unit: 'unit', container: 'container', pod: 'pod', namespace: 'namespace' };
// Throttling or waiting below these parts of the wanted time is not mentioned, as in findings.
const THROTTLED = 0.1, WAITED = 0.5;
const GROUP_ROWS = 300;
const [RUN, LAT, THROTTLE, EXITED, USAGE, , PERIODS, NR_THROTTLED, PRESSURE] = Array.from({ length: 9 }, (_, i) => i);

const groupName = group => group.key === 'other' ? '~other' : group.path ?? `(control group ${group.key.split('.')[1]}, path not read)`;

// The path and all paths above it: '/', '/a', '/a/b'.
const pathsTo = path => {
  const parts = path.split('/').filter(part => part !== '');
  return parts.map((_, i) => `/${parts.slice(0, i + 1).join('/')}`);
};

// Groups on the page: by path with their subtree, or all groups of one name. A node sums the
// figures of its `members`; the kernel's figures and the limits are those of its `heads`.
const groupNodes = (model, by) => {
  const nodes = new Map();
  const node = (key, name, above) => {
    if (!nodes.has(key)) nodes.set(key, { key, name, above, depth: above ? above.depth + 1 : 0, members: [], heads: [], below: [] });
    const made = nodes.get(key);
    if (above && !above.below.includes(made)) above.below.push(made);
    return made;
  };
  const root = by === 'path' ? node('path:/', '/', null) : null;
  for (const group of model.groups.values()) {
    if (by !== 'path') {
      const name = group.key === 'other' ? '~other' : group[by] ?? NO_NAME;
      const made = node(`${by}:${name}`, name, null);
      made.members.push(group);
      // The head is the group that was made for the name, which is above the groups made in it.
      const depth = of => pathsTo(groupName(of)).length;
      if (group[by] && made.heads.every(head => depth(head) > depth(group))) made.heads = [group];
      continue;
    }
    const path = groupName(group);
    let at = root;
    at.members.push(group);
    const way = path.startsWith('/') ? pathsTo(path) : [path];
    for (const step of way) {
      at = node(`path:${step}`, step.startsWith('/') ? step.slice(step.lastIndexOf('/') + 1) : step, at);
      at.members.push(group);
    }
    at.heads.push(group);
  }
  return nodes;
};

// The tightest quota of a node: of its own groups or one above. `known`: its limits were read.
const mayUse = (nodes, node, slot) => {
  const own = node.heads.map(head => head.limitAt(slot)).filter(limit => limit).at(-1);
  let [cpus, by] = [own?.cpus ?? null, null];
  const path = node.heads.map(head => head.path).find(path => path);
  for (const above of path ? pathsTo(path).slice(0, -1) : []) {
    const limit = nodes.get(`path:${above}`)?.heads.map(head => head.limitAt(slot)).filter(limit => limit).at(-1);
    if (limit && limit.cpus !== null && (cpus === null || limit.cpus < cpus)) [cpus, by] = [limit.cpus, above];
  }
  return { known: Boolean(own), cpus, by, weight: own?.weight ?? null, max: own?.max ?? null };
};

const groupSums = (members, heads, range) => {
  const of = (rows, column) => together(rows, column, range);
  const [run, lat, throttle, exited] = [RUN, LAT, THROTTLE, EXITED].map(column => of(members, column));
  const [usage, periods, throttled, pressure] = [USAGE, PERIODS, NR_THROTTLED, PRESSURE].map(column => heads.length ? of(heads, column) : null);
  const isKnown = run !== undefined && run !== null;
  return { run, lat, throttle, exited, usage, periods, throttled, pressure, wanted: isKnown ? run + lat + throttle : null };
};

const cpusWords = (ns, length) => ns === null || ns === undefined ? NONE : (ns / length).toFixed(2);

// The cost of a limit, in a sentence; empty if it is too small to mention.
const costWords = (sums, may, length) => {
  if (!sums.wanted) return '';
  const asked = `asked for ${cpusWords(sums.wanted, length)} CPUs`;
  const got = may.cpus === null ? `got ${cpusWords(sums.run, length)}` : `may use ${may.cpus.toFixed(2)}`;
  if (sums.throttle / sums.wanted >= THROTTLED) return `${asked}, ${got}: ${percent(sums.throttle / sums.wanted, 0)} % of that time throttled`;
  if (sums.lat / sums.wanted >= WAITED) return `${asked}, got ${cpusWords(sums.run, length)}: ${percent(sums.lat / sums.wanted, 0)} % of that time waiting for a CPU${may.weight === null ? '' : ` with weight ${may.weight}`}`;
  return '';
};

const NOT_READ = 'Not read in that time: exactop reads the kernel’s files only while this page, or the page of groups in a live view with --record, is open.';

const GROUP_STATES = [['tasks', 'got'], ['lat', 'waited for a CPU'], ['throttle', 'throttled'], ['ink', 'may use']];

const groupPlot = (model, view) => {
  const at = slot => view.bySlot.get(slot) ?? [0, 0, 0];
  // After its last slot a group has no limit.
  const allowed = slot => slot > view.last ? null : mayUse(view.nodes, view.node, slot).cpus;
  const scale = ([from, to]) => {
    let most = 0.01;
    for (let i = from; i < to; i++) most = Math.max(most, at(i).reduce((sum, ns) => sum + ns, 0) / model.slots.length_ns[i], allowed(i) ?? 0);
    return 1.05 * most;
  };
  return {
    label: `CPUs that ${view.node.name} got and asked for`,
    name: () => `group-${view.node.key.replace(/^\w+:/, '')}`,
    legend: () => GROUP_STATES,
    lane: true,
    height: () => 150,
    left: () => [[view.most?.toFixed(2) ?? '', 0.05], ['0', 0.95]],
    paint: plot => {
      view.most = scale(plot.view);
      const colours = ['tasks', 'lat', 'throttle'].map(colour), height = plot.canvas.height;
      const thick = Math.max(1, Math.round(2 * plot.scale));
      for (let i = plot.view[0]; i < plot.view[1]; i++) {
        const [from, to] = plot.pixels(model.slots.from_us[i], model.slots.to_us[i]), cpus = allowed(i);
        plot.pen.fillStyle = colour('idle');
        plot.pen.fillRect(from, 0, to - from, height);
        paintPile(plot, from, to, at(i), view.most * model.slots.length_ns[i], colours);
        if (cpus === null) continue;
        plot.pen.fillStyle = colour('ink');
        plot.pen.fillRect(from, Math.round(height * (1 - cpus / view.most)), to - from, thick);
      }
    },
    told: slot => {
      const [run, lat, throttle] = at(slot).map(ns => cpusWords(ns, model.slots.length_ns[slot])), cpus = allowed(slot);
      return `${clock(model.slots.from_us[slot], true)}: got ${run} CPUs, waited ${lat}, throttled ${throttle}${cpus === null ? '' : `; may use ${cpus.toFixed(2)}`}`;
    },
    table: ([from, to]) => {
      const [from_us, length, time] = begins(model), rows = [], ofLength = (ns, row) => cpusWords(ns, row[1]);
      for (let i = from; i < to; i++) rows.push([...time(i), ...at(i), allowed(i)]);
      return [[from_us, length, head('Got, CPUs', 'run_ns', ofLength), head('Waited for a CPU', 'lat_ns', ofLength), head('Throttled', 'throttle_ns', ofLength),
        head('May use', 'may_use_cpus', cpus => cpus === null ? NONE : cpus.toFixed(2))], rows];
    },
  };
};

// The quota of a node in words; null: not read.
const quotaWords = may => may.cpus === null ? may.known ? 'no quota' : null
  : `${may.cpus.toFixed(2)} CPUs${may.by ? ` by the quota of ${may.by}` : ''}${may.max && !may.by ? ` (cpu.max ${may.max})` : ''}, as last read`;

class GroupsView {
  constructor(model, address, choose, act) {
    Object.assign(this, { model, address, choose, act, open: null, nodes: new Map(), bySlot: new Map(), sizes: new SizesView(model, 'group-sizes', choose) });
    fill($('gby'), ...Object.entries(GROUP_BY).map(([value, text]) => part('option', { value, text })));
    $('gby').addEventListener('change', event => address.go({ gby: event.target.value, group: null }));
    fill($('groups-files'), part('summary', { text: 'As a file' }), fileButtons(model, () => `groups-by-${$('gby').value}`, () => this.figures()));
    $('group-close').addEventListener('click', () => { address.go({ group: null }); $('groups-title').focus(); });
  }

  // The name under which findings know a group.
  keyOf(id) {
    const group = this.model.groups.get(id);
    return `path:${group ? groupName(group) : `(control group ${id.split('.')[1]}, path not read)`}`;
  }

  show(state, view, chosen, one, other) {
    const { model } = this, by = state.gby in GROUP_BY ? state.gby : 'path';
    $('gby').value = by;
    $('groups-section').hidden = model.groups.size === 0;
    this.paths = groupNodes(model, 'path');
    this.nodes = by === 'path' ? this.paths : groupNodes(model, by);
    const length = model.lengthNs(one), last = one[1] - 1;
    for (const node of this.nodes.values()) {
      node.sums = groupSums(node.members, node.heads, one);
      node.may = mayUse(this.paths, node, last);
      node.busy = node.sums.wanted ?? node.sums.usage ?? 0;
      const [before, now] = [node.sums, other && groupSums(node.members, node.heads, other)];
      const isKnown = other && before.run !== null && now.run !== null;
      node.change = isKnown ? (now.run ?? 0) / model.lengthNs(other) - (before.run ?? 0) / length : null;
    }
    const lines = this.order(other).filter(node => node.busy > 0 || node.may.cpus !== null || node.change || node.key === state.group);
    this.lines = lines;
    this.table(lines, state, length, other);
    // Of a group without figures nothing is known.
    const rest = new Set(this.nodes.values());
    lines.forEach(node => rest.delete(node));
    const idle = [...rest].filter(({ sums }) => (sums.wanted ?? sums.usage ?? null) !== null).length, { count: left } = model.groupsLeftOut;
    $('groups-told').textContent = `${count(lines.length)} ${lines.length === 1 ? 'row' : 'rows'}, those below included${lines.length > GROUP_ROWS ? `, the first ${GROUP_ROWS} here` : ''}${idle ? `; ${count(idle)} others did nothing and have no quota` : ''}${left ? `; ${count(left)} groups are ~other` : ''}.${this.ledgerWords(one)}`;
    this.group(state, view, chosen, one, other);
  }

  // Quota and weight of a control group at the end of some slots, with the reason where they are unknown.
  limitFacts(path, [, to]) {
    const node = path && this.paths.get(`path:${path}`), may = node && mayUse(this.paths, node, to - 1);
    const why = !path ? 'Its control group is unknown.' : node ? NOT_READ : 'This page has no figures of its control group.';
    const weight = may && may.weight !== null ? count(may.weight) : null;
    return [['Its group may use', may && quotaWords(may)], ['Its group’s weight', weight]].map(([name, text]) => [name, text ?? NONE, text ? null : why]);
  }

  ledgerWords(one) {
    const known = [...this.model.groups.values()].map(group => group.sum(RUN, ...one)).some(run => run !== null && run !== undefined);
    return known ? '' : ` The use and waits of groups are unknown: the source is ${this.model.about.source}, and only the ledger charges groups.`;
  }

  // Parents before their children, busier groups first; with two time ranges those that changed
  // most.
  order(other) {
    const weight = node => other ? Math.abs(node.change) : node.busy;
    const lines = [], take = nodes => {
      for (const node of [...nodes].sort((a, b) => weight(b) - weight(a) || a.name.localeCompare(b.name))) {
        lines.push(node);
        take(node.below);
      }
    };
    take([...this.nodes.values()].filter(node => node.depth === 0));
    return lines;
  }

  // Every line with its figures, as they are in the ledger and in the kernel's files.
  figures() {
    const columns = [
      ['name', node => node.key.replace(/^\w+:/, '')], ['run_ns', node => node.sums.run], ['lat_ns', node => node.sums.lat], ['throttle_ns', node => node.sums.throttle],
      ['may_use_cpus', node => node.may.cpus], ['weight', node => node.may.weight], ['nr_periods', node => node.sums.periods], ['nr_throttled', node => node.sums.throttled],
      ['usage_ns', node => node.sums.usage], ['pressure_some_ns', node => node.sums.pressure], ['exited', node => node.sums.exited],
    ];
    return [columns.map(([name]) => head('', name)), this.lines.map(node => columns.map(([, figure]) => figure(node)))];
  }

  table(lines, state, length, other) {
    const heads = [
      [GROUP_BY[state.gby in GROUP_BY ? state.gby : 'path'].toUpperCase(), 'The name of the group or total'], ['GOT', 'CPUs its tasks ran on'], ['ASKED', 'CPUs it used, waited for and was throttled on'],
      ['MAY USE', 'CPUs that the tightest quota on the way to it allows'], ['WEIGHT', 'cpu.weight of the group itself'],
      ['WAITED', 'For a CPU, % of the time it wanted to run'], ['THROTTLED', 'By a quota, % of the time it wanted to run'],
      ['PERIODS', 'Periods in which its quota ran out, of all periods'], ['KERNEL', 'CPUs by the kernel’s own count (cpu.stat)'], ['PSI', 'Time in which some task waited for a CPU, % (cpu.pressure)'],
      ['EXITED', 'Tasks that exited'], ...(other ? [['CHANGE', 'CPUs more than in the first time range']] : []),
    ];
    const rows = lines.slice(0, GROUP_ROWS).map(node => {
      const { sums, may } = node, share = ns => sums.wanted ? percent(ns / sums.wanted) : NONE;
      const notRead = text => part('td', { text, title: text === NONE ? NOT_READ : null });
      const name = part('button', { class: 'link', onclick: () => this.act.openGroup(node.key), text: node.name, title: node.key.replace(/^\w+:/, '') });
      const cost = costWords(sums, may, length);
      const first = part('th', { scope: 'row', class: 'word' }, name, cost && part('span', { class: 'cost', text: cost }));
      first.style.paddingLeft = `${0.4 + 0.9 * Math.min(12, node.depth)}rem`;
      const changed = node.change === null ? { text: NONE } : { class: node.change > 0 ? 'up' : 'down', text: `${node.change > 0 ? '+' : ''}${node.change.toFixed(2)}` };
      const change = other ? part('td', changed) : null;
      return part('tr', { class: node.key === state.group ? 'chosen' : null }, first,
        ...[cpusWords(sums.run, length), cpusWords(sums.wanted, length)].map(text => part('td', { text })),
        notRead(may.cpus !== null ? may.cpus.toFixed(2) : may.known ? 'no quota' : NONE), notRead(may.weight === null ? NONE : count(may.weight)),
        ...[share(sums.lat), share(sums.throttle)].map(text => part('td', { text })),
        notRead(sums.periods === null || sums.periods === undefined ? NONE : `${count(sums.throttled)}/${count(sums.periods)}`),
        notRead(cpusWords(sums.usage, length)), notRead(sums.pressure === null || sums.pressure === undefined ? NONE : percent(sums.pressure / length)),
        part('td', { text: count(sums.exited) }), change);
    });
    fill($('groups'), part('thead', {}, part('tr', {}, ...heads.map(([text, title]) => part('th', { scope: 'col', text, title })))), part('tbody', {}, ...rows));
  }

  // One group over time.
  group(state, view, chosen, one, other) {
    const key = state.group, by = key?.match(/^\w+/)?.[0];
    const nodes = by in GROUP_BY && by !== 'path' && by !== state.gby ? groupNodes(this.model, by) : by === 'path' ? this.paths : this.nodes;
    const node = key === null ? undefined : nodes.get(key);
    $('group-section').hidden = !node;
    if (!node) {
      this.open = null;
      return;
    }
    const now = { node, nodes: this.paths, last: Math.max(...node.members.map(group => group.at.at(-1) ?? -1)) };
    node.sums ??= groupSums(node.members, node.heads, one);
    node.may ??= mayUse(this.paths, node, one[1] - 1);
    this.addUp(node);
    if (this.open?.node.key !== key) {
      this.open = now;
      this.open.bySlot = this.bySlot;
      this.plot = new Plot($('group-plot'), this.model, groupPlot(this.model, this.open), this.choose);
    } else {
      Object.assign(this.open, now, { bySlot: this.bySlot });
    }
    this.facts(node, one);
    this.plot.show(view, chosen);
    this.sizes.show(key.replace(/^\w+:/, ''), this.sizedBy(node), view, chosen, one);
    fillLane(this.plot, this.throttled(view));
  }

  // The owners of waits by size in a node: by path all at and below it.
  sizedBy({ key, members }) {
    const names = new Set(members.map(groupName)), path = key.startsWith('path:/') ? key.replace(/^path:/, '') : null;
    const isIn = owner => path === null ? names.has(owner) : path === '/' || owner === path || owner.startsWith(`${path}/`);
    return [...this.model.sizes.values()].filter(({ by, owner }) => by === 'cgroup' && isIn(owner));
  }

  addUp(node) {
    this.bySlot = new Map();
    for (const group of node.members) {
      group.at.forEach((slot, i) => {
        const sum = this.bySlot.get(slot) ?? this.bySlot.set(slot, [0, 0, 0]).get(slot);
        [RUN, LAT, THROTTLE].forEach((column, c) => {
          const figures = group.figures[column];
          const figure = Array.isArray(figures) ? figures[i] : figures;
          sum[c] = sum[c] === null || figure === null ? null : sum[c] + figure;
        });
      });
    }
  }

  // Consecutive windows in which a quota throttled the group.
  throttled([from, to]) {
    const { from_us, to_us } = this.model.slots, stretches = [];
    for (let i = from; i < to; i++) {
      const [run, lat, throttle] = this.bySlot.get(i) ?? [0, 0, 0], wanted = run + lat + throttle;
      if (wanted === 0 || throttle / wanted < THROTTLED) continue;
      const last = stretches.at(-1);
      if (last?.slot === i - 1) {
        Object.assign(last, { slot: i, throttle: last.throttle + throttle, wanted: last.wanted + wanted });
        last.time[1] = to_us[i];
      } else {
        stretches.push({ slot: i, throttle, wanted, time: [from_us[i], to_us[i]] });
      }
    }
    return stretches.map(({ time, throttle, wanted }) => ({
      time, kind: 'throttled', title: `throttled: lost ${percent(throttle / wanted, 0)} % waiting for its quota · ${stretchWords(time)}`, go: () => this.act.pick(time),
    }));
  }

  facts(node, one) {
    const { may, sums, heads } = node, head = heads.at(-1), name = node.key.replace(/^\w+:/, '');
    $('group-title').textContent = name;
    const quota = quotaWords(may) ?? `${NONE} ${NOT_READ}`;
    const facts = [['Kind', head?.meaning], ['Unit', head?.unit], ['Container', head?.container], ['Pod', head?.pod], ['Namespace', head?.namespace],
      ['May use', quota], ['Weight', may.weight === null ? null : count(may.weight)], ['Cost of its limits', costWords(sums, may, this.model.lengthNs(one))]];
    const search = part('button', { onclick: () => this.act.processesOf(name), text: 'Its processes' });
    fill($('group-facts'), ...facts.filter(([, text]) => text).flatMap(([word, text]) => [part('dt', { text: word }), part('dd', { text })]), part('dt', { text: 'Who' }), part('dd', {}, search));
    showLegend($('group-legend'), GROUP_STATES);
  }
}
