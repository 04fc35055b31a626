// The page: its parts are made once, and updated whenever the address changes.

// Most windows that a live page keeps.
const LIVE = 1800;
// Most rows that a live page keeps.
const LIVE_ROWS = 10000;
// Number of the latest windows that lists cover, unless a range is chosen.
const LATEST = 10;

class Page {
  constructor(told, isLive = false) {
    this.isLive = isLive;
    this.held = [];
    [this.most, this.mostRows] = [LIVE, LIVE_ROWS];
    this.model = new Model(told);
    this.model.isLive = isLive;
    this.picked = null;
    this.address = new Address(() => { this.say(''); this.show(); });
    const choose = {
      preview: (range, second) => this.preview(range, second),
      done: (range, second, typed) => this.pick(this.model.timeOf(range), second, typed),
      cancel: () => { this.picked = null; this.show(); },
      clear: () => this.clear(),
      zoom: () => this.zoom(),
    };
    this.balance = new Plot($('balance'), this.model, balancePlot(this.model), choose);
    this.cpus = new Plot($('cpus'), this.model, cpuPlot(this.model), choose);
    this.table = new Table(this.model, this.address, key => this.openRow(key));
    this.row = new RowView(this.model, choose, () => { this.address.go({ row: null }); $('rows-title').focus(); });
    this.row.leftOut = row => this.table.leftOut(row);
    this.row.limits = (path, range) => this.groups.limitFacts(path, range);
    this.row.openGroup = key => this.openGroup(key);
    this.groups = new GroupsView(this.model, this.address, choose, {
      openGroup: key => this.openGroup(key),
      pick: stretch => this.pick(stretch, false),
      processesOf: name => this.rowsOf({ q: name }),
    });
    this.pairs = new PairsView(this.model, this.address, {
      openGroup: path => this.groups.paths.has(`path:${path}`) ? this.openGroup(`path:${path}`) : this.rowsOf({ q: path }),
      processesOf: name => this.rowsOf({ q: name }),
    });
    this.listen();
    this.headline();
    this.show();
  }

  listen() {
    $('zoom').addEventListener('click', () => this.zoom());
    $('all').addEventListener('click', () => this.address.go({ v: null }));
    $('clear').addEventListener('click', () => this.clear());
    $('second').addEventListener('click', () => this.nextIsSecond(!this.isSecond()));
    $('skip').addEventListener('click', event => { event.preventDefault(); $('rows-title').focus(); });
    this.keys = new PageKeys(this);
    this.folds = new Folds(this.address);
    const again = soon(() => this.show());
    this.showSoon = soon(() => { this.headline(); this.show(); });
    $('pause').hidden = !this.isLive;
    $('pause').addEventListener('click', () => this.hold(!this.isHeld()));
    addEventListener('resize', again);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
    matchMedia('print').addEventListener('change', () => this.show());
  }

  // Shows a sentence until the next step.
  say(words) {
    $('said').textContent = words;
  }

  isSecond() {
    return $('second').getAttribute('aria-pressed') === 'true';
  }

  nextIsSecond(is) {
    $('second').setAttribute('aria-pressed', String(is));
  }

  isHeld() {
    return $('pause').getAttribute('aria-pressed') === 'true';
  }

  // Pauses the page. Windows that come meanwhile are shown afterwards.
  hold(is) {
    $('pause').setAttribute('aria-pressed', String(is));
    if (!is) this.held.splice(0).forEach(told => this.take(told));
  }

  // Takes a window.
  take(told) {
    if (this.isHeld() || this.picked) {
      this.held.push(told);
      this.held.splice(0, Math.max(0, this.held.length - this.most));
      return;
    }
    for (const next of [...this.held.splice(0), told]) this.model.append(next);
    const gone = this.model.keep(this.most);
    for (const plot of [this.balance, this.cpus, this.row.plot, this.row.sizes.plot, this.groups.plot, this.groups.sizes.plot]) plot?.shift(gone);
    this.model.keepRows(this.mostRows);
    this.showSoon();
  }

  openRow(key) {
    this.address.go({ row: key });
    $('row-section').scrollIntoView();
    $('row-title').focus();
  }

  openGroup(key) {
    this.address.go({ group: key });
    $('group-section').scrollIntoView();
    $('group-title').focus();
  }

  rowsOf(change) {
    this.address.go({ by: 'process', ...change });
    $('rows-title').scrollIntoView();
    $('rows-title').focus();
  }

  // Goes to the subject of a finding, at its time.
  lead(mark) {
    const { leads } = mark;
    this.pick([mark.from_us, mark.to_us], false);
    if (leads?.group) return this.openGroup(this.groups.keyOf(leads.group));
    if (leads?.row && this.model.rows.has(leads.row)) return this.openRow(leads.row);
    const name = leads?.command ?? mark.subject;
    if (leads?.row || leads?.command) this.rowsOf({ q: name });
  }

  preview(range, second) {
    this.picked = { range, second: second || this.isSecond() };
    this.show();
  }

  pick(stretch, second, typed = false) {
    this.picked = null;
    const isSecond = (second || this.isSecond()) && this.address.state.a !== null;
    // With keys the range grows by the next key.
    if (!typed) this.nextIsSecond(false);
    this.address.go(isSecond ? { b: stretch } : { a: stretch, b: null }, typed);
  }

