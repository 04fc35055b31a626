// Who had the CPU while the processes of a name waited: the blame book, which has no single processes.

const NO_BOOK = 'No blame book was kept in that time: \'--blame off\' leaves it out, and only the ledger has one.';

class CulpritsView {
  constructor(model) {
    Object.assign(this, { model });
    fill($('row-culprits-files'), part('summary', { text: 'As a file' }), fileButtons(model, () => `culprits-of-${this.name}`, () => this.figures()));
  }

  show(row, one, other) {
    this.name = row.comm;
    this.ranges = other ? [one, other] : [one];
    const pairs = [...this.model.pairs.values()].filter(({ by, victim }) => by === 'command' && victim === row.comm);
    this.sums = this.ranges.map(range => pairSums(pairs, range).byName.get(row.comm)?.parts ?? new Map());
    this.kept = this.ranges.map(range => Number(exactSum(this.model.slots.blame_ns, ...range)));
    const [sum] = this.sums, lines = [...sum].sort(([, a], [, b]) => b - a).slice(0, 20);
    const all = lines.length ? [...sum.values()].reduce((all, ns) => all + ns) : 0;
    $('row-culprits-title').textContent = `Who had the CPU while processes named ${row.comm} waited`;
    const told = $('row-culprits-told');
    told.textContent = this.words(all);
    told.title = this.kept[0] ? '' : NO_BOOK;
    $('row-culprits-files').hidden = all === 0;
    if (all === 0) return fill($('row-culprits'));
    tableOf($('row-culprits'), ['Command', 'Time', '% of the wait', 'ms/s'],
      lines.map(([name, ns]) => [name, duration(ns), percent(ns / all), (1e3 * ns / this.kept[0]).toFixed(1)]));
  }

  words(all) {
    const whole = this.model.lengthNs(this.ranges[0]), [kept] = this.kept;
    if (kept === 0) return NONE;
    const part = kept === whole ? '' : ` The blame book covers ${percent(kept / whole, 0)} % of that time.`;
    return `By command name, all processes of this name together. ${all ? `They waited ${duration(all)}.` : 'None waited, or their waits are part of ~other.'}${part}`;
  }

  figures() {
    const [, second] = this.sums, names = [...new Set(this.sums.flatMap(sum => [...sum.keys()]))];
    const heads = ['command', 'culprit', 'wait_ns', ...(second ? ['wait_ns_second'] : [])].map(name => head('', name));
    return [heads, names.map(name => [this.name, name, ...this.sums.map((sum, i) => this.kept[i] ? sum.get(name) ?? 0 : null)])];
  }
}
