// The balance over time, each CPU, the sums over the chosen range, and findings.

const IDLE = ['idle', 'offline'];

const idleOf = accounts => accounts.map((account, i) => IDLE.includes(account.id) ? i : -1).filter(i => i >= 0);

// Numbers of windows in the table of the balance.
const COUNTS = [['Windows', 'windows'], ['… that measure interrupts', 'irq_windows'], ['… steal', 'steal_windows']];

const balancePlot = model => {
  const idle = idleOf(model.accounts);
  const busyOf = of => 1 - idle.reduce((sum, i) => sum + (of.parts[i] ?? 0), 0) / of.capacity_ns;
  const slotOf = i => ({ capacity_ns: model.slots.capacity_ns[i], parts: model.slots.parts_ns.map(parts => parts[i]) });
  const state = ['exact', 'repaired', 'inexact'];
  return {
    label: 'Where the CPUs’ time went, by account, in per cent of all CPUs',
    name: () => 'balance',
    legend: () => model.accounts.map((account, i) => [account.id, model.accountTitle(i, 0, model.n)]),
    lane: true,
    height: () => innerWidth < 640 ? 170 : 230,
    left: () => [['100 %', 0.03], ['50', 0.5], ['0', 0.97]],
    paint: plot => {
      const colours = model.accounts.map(account => colour(account.id));
      for (let i = plot.view[0]; i < plot.view[1]; i++) {
        const span = [model.slots.from_us[i], model.slots.to_us[i]];
        paintSlot(plot, span, slotOf(i), model.peaks(i), colours, busyOf);
      }
    },
    told: i => {
      const { capacity_ns, parts } = slotOf(i);
      const shares = model.accounts.map((account, n) => {
        const title = model.accountTitle(n, i, i + 1), isInPart = title !== account.title;
        if (!parts[n]) return isInPart ? title : null;
        return `${title}${isInPart ? ', else' : ''} ${percent(parts[n] / capacity_ns)} %`;
      });
      const peaks = model.peaks(i), windows = model.slots.windows[i];
      const most = peaks.length ? `; ${windows} windows, the busiest ${percent(Math.max(...peaks.map(busyOf)))} %` : '';
      return `${clock(model.slots.from_us[i], true)}: ${shares.filter(share => share).join(', ')}${most}; ${state[model.slots.state[i]]}`;
    },
    table: ([from, to]) => {
      const [from_us, length, time] = begins(model), rows = [];
      const counted = (row, id) => row.at(COUNTS.findIndex(([, of]) => of === id) - COUNTS.length);
      const isInPart = (row, id) => COUNTS.some(([, of]) => of === id) && counted(row, id) < counted(row, 'windows');
      const share = id => (ns, row) => ns === null ? NONE : `${isInPart(row, `${id}_windows`) ? '≥ ' : ''}${percent(ns / row[2], 2)}`;
      const heads = [from_us, length, head('CPUs × time', 'capacity_ns', duration), ...model.accounts.map(account => head(`${account.title} %`, `${account.id}_ns`, share(account.id))),
        head('Busiest window %', 'busiest_share', busiest => percent(busiest, 2)), head('State', 'state'), ...COUNTS.map(([text, id]) => head(text, id))];
      for (let i = from; i < to; i++) {
        const { capacity_ns, parts } = slotOf(i), peaks = model.peaks(i);
        const busiest = peaks.length ? Math.max(...peaks.map(busyOf)) : busyOf(slotOf(i));
        rows.push([...time(i), capacity_ns, ...parts, busiest, state[model.slots.state[i]], ...COUNTS.map(([, id]) => model.slots[id][i])]);
      }
      return [heads, rows];
    },
  };
};

// Colours from an idle to a fully used CPU.
const heatColours = () => {
  const [cold, warm, hot] = ['cold', 'warm', 'hot'].map(name => colour(name).split(',').map(Number));
  const between = (one, other, part) => one.map((n, i) => Math.round(n + (other[i] - n) * part));
  return Array.from({ length: 101 }, (_, n) => {
    const rgb = n <= 50 ? between(cold, warm, n / 50) : between(warm, hot, (n - 50) / 50);
    return `rgb(${rgb.join(',')})`;
  });
};

