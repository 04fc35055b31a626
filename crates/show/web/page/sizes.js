// Waits for a CPU by size, over time: a column for each window, a line for each size. A count is that
// of waits that ended.

const NO_SIZES = "'exactop record --blame histograms' keeps them, or a daemon with 'histograms = true' in [blame].";

// Counts of some owners together: by slot, of each size those woken, then those preempted.
const sizeCounts = (model, owners) => {
  const counts = new Map(), places = 2 * model.sizeEnds.length;
  for (const { at, figures: [all] } of owners) {
    at.forEach((place, i) => {
      const slot = Math.floor(place / places);
      const of = counts.get(slot) ?? counts.set(slot, new Array(places).fill(0)).get(slot);
      of[place % places] += Array.isArray(all) ? all[i] : all;
    });
  }
  return counts;
};

const sizePlot = (model, view) => {
  const ends = model.sizeEnds, lines = ends.length;
  const isKept = slot => model.slots.sizes_ns[slot] > 0;
  const at = (slot, line) => view.counts.get(slot)?.slice(2 * line, 2 * line + 2) ?? [0, 0];
  const sum = (slot, line) => at(slot, line).reduce((all, n) => all + n);
  const all = slot => (view.counts.get(slot) ?? []).reduce((all, n) => all + n, 0);
  const size = line => line === 0 ? `below ${duration(ends[0])}` : `${duration(ends[line - 1])} ${ends[line] === null ? 'or longer' : `to ${duration(ends[line])}`}`;
  // Counts differ by powers of ten, and a single wait must be seen.
  const shade = n => n === 0 ? 0 : Math.round(25 + 75 * (view.most > 1 ? Math.log(n) / Math.log(view.most) : 1));
  return {
    label: `Waits of ${view.name} for a CPU, by size`,
    name: () => `waits-${view.name}`,
    legend: () => {
      const steps = [0, 1, Math.round(Math.sqrt(view.most)), view.most], colours = heatColours();
      const some = [...new Set(steps)].filter(n => n <= view.most).map(n => [colours[shade(n)], n === 0 ? 'no wait' : counted(n, 'wait')]);
      return view.isPartly ? [...some, ['gap', 'no histogram']] : some;
    },
    lines,
    height: () => 9 * lines,
    // The size at which a line ends and the next begins.
    left: () => ends.flatMap((ns, line) => ns !== null && line % 2 === 0 ? [[duration(ns), 1 - (line + 1) / lines]] : []),
    paint: plot => {
      const colours = heatColours(), height = plot.canvas.height, edge = line => Math.round(height * (1 - line / lines));
      for (let slot = plot.view[0]; slot < plot.view[1]; slot++) {
        if (!isKept(slot)) continue;
        const [from, to] = plot.pixels(model.slots.from_us[slot], model.slots.to_us[slot]);
        plot.pen.fillStyle = colours[0];
        plot.pen.fillRect(from, 0, to - from, height);
        for (let line = 0; line < lines; line++) {
          const n = sum(slot, line);
          if (n === 0) continue;
          plot.pen.fillStyle = colours[shade(n)];
          plot.pen.fillRect(from, edge(line + 1), to - from, edge(line) - edge(line + 1));
        }
      }
    },
    told: (slot, line) => {
      const then = `${clock(model.slots.from_us[slot], true)}: `;
      if (!isKept(slot)) return `${then}no histogram was kept`;
      if (line === null) return `${then}${counted(all(slot), 'wait')} ended; ↑ and ↓ step through their sizes`;
      const [woken, preempted] = at(slot, line);
      return `${then}${size(line)}: ${counted(woken + preempted, 'wait')} of ${count(all(slot))}, ${count(woken)} woken, ${count(preempted)} preempted`;
    },
    table: ([from, to]) => {
      const [from_us, length, time] = begins(model), rows = [];
      for (let slot = from; slot < to; slot++) {
        for (let line = 0; line < lines; line++) {
          const [woken, preempted] = at(slot, line), n = woken + preempted;
          if (n > 0) rows.push([...time(slot), ends[line], woken, preempted, n]);
        }
      }
      const below = head('Shorter than', 'below_ns', ns => ns === null ? 'no end' : duration(ns));
      return [[from_us, length, below, head('Woken', 'woken', count), head('Preempted', 'preempted', count), head('Waits', 'count', count)], rows];
    },
  };
};

class SizesView {
  // `place`: the beginning of its parts' ids.
  constructor(model, place, choose) {
    Object.assign(this, { model, place, choose, open: null, plot: null });
  }

  // Shows the waits of owners as those of one name.
  show(name, owners, view, chosen, one) {
    const { model, place } = this, kept = range => Number(exactSum(model.slots.sizes_ns, ...range));
    const counts = sizeCounts(model, owners), isShown = kept(view) > 0 && counts.size > 0;
    $(`${place}-told`).textContent = kept(view) > 0 ? this.words(counts, one, kept(one)) : `No histograms of waits were kept in that time. ${NO_SIZES}`;
    if (!isShown) {
      this.open = this.plot = null;
      fill($(place));
      fill($(`${place}-legend`));
      return;
    }
    let most = 0;
    counts.forEach((of, slot) => {
      for (let i = 0; slot >= view[0] && slot < view[1] && i < of.length; i += 2) most = Math.max(most, of[i] + of[i + 1]);
    });
    const now = { name, counts, most, isPartly: model.slots.sizes_ns.slice(...view).includes(0) };
    if (this.open?.name !== name) {
      this.open = now;
      this.plot = new Plot($(place), model, sizePlot(model, now), this.choose);
    } else {
      Object.assign(this.open, now);
    }
    this.plot.show(view, chosen);
    showLegend($(`${place}-legend`), this.plot.of.legend());
  }

  words(counts, [from, to], kept_ns) {
    const sums = [0, 0], whole = this.model.lengthNs([from, to]);
    counts.forEach((of, slot) => { if (slot >= from && slot < to) of.forEach((n, i) => { sums[i % 2] += n; }); });
    if (kept_ns === 0) return 'No histogram was kept in that time.';
    const part = kept_ns === whole ? '' : ` Histograms cover ${percent(kept_ns / whole, 0)} % of that time.`;
    if (counts.size === 0) return `None of its waits ended, or they are part of ~other.${part}`;
    return `A column is a window; a line has the waits up to the time at its upper edge. ${counted(sums[0] + sums[1], 'wait')} ended: ${count(sums[0])} began with a wake-up, ${count(sums[1])} with the loss of the CPU.${part}`;
  }
}
