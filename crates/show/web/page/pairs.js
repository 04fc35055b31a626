// The blame book as a matrix: who waited, and who had the CPU meanwhile.

// Most victims and culprits with a line or a column of their own.
const VICTIMS = 20, CULPRITS = 10;

// Waits of some pairs: by victim, and of each culprit.
const pairSums = (pairs, range) => {
  const victims = new Map(), culprits = new Map();
  for (const pair of pairs) {
    const ns = pair.sum(0, ...range) ?? 0;
    if (ns === 0) continue;
    const name = pair.culprit;
    const victim = victims.get(pair.victim) ?? victims.set(pair.victim, { name: pair.victim, ns: 0, parts: new Map() }).get(pair.victim);
    victim.ns += ns;
    victim.parts.set(name, (victim.parts.get(name) ?? 0) + ns);
    const culprit = culprits.get(name) ?? culprits.set(name, { name, ns: 0, kind: pair.kind }).get(name);
    culprit.ns += ns;
  }
  const sorted = of => [...of.values()].sort((a, b) => b.ns - a.ns || a.name.localeCompare(b.name));
  return { victims: sorted(victims), culprits: sorted(culprits), byName: victims };
};

class PairsView {
  constructor(model, address, act) {
    Object.assign(this, { model, act });
    fill($('pairs-files'), part('summary', { text: 'As a file' }), fileButtons(model, () => `pairs-by-${this.by}`, () => this.figures()));
    $('pby').addEventListener('change', event => address.go({ pby: event.target.value }));
  }

  show(state, one, other) {
    const { model } = this;
    $('pairs-section').hidden = model.pairs.size === 0;
    if (model.pairs.size === 0) return;
    const by = state.pby === 'command' ? 'command' : 'cgroup';
    $('pby').value = by;
    const pairs = [...model.pairs.values()].filter(pair => pair.by === by);
    Object.assign(this, { by, shown: pairs, ranges: other ? [one, other] : [one] });
    const sums = pairSums(pairs, one), before = other ? pairSums(pairs, other) : null;
    const [length, otherLength] = [this.kept(one), other ? this.kept(other) : 0];
    this.words(sums, one, length);
    this.table(by, sums, length, before && { sums: before, length: otherLength });
  }

  // Time of which the blame book tells, ns.
  kept([from, to]) {
    return Number(exactSum(this.model.slots.blame_ns, from, to));
  }

  // Every pair that waited, those of ~other and the rest of the matrix included.
  figures() {
    const { by, ranges } = this, heads = ['victim', 'kind', 'culprit', 'wait_ns', 'wait_ns_second'].slice(0, 3 + ranges.length);
    const rows = this.shown.map(pair => [pair.victim, pair.kind, pair.culprit, ...ranges.map(range => this.kept(range) ? pair.sum(0, ...range) ?? 0 : null)]);
    return [[head('', 'by'), ...heads.map(name => head('', name))], rows.filter(row => row.slice(3).some(ns => ns > 0)).map(row => [by, ...row])];
  }

  words(sums, one, length) {
    const whole = this.model.lengthNs(one);
    const missing = length === whole ? '' : length === 0 ? ' No blame book was kept in that time.' : ` The blame book covers ${percent(length / whole, 0)} % of that time.`;
    const left = sums.victims.length - VICTIMS;
    $('pairs-told').textContent = `Each line is a waiting time and its parts in %, by who had the CPU meanwhile.${left > 0 ? ` ${count(left)} others waited less.` : ''}${missing}`;
  }

  table(by, sums, length, before) {
    const culprits = sums.culprits.slice(0, CULPRITS), rest = sums.culprits.slice(CULPRITS);
    const rate = (ns, over) => over ? 1e3 * ns / over : null;
    const open = (name, kind) => {
      if (name === '~other' || !['group', 'kernel'].includes(kind)) return name;
      return part('button', { class: 'link', title: name, text: name, onclick: () => by === 'cgroup' && kind === 'group' ? this.act.openGroup(name) : this.act.processesOf(name) });
    };
    const head = culprit => part('th', { scope: 'col', title: culprit.name }, open(culprit.name, culprit.kind));
    const heads = [part('th', { scope: 'col', text: 'WHO WAITED' }), part('th', { scope: 'col', text: 'MS/S', title: 'Waits for a CPU and for a quota, ms in each second of which the book tells' }),
      ...(before ? [part('th', { scope: 'col', text: 'CHANGE', title: 'ms/s more than in the first time range' })] : []),
      ...culprits.map(head), rest.length ? part('th', { scope: 'col', text: 'others' }) : null];
    const lines = sums.victims.slice(0, VICTIMS).map(victim => {
      const cell = ns => {
        const td = part('td', { text: ns ? percent(ns / victim.ns, 0) : '', title: ns ? exactNs(ns) : null });
        td.style.setProperty('--heat', String(ns / victim.ns));
        return td;
      };
      const mine = rate(victim.ns, length), theirs = before && rate(before.sums.byName.get(victim.name)?.ns ?? 0, before.length);
      const more = before && mine !== null && theirs !== null ? theirs - mine : null;
      const change = before ? part('td', { class: more > 0 ? 'up' : 'down', text: more === null ? NONE : `${more > 0 ? '+' : ''}${more.toFixed(1)}` }) : null;
      const others = rest.reduce((sum, culprit) => sum + (victim.parts.get(culprit.name) ?? 0), 0);
      return part('tr', {}, part('th', { scope: 'row', class: 'word' }, open(victim.name, 'group')), part('td', { text: mine === null ? NONE : mine.toFixed(1), title: exactNs(victim.ns) }), change,
        ...culprits.map(culprit => cell(victim.parts.get(culprit.name) ?? 0)), rest.length ? cell(others) : null);
    });
    fill($('pairs'), part('thead', {}, part('tr', {}, ...heads.filter(head => head))), part('tbody', {}, ...lines));
  }
}