const cpuPlot = model => {
  const cpus = () => [...model.cpus.values()].sort((a, b) => a.cpu - b.cpu);
  const each = () => Math.max(3, Math.min(14, Math.floor(240 / Math.max(1, model.cpus.size))));
  const mean = (cpu, i) => cpu.busy_ns[i] === null ? null : cpu.busy_ns[i] / model.slots.length_ns[i];
  return {
    label: 'How busy each CPU was',
    name: () => 'cpus',
    height: () => each() * Math.max(1, model.cpus.size),
    left: () => {
      const list = cpus(), step = Math.ceil(14 / each());
      return list.map((cpu, i) => [`CPU ${cpu.cpu}`, (i + 0.5) / list.length]).filter((_, i) => i % step === 0);
    },
    paint: plot => {
      const colours = heatColours(), list = cpus(), height = plot.canvas.height;
      const shade = share => colours[Math.max(0, Math.min(100, Math.round(100 * share)))];
      list.forEach((cpu, row) => {
        const [top, bottom] = [row, row + 1].map(n => Math.round((n * height) / list.length));
        for (let i = plot.view[0]; i < plot.view[1]; i++) {
          const share = mean(cpu, i);
          if (share === null || share === undefined) continue;
          const [from, to] = plot.pixels(model.slots.from_us[i], model.slots.to_us[i]);
          // With several windows in a slot, the largest is drawn above the mean.
          const middle = model.slots.windows[i] > 1 ? Math.round((top + bottom) / 2) : top;
          plot.pen.fillStyle = shade((cpu.most_permille[i] ?? 0) / 1000);
          plot.pen.fillRect(from, top, to - from, middle - top);
          plot.pen.fillStyle = shade(share);
          plot.pen.fillRect(from, middle, to - from, bottom - middle);
        }
      });
    },
    told: i => {
      const list = cpus().filter(cpu => cpu.busy_ns[i] !== null && cpu.busy_ns[i] !== undefined);
      const busiest = list.reduce((best, cpu) => mean(cpu, i) > mean(best, i) ? cpu : best, list[0]);
      if (!busiest) return '';
      const least = list.reduce((best, cpu) => mean(cpu, i) < mean(best, i) ? cpu : best, list[0]);
      return `${clock(model.slots.from_us[i], true)}: busiest CPU ${busiest.cpu} ${percent(mean(busiest, i))} %, idlest CPU ${least.cpu} ${percent(mean(least, i))} %`;
    },
    table: ([from, to]) => {
      const rows = [], heads = [head('CPU', 'cpu', n => `CPU ${n}`), head('Measured', 'length_ns', duration),
        head('Busy %', 'busy_ns', (ns, [, length]) => ns === null ? NONE : percent(ns / length, 2)), head('Busiest window %', 'busiest_permille', permille => permille === null ? NONE : percent(permille / 1000))];
      for (const cpu of cpus()) {
        let [busy, length, most] = [0, 0, 0];
        for (let i = from; i < to; i++) {
          if (cpu.busy_ns[i] === null || cpu.busy_ns[i] === undefined) continue;
          busy += cpu.busy_ns[i];
          length += model.slots.length_ns[i];
          most = Math.max(most, cpu.most_permille[i] ?? 0);
        }
        rows.push([cpu.cpu, length, ...(length ? [busy, most] : [null, null])]);
      }
      return [heads, rows];
    },
  };
};

const showLegend = (place, entries) => fill(place, ...entries.map(([name, title, help]) => {
  const swatch = part('i', { 'aria-hidden': 'true' });
  swatch.style.background = name.startsWith('rgb(') ? name : `var(--${name})`;
  return part('li', { title: help }, swatch, title);
}));

// The sums over the first range, and the difference to the second.
const showSums = (model, one, other) => {
  const a = model.sums(one), b = other ? model.sums(other) : null;
  const share = (of, i) => Number(of.parts[i]) / Number(of.capacity);
  // A narrow screen has room for the exact time alone, or for the shares of two ranges.
  const roomy = b ? ['Time', 'To the nanosecond', 'Second: time'] : ['Time'];
  const heads = ['Time', '%', 'To the nanosecond', ...(b ? ['Second: time', 'Second: %'] : [])];
  const room = i => roomy.includes(heads[i]) ? 'roomy' : null;
  const line = (title, help, cells, change) => part('tr', {}, part('th', { scope: 'row', text: title, title: help }),
    ...cells.map((text, i) => part('td', { text, class: room(i) })), change === null ? null : part('td', { text: change === undefined ? NONE : signed(change), class: change > 0 ? 'up' : change < 0 ? 'down' : null }));
  const rows = model.accounts.map((account, i) => {
    const unknown = b ? undefined : null;
    if (!a.known[i] && !b?.known[i]) return line(account.title, `${account.help} This source does not measure it separately.`, heads.map(() => NONE), unknown);
    const isWhole = range => model.unmeasured(i, ...range) === 0;
    const figures = (of, range, ...ways) => ways.map(way => of.known[i] ? `${isWhole(range) ? '' : '≥ '}${way(of)}` : NONE);
    const time = of => duration(of.parts[i]), part = of => percent(share(of, i), 2);
    const cells = [...figures(a, one, time, part, of => exactNs(of.parts[i])), ...(b ? figures(b, other, time, part) : [])];
    // A difference to a time in which it was not measured would be one of measuring.
    const comparable = b && isWhole(one) && isWhole(other);
    return line(model.accountTitle(i, ...one), account.help, cells, comparable ? share(b, i) - share(a, i) : unknown);
  });
  const all = [duration(a.capacity), '100', exactNs(a.capacity), ...(b ? [duration(b.capacity), '100'] : [])];
  const head = (text, of) => part('th', { scope: 'col', text, class: of });
  fill($('sums'),
    part('thead', {}, part('tr', {}, head('Account', null), ...heads.map((text, i) => head(text, room(i))), b ? head('Difference, points', null) : null)),
    part('tbody', {}, ...rows),
    part('tfoot', {}, line('CPUs × time', 'The sum of all accounts.', all, b ? 0 : null)));
};

