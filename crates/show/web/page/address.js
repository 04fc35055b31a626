// The view's state is in the page's address, so that back, forward, bookmarks and links work.

const WHOLE = { v: null, a: null, b: null, m: null, fresh: false, by: 'process', sort: 'run_ns', desc: true, q: '', cols: null, unit: 'cpu', row: null, gby: 'path', group: null, pby: 'cgroup', keys: 'on', open: [] };

const stretchOf = text => {
  const found = /^(\d{1,17})-(\d{1,17})$/.exec(text ?? '');
  const [from, to] = found ? [Number(found[1]), Number(found[2])] : [0, 0];
  return to > from ? [from, to] : null;
};

class Address {
  constructor(changed) {
    this.state = this.read();
    this.changed = changed;
    addEventListener('hashchange', () => {
      const state = this.read();
      if (JSON.stringify(state) === JSON.stringify(this.state)) return;
      this.state = state;
      changed(state);
    });
  }

  read() {
    const told = new URLSearchParams(location.hash.slice(1));
    const word = (name, known) => told.get(name) ?? known;
    const sort = word('sort', WHOLE.sort);
    return {
      v: stretchOf(told.get('v')),
      a: stretchOf(told.get('a')),
      b: stretchOf(told.get('b')),
      m: stretchOf(told.get('m')),
      fresh: told.has('new'),
      by: word('by', WHOLE.by),
      sort: sort.replace(/^-/, ''),
      desc: !sort.startsWith('-'),
      q: word('q', WHOLE.q),
      cols: told.has('cols') ? told.get('cols').split(',').filter(name => name !== '') : null,
      unit: word('unit', WHOLE.unit),
      row: told.get('row'),
      gby: word('gby', WHOLE.gby),
      group: told.get('group'),
      pby: word('pby', WHOLE.pby),
      keys: word('keys', WHOLE.keys),
      open: (told.get('open') ?? '').split(',').filter(name => name !== ''),
    };
  }

  text() {
    const { v, a, b, m, fresh, by, sort, desc, q, cols, unit, row, gby, group, pby, keys, open } = this.state;
    const told = new URLSearchParams();
    for (const [name, stretch] of [['v', v], ['a', a], ['b', b], ['m', m]]) {
      if (stretch) told.set(name, `${Math.round(stretch[0])}-${Math.round(stretch[1])}`);
    }
    if (fresh) told.set('new', '1');
    if (by !== WHOLE.by) told.set('by', by);
    if (sort !== WHOLE.sort || !desc) told.set('sort', `${desc ? '' : '-'}${sort}`);
    if (q !== '') told.set('q', q);
    if (cols) told.set('cols', cols.join(','));
    if (unit !== WHOLE.unit) told.set('unit', unit);
    if (row) told.set('row', row);
    if (gby !== WHOLE.gby) told.set('gby', gby);
    if (group) told.set('group', group);
    if (pby !== WHOLE.pby) told.set('pby', pby);
    if (keys !== WHOLE.keys) told.set('keys', keys);
    if (open.length) told.set('open', open.join(','));
    return `#${told}`;
  }

  // Changes the state; `typed`: the change is not a step for the back key.
  go(change, typed = false) {
    this.state = { ...this.state, ...change };
    const text = this.text();
    if (text !== location.hash && !(text === '#' && location.hash === '')) {
      if (typed) location.replace(text); else location.hash = text;
    }
    this.changed(this.state);
  }
}

// Parts that fold, by their own id or that of the part around them. Which are open is in the address.
class Folds {
  constructor(address) {
    this.applied = new WeakMap();
    // The event does not bubble.
    document.addEventListener('toggle', ({ target }) => {
      const open = this.open(address.state);
      // If it is the same, the page itself opened the part.
      if (target.nodeName === 'DETAILS' && open.join() !== address.state.open.join()) address.go({ open }, true);
    }, true);
  }

  // Names of the open parts, those included that are not on the page now.
  open(state) {
    const all = [...document.querySelectorAll('details')], names = new Set(all.map(details => this.nameOf(details)));
    return [...state.open.filter(name => !names.has(name)), ...all.filter(details => details.open).map(details => this.nameOf(details))];
  }

  nameOf(details) {
    return details.closest('[id]').id;
  }

  // Applies the address to each part once, so that a part that the user has just pressed keeps its
  // state until its event comes.
  show(state) {
    const { open } = state, now = open.join();
    for (const details of document.querySelectorAll('details')) {
      if (this.applied.get(details) === now) continue;
      this.applied.set(details, now);
      const is = open.includes(this.nameOf(details));
      if (details.open !== is) details.open = is;
    }
  }
}