  clear() {
    this.picked = null;
    this.nextIsSecond(false);
    this.address.go({ a: null, b: null, m: null, fresh: false });
  }

  zoom() {
    const { a } = this.address.state;
    if (a) this.address.go({ v: a, a: null, b: null });
  }

  headline() {
    const about = this.model.about;
    document.title = `exactop: ${about.host}`;
    $('title').textContent = `exactop: ${about.host}`;
    $('about').textContent = `${count(about.cpus)} CPUs, kernel ${about.kernel}, source ${about.source || NONE}${this.isLive ? ', live' : ''}${about.anonymous ? ', names replaced' : ''}`;
    $('foot').textContent = `exactop ${about.exactop}. Times are in this browser’s time zone. ${this.model.slots.peaks.length ? 'Where a column stands for many windows, it shows the busiest of them, and the line is their mean; each CPU’s busiest window stands above its mean.' : 'Each column is a window as it was.'}`;
    const { model } = this, isNowhere = i => model.n > 0 && model.unmeasured(i, 0, model.n) === model.n;
    const entries = model.accounts.map((account, i) => [isNowhere(i) ? 'gap' : account.id, model.accountTitle(i, 0, model.n), account.help]);
    showLegend($('legend'), this.model.slots.peaks.length ? [...entries, ['mean', 'mean in use', 'The mean of the windows that a column stands for']] : entries);
  }

  show() {
    const { model } = this, { state } = this.address;
    if (model.n === 0) return;
    const view = state.v ? model.slotsOf(state.v) : [0, model.n];
    let [a, b] = [state.a, state.b].map(stretch => stretch && model.slotsOf(stretch));
    if (this.picked) [a, b] = this.picked.second && a ? [a, this.picked.range] : [this.picked.range, null];
    const latest = this.isLive && !state.v ? [Math.max(0, model.n - LATEST), model.n] : view;
    // What is chosen is compared with the marked window.
    const mark = state.m && state.m[1] > model.slots.from_us[0] ? model.slotsOf(state.m) : null;
    if (mark && !b) [a, b] = [mark, a ?? latest];
    const chosen = [[a, 'choose-a'], [b, 'choose-b']].filter(([range]) => range);
    const one = a ?? latest;
    this.balance.show(view, chosen);
    this.cpus.show(view, chosen);
    const go = stretch => this.pick(stretch, false);
    const lead = mark => this.lead(mark);
    showMarks(this.balance, model, lead);
    $('sums-of').textContent = `${stretchWords(model.timeOf(one))}${b ? ` and ${stretchWords(model.timeOf(b))}` : a ? '' : this.isLive ? ' (the latest)' : view[1] - view[0] < model.n ? '' : ' (all of it)'}`;
    showSums(model, one, b);
    // While the user drags, slow updates wait.
    if (this.picked) return;
    showGrown(model, one, b, key => this.openRow(key));
    showFindings(model, one, go, lead);
    this.table.show(state, one, b, mark);
    this.groups.show(state, view, chosen, one, b);
    this.row.show(state.row, view, chosen, one, b);
    this.pairs.show(state, one, b);
    this.keys.show(state);
    this.folds.show(state);
    $('zoom').disabled = !state.a;
    $('clear').disabled = !a && !b;
    $('all').disabled = !state.v;
    this.status();
  }

  status() {
    const { about } = this.model, bad = [[about.inexact, 'inexact'], [about.repaired, 'repaired']];
    const told = bad.filter(([n]) => n > 0).map(([n, what]) => `${count(n)} ${what}`);
    const cpus = this.model.cpusLeftOut ? `; ${count(this.model.cpusLeftOut)} CPUs without a strip` : '';
    const gaps = this.model.gaps.length ? `; ${count(this.model.gaps.length + this.model.gapsLeftOut)} gaps (${[...new Set(this.model.gaps.map(gap => gap.why))].join(', ')})` : '';
    $('state').textContent = `${stretchWords(this.model.timeOf([0, this.model.n]))}, ${count(about.windows)} windows${told.length ? `, ${told.join(', ')}` : ', all exact'}${gaps}${cpus}`;
  }
}

// A page without data in it gets live data from its server.
const live = () => {
  const source = new EventSource(`events${location.search}`);
  source.addEventListener('begin', event => {
    // After a reconnect the server sends everything again.
    if (window.exactop) location.reload(); else window.exactop = new Page(JSON.parse(event.data), true);
  });
  // Without the key the server attaches no programs for this page.
  source.addEventListener('looks', event => {
    window.exactop.row.look.key = JSON.parse(event.data).key;
    window.exactop.row.look.open();
  });
  source.addEventListener('window', event => window.exactop.take(JSON.parse(event.data)));
  source.addEventListener('open', () => document.body.classList.remove('lost'));
  source.addEventListener('error', () => {
    document.body.classList.add('lost');
    $('state').textContent = 'No connection to exactop: the figures are old. The page tries again.';
    // After an HTTP error, such as for too many readers, the source does not reconnect by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(live, 5000);
  });
};

const told = JSON.parse($('data').textContent);
if (told) window.exactop = new Page(told); else live();