const signed = share => {
  const text = percent(share, 2);
  return share > 0 ? `+${text}` : text;
};

// Rows that grew most and shrank most from the first range to the second, by CPU time relative to
// its length.
const showGrown = (model, one, other, open) => {
  $('grown').hidden = !other;
  if (!other) return;
  const run = model.column('run_ns'), [a, b] = [one, other].map(range => model.lengthNs(range));
  // Unknown in one of them: no number, which no comparison lists.
  const use = (row, range, length) => { const ns = row.sum(run, ...range); return ns === null ? NaN : (ns ?? 0) / length; };
  const change = row => use(row, other, b) - use(row, one, a);
  const changes = [...model.rows.values()].map(row => [row, change(row)]).filter(([, by]) => Math.abs(by) >= 0.0005);
  changes.sort((x, y) => y[1] - x[1]);
  const told = ([row, by]) => {
    const name = `${nameOf(row)}${row.pid === null ? '' : ` ${row.pid}`}${row.kind === 'exited' ? ' (exited)' : ''}`;
    const who = row.kind === 'other' ? name : part('button', { class: 'link', onclick: () => open(row.key) }, name);
    return [who, ` ${by > 0 ? '+' : '−'}${percent(Math.abs(by), 1)} % of a CPU`];
  };
  const list = (words, of) => of.length ? [words, ...of.flatMap((one, i) => [i ? ', ' : '', ...told(one)]), '. '] : [];
  const grew = list('Grew most: ', changes.filter(([, by]) => by > 0).slice(0, 3));
  const shrank = list('Shrank most: ', changes.filter(([, by]) => by < 0).reverse().slice(0, 3));
  fill($('grown'), ...(changes.length ? [...grew, ...shrank] : ['No row used more or less CPU time.']));
};

// The target of a finding, in words; null: none.
const leadWords = leads => leads?.group ? 'its group' : leads?.row ? 'the process' : leads?.command ? `all ${leads.command}` : null;

const showFindings = (model, range, choose, lead) => {
  const [from_us, to_us] = model.timeOf(range);
  const here = model.marks.filter(mark => mark.to_us > from_us && mark.from_us < to_us);
  here.sort((a, b) => b.about_ns - a.about_ns);
  const items = here.slice(0, 100).map(mark => part('li', {},
    part('button', { onclick: () => choose([mark.from_us, mark.to_us]) }, mark.sentence),
    ` · ${stretchWords([mark.from_us, mark.to_us])}${mark.windows > 1 ? `, ${count(mark.windows)} windows` : ''}`,
    leadWords(mark.leads) && ' · ',
    leadWords(mark.leads) && part('button', { class: 'lead', onclick: () => lead(mark) }, `Look at ${leadWords(mark.leads)}`),
    part('span', { class: 'evidence', text: mark.evidence })));
  const more = here.length - items.length + model.marksLeftOut;
  if (more > 0) items.push(part('li', { text: `and ${count(more)} smaller ones` }));
  $('findings-section').hidden = items.length === 0;
  fill($('findings'), ...items);
};

// Most lines of marks over a picture, and the height of one in pixels.
const TRACKS = 4, TRACK = 11;

// Time ranges over a picture: each with its text, a class, and an action when the user chooses it. Those
// at the same time stand below each other.
const fillLane = (plot, stretches) => {
  const span = plot.to_us - plot.from_us;
  const there = stretches.filter(({ time }) => time[1] > plot.from_us && time[0] < plot.to_us);
  const ends = [];
  there.sort((one, other) => one.time[0] - other.time[0]);
  fill(plot.lane, ...there.map(({ time, title, kind, go }) => {
    const free = ends.findIndex(end => end <= time[0]), track = free < 0 ? Math.min(ends.length, TRACKS - 1) : free;
    ends[track] = Math.max(ends[track] ?? 0, time[1]);
    const made = part('i', { title, class: kind, onclick: go });
    const [left, right] = time.map(us => Math.max(0, Math.min(1, (us - plot.from_us) / span)));
    made.style.left = `${100 * left}%`;
    made.style.width = `${100 * (right - left)}%`;
    made.style.top = `${1 + TRACK * track}px`;
    return made;
  }));
  const height = `${1 + TRACK * Math.max(1, ends.length)}px`;
  if (plot.lane.style.height === height) return;
  plot.lane.style.height = height;
  plot.axis();
};

const showMarks = (plot, model, lead) => fillLane(plot, model.marks.map(mark => {
  const time = [mark.from_us, mark.to_us];
  const to = leadWords(mark.leads);
  return { time, title: `${mark.sentence} · ${stretchWords(time)}${to ? ` · leads to ${to}` : ''}`, kind: mark.id, go: () => lead(mark) };
}));
