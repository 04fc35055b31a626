// Keys of the page: those of the live view where it has the same question.

const goTo = id => {
  const place = $(id);
  if (place.closest('[hidden]')) return;
  place.scrollIntoView();
  place.focus();
};

// Sorts the processes by a column, the largest first, and shows the column.
const sortedBy = (page, name) => page.rowsOf({ fresh: false, ...page.table.sorted(name) });

// Chooses the window before or after the chosen one; without one, the last.
const step = (page, by) => {
  const { model, address } = page, { a, b } = address.state, at = page.isSecond() ? b ?? a : a;
  const chosen = at && model.slotsOf(at);
  const slot = chosen ? Math.max(0, Math.min(model.n - 1, (by < 0 ? chosen[0] : chosen[1] - 1) + by)) : model.n - 1;
  page.pick(model.timeOf([slot, slot + 1]), false, true);
};

// Marks the chosen window, with which the rows are then compared; again: drops the mark.
const mark = page => {
  const { a, m } = page.address.state, { isLive, model } = page;
  const go = (change, words) => { page.address.go(change); page.say(words); };
  if (m) return go({ m: null, fresh: false }, 'Mark dropped: rows show figures, not changes.');
  if (!a && !isLive) return page.say('No window is chosen: [ and ] choose one, and m marks it.');
  const marked = a ?? model.timeOf([model.n - 1, model.n]);
  go({ m: marked, a: isLive ? null : a, b: null }, 'Marked: rows show their change since this window (6: what is new; m drops the mark).');
};

// What is new since the mark; again: all rows.
const whatIsNew = page => {
  const { fresh, m } = page.address.state;
  if (!m) return page.say('No window is marked: m marks the chosen one; later 6 shows what is new.');
  page.rowsOf({ fresh: !fresh });
};

const nextTotal = page => {
  const all = [...$('by').options].map(option => option.value), at = all.indexOf(page.address.state.by);
  page.rowsOf({ by: all[(at + 1) % all.length] });
};

// The columns of microstates in per cent of a row's own time; again: the usual ones.
const microstates = page => {
  const { model, address } = page, names = STATES.flatMap(([, , names]) => names).filter(name => model.column(name) >= 0);
  const are = address.state.cols?.join() === names.join();
  page.rowsOf({ by: address.state.by, cols: are ? null : names, unit: are ? 'cpu' : 'own' });
};

// The process of the focused row, else the open one.
const withProcess = (page, go) => {
  const key = document.activeElement.closest('#rows tr[data-key]')?.dataset.key;
  if (key && page.model.rows.has(key)) page.openRow(key);
  if ($('row-section').hidden) page.say('No process is open: Enter on its name opens it.');
  else go();
};

const threads = page => withProcess(page, () => {
  if ($('row-threads-section').hidden) page.say('Exited processes have no threads.'); else goTo('row-threads-title');
});

const openDetails = id => { $(id).open = true; $(id).querySelector('summary').focus(); };

const pause = page => page.isLive ? page.hold(!page.isHeld()) : page.say('A recording stands still: only a live page is paused.');

// Keys that do the same, what they show, and how.
const PAGE_KEYS = [
  ['1', 'who uses the CPU', page => sortedBy(page, 'run_ns')],
  ['2', 'who waits for a CPU', page => sortedBy(page, 'lat_ns')],
  ['3', 'who starves whom', () => goTo('pairs-title')],
  ['4 g', 'control groups and their quotas', () => goTo('groups-title')],
  ['5', 'who moves between CPUs', page => sortedBy(page, 'migrations')],
  ['6', 'what is new since the mark', whatIsNew],
  ['m D', 'mark this window: rows show their change since; again: drop the mark', mark],
  ['!', 'findings', () => goTo('findings-title')],
  ['K', 'totals by the next name', nextTotal],
  ['S', 'microstates: where each row’s time went; again: the usual columns', microstates],
  ['C', 'each CPU', () => goTo('cpus-title')],
  ['H', 'threads of the process', threads],
  ['G', 'states of the process over time', page => withProcess(page, () => page.row.plot.canvas.focus())],
  ['P', 'sort by CPU time, in per cent', page => page.rowsOf({ ...page.table.sorted('run_ns'), unit: 'cpu' })],
  ['T', 'sort by CPU time', page => page.rowsOf({ ...page.table.sorted('run_ns'), unit: 'time' })],
  ['N', 'sort by PID', page => sortedBy(page, 'pid')],
  ['<', 'sort by the column to the left', page => page.address.go(page.table.besides(-1))],
  ['>', 'sort by the column to the right', page => page.address.go(page.table.besides(1))],
  ['R', 'reverse the order', page => page.address.go({ desc: !page.address.state.desc })],
  ['o f F', 'choose the columns', () => openDetails('columns')],
  ['/ \\ L O', 'search, which leaves the rows that match', () => $('search').focus()],
  ['=', 'all rows again', page => page.address.go({ q: '', fresh: false })],
  ['[', 'the window before', page => step(page, -1)],
  [']', 'the window after', page => step(page, 1)],
  ['z', 'zoom in', page => page.zoom()],
  ['p', 'pause a live page', pause],
  ['? h', 'these keys', () => openDetails('keys')],
].map(([keys, told, go]) => [keys.split(' '), told, go]);

class PageKeys {
  constructor(page) {
    this.all = PAGE_KEYS;
    const kbds = keys => keys.flatMap((key, i) => [i ? ' ' : '', part('kbd', { text: key })]);
    fill($('keys-list'), ...PAGE_KEYS.flatMap(([keys, told]) => [part('dt', {}, ...kbds(keys)), part('dd', { text: told })]),
      part('dt', {}, part('kbd', { text: 'Enter' })), part('dd', { text: 'on the name of a row: open the process, or the processes of a total' }));
    // Speech and stray touches press single keys, so they can be turned off.
    $('keys-on').addEventListener('change', event => page.address.go({ keys: event.target.checked ? 'on' : 'off' }));
    document.addEventListener('keydown', event => {
      if (page.address.state.keys === 'off' || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.target.matches('input:not([type=checkbox]), select, textarea')) return;
      const found = PAGE_KEYS.find(([keys]) => keys.includes(event.key));
      if (!found) return;
      event.preventDefault();
      found[2](page);
    });
  }

  show(state) {
    $('keys-on').checked = state.keys !== 'off';
  }
}
