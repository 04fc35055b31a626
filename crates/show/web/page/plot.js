// Pictures over time. A window is a sum over its time, so it is drawn as a rectangle. Time between
// measured windows stays empty, and heights are whole pixels that sum to the picture's height.

class Plot {
  // `of`: label (for screen readers), height (css pixels), paint(plot), told(slot, line) a sentence,
  // table() columns and rows for the table behind the picture, name(), legend(); `lines`, if each column
  // has that many, which are counted from below.
  constructor(place, model, of, choose) {
    Object.assign(this, { model, of, choose, cursor: null, line: null, chosen: [], dragged: null });
    this.canvas = part('canvas', { tabindex: '0', role: 'img', 'aria-label': of.label });
    this.lane = of.lane ? part('div', { class: 'lane', 'aria-hidden': 'true' }) : null;
    this.below = part('div', { class: 'below', 'aria-hidden': 'true' });
    this.toldLine = part('div', { class: 'told', role: 'status' });
    this.frame = part('div', { class: 'plot' }, this.lane, this.canvas, this.below, this.toldLine);
    this.behind = part('div', { class: 'wide' });
    const details = part('details', { class: 'behind' }, part('summary', { text: 'As a table or a file' }),
      fileButtons(model, of.name, () => of.table(this.view), this), this.behind);
    details.addEventListener('toggle', () => details.open ? this.fillTable() : fill(this.behind));
    this.details = details;
    fill(place, this.frame, details);
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    const at = event => this.slotAt(event.clientX - canvas.getBoundingClientRect().left);
    const lineAt = event => this.of.lines ? this.within(this.of.lines * (1 - (event.clientY - canvas.getBoundingClientRect().top) / canvas.clientHeight)) : null;
    canvas.addEventListener('pointerdown', event => {
      if (event.button !== 0 || this.model.n === 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.dragged = { from: at(event), x: event.clientX, second: event.shiftKey, moved: false };
    });
    canvas.addEventListener('pointermove', event => {
      this.point(at(event), lineAt(event));
      if (!this.dragged) return;
      this.dragged.moved ||= Math.abs(event.clientX - this.dragged.x) > 3;
      if (this.dragged.moved) this.choose.preview(this.range(this.dragged.from, at(event)), this.dragged.second);
    });
    canvas.addEventListener('pointerup', event => {
      const dragged = this.dragged;
      this.dragged = null;
      if (dragged?.moved) this.choose.done(this.range(dragged.from, at(event)), dragged.second);
    });
    canvas.addEventListener('pointercancel', () => { this.dragged = null; this.choose.cancel(); });
    canvas.addEventListener('pointerleave', () => { if (!this.dragged) this.point(null); });
    canvas.addEventListener('dblclick', () => this.choose.zoom());
    canvas.addEventListener('keydown', event => this.key(event));
  }

  key(event) {
    const [first, last] = [this.view[0], this.view[1] - 1];
    const now = this.cursor ?? (event.key === 'ArrowLeft' ? last + 1 : first - 1);
    const step = event.ctrlKey ? 10 : 1;
    const to = { ArrowLeft: now - step, ArrowRight: now + step, Home: first, End: last }[event.key];
    const up = this.of.lines ? { ArrowUp: 1, ArrowDown: -1 }[event.key] : undefined;
    if (up) {
      this.point(this.cursor ?? last, this.within((this.line ?? (up > 0 ? -1 : this.of.lines)) + up));
    } else if (to !== undefined) {
      const there = Math.max(first, Math.min(last, to));
      if (event.shiftKey) {
        this.anchor ??= this.cursor ?? there;
        this.choose.done(this.range(this.anchor, there), false, true);
      } else {
        this.anchor = null;
      }
      this.point(there);
    } else if (event.key === 'Enter') {
      this.choose.zoom();
    } else if (event.key === 'Escape') {
      this.anchor = null;
      this.choose.clear();
    } else {
      return;
    }
    event.preventDefault();
  }

  // The nearest line.
  within(line) {
    return Math.max(0, Math.min(this.of.lines - 1, Math.floor(line)));
  }

  range(one, other) {
    return [Math.min(one, other), Math.max(one, other) + 1];
  }

  // The slot at a position; the nearest one in a gap.
  slotAt(css) {
    const us = this.from_us + (css / Math.max(1, this.canvas.clientWidth)) * (this.to_us - this.from_us);
    const [first, last] = [this.view[0], this.view[1] - 1];
    let slot = first;
    for (let i = first; i <= last; i++) if (this.model.slots.from_us[i] <= us) slot = i;
    return slot;
  }

  // Removes the first slots; the cursor stays at its slot.
  shift(gone) {
    const there = slot => slot === null || slot === undefined || slot < gone ? null : slot - gone;
    this.cursor = there(this.cursor);
    this.anchor = there(this.anchor);
    if (this.dragged) this.dragged.from = Math.max(0, this.dragged.from - gone);
  }

  point(slot, line = this.line) {
    this.cursor = slot;
    this.line = slot === null ? null : line;
    this.toldLine.textContent = slot === null || slot >= this.model.n ? '' : this.of.told(slot, this.line);
    this.draw();
  }

  // Shows slots of the model; `chosen` are ranges of slots with their colours.
  show(view, chosen) {
    this.view = view;
    this.chosen = chosen;
    // The wall clock may have been set back meanwhile.
    const { from_us, to_us } = this.model.slots;
    this.from_us = from_us.slice(...view).reduce((least, us) => Math.min(least, us), Infinity);
    this.to_us = to_us.slice(...view).reduce((most, us) => Math.max(most, us), -Infinity);
    if (this.details.open) this.fillTable();
    if (this.cursor === null) this.toldLine.textContent = '';
    this.draw();
  }

  x(us) {
    return Math.round(((us - this.from_us) / (this.to_us - this.from_us)) * this.canvas.width);
  }

  // Pixels of a slot, at least one.
  pixels(from_us, to_us) {
    const from = Math.max(0, this.x(from_us));
    return [from, Math.max(from + 1, Math.min(this.canvas.width, this.x(to_us)))];
  }

  draw() {
    if (!this.view || this.model.n === 0) return;
    const scale = window.devicePixelRatio || 1, canvas = this.canvas;
    const [width, height] = [Math.round(canvas.clientWidth * scale), Math.round(this.of.height() * scale)];
    if (width === 0) return;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    canvas.style.height = `${this.of.height()}px`;
    this.scale = scale;
    this.pen = canvas.getContext('2d', { alpha: false });
    this.pen.fillStyle = colour('gap');
    this.pen.fillRect(0, 0, width, height);
    this.of.paint(this);
    this.overlay();
    this.axis();
  }

  overlay() {
    const { pen, canvas, model } = this;
    for (const [range, name] of this.chosen) {
      const [from, to] = this.pixels(...model.timeOf(range));
      pen.fillStyle = colour(name);
      pen.fillRect(from, 0, to - from, canvas.height);
    }
    if (this.cursor !== null && this.cursor < model.n) {
      const [from] = this.pixels(model.slots.from_us[this.cursor], model.slots.to_us[this.cursor]);
      pen.fillStyle = colour('ink');
      const thick = Math.max(1, Math.round(this.scale));
      pen.fillRect(from, 0, thick, canvas.height);
      // The edges of the line.
      for (const edge of this.line === null ? [] : [this.line, this.line + 1]) {
        pen.fillRect(0, Math.min(canvas.height - thick, Math.round(canvas.height * (1 - edge / this.of.lines))), canvas.width, thick);
      }
    }
  }

  axis() {
    const wide = this.canvas.clientWidth, many = Math.max(2, Math.min(8, Math.floor(wide / 130)));
    const span = this.to_us - this.from_us;
    const text = us => span > 36e8 * 26 ? `${day(us).slice(5)} ${clock(us).slice(0, 5)}` : clock(us, span < 20e6);
    const labels = Array.from({ length: many }, (_, i) => {
      const label = part('span', { text: text(this.from_us + (span * i) / (many - 1)) });
      label.style.left = `${(100 * i) / (many - 1)}%`;
      return label;
    });
    fill(this.below, ...labels);
    this.frame.querySelectorAll('.left').forEach(label => label.remove());
    for (const [text, part_of] of this.of.left()) {
      const label = part('span', { class: 'left', 'aria-hidden': 'true', text });
      label.style.top = `${this.canvas.offsetTop + part_of * this.of.height()}px`;
      this.frame.append(label);
    }
  }

  fillTable() {
    const [heads, rows] = this.of.table(this.view);
    const line = part('tr', {}, ...heads.map(({ text }) => part('th', { scope: 'col', text })));
    const body = rows.map(row => part('tr', {}, ...heads.map(({ show }, i) => {
      const text = show(row[i], row);
      return part(i ? 'td' : 'th', i ? { text } : { text, scope: 'row' });
    })));
    fill(this.behind, part('table', {}, part('caption', { text: this.of.label }), part('thead', {}, line), part('tbody', {}, ...body)));
  }
}

// Rectangles of one stack in whole pixels: edges are rounded, not heights.
const paintPile = (plot, from, to, parts, capacity, colours) => {
  const height = plot.canvas.height;
  let sum = 0, below = 0;
  parts.forEach((part, i) => {
    sum += part ?? 0;
    const edge = Math.max(below, Math.min(height, Math.round((sum / capacity) * height)));
    if (edge > below) {
      plot.pen.fillStyle = colours[i];
      plot.pen.fillRect(from, height - edge, to - from, edge - below);
    }
    below = edge;
  });
};

// A slot of many windows. The windows with the largest figure of an account are drawn at their own
// place if there is room, else side by side, the busiest first. All time but idle counts as busy.
const paintSlot = (plot, span, mean, peaks, colours, busyOf) => {
  const [from, to] = plot.pixels(...span), room = to - from;
  if (peaks.length === 0) return paintPile(plot, from, to, mean.parts, mean.capacity_ns, colours);
  if (room >= 4 * peaks.length) {
    paintPile(plot, from, to, mean.parts, mean.capacity_ns, colours);
    for (const peak of peaks) {
      const [left, right] = plot.pixels(peak.from_us, peak.from_us + peak.length_ns / 1000);
      paintPile(plot, left, Math.min(right, to), peak.parts, peak.capacity_ns, colours);
    }
  } else {
    const drawn = [...peaks].sort((a, b) => busyOf(b) - busyOf(a)).slice(0, room).sort((a, b) => a.from_us - b.from_us);
    drawn.forEach((peak, i) => {
      const [left, right] = [i, i + 1].map(n => from + Math.floor((n * room) / drawn.length));
      paintPile(plot, left, right, peak.parts, peak.capacity_ns, colours);
    });
  }
  const height = plot.canvas.height, thick = Math.max(1, Math.round(plot.scale));
  plot.pen.fillStyle = colour('mean');
  plot.pen.fillRect(from, Math.min(height - thick, Math.round(height * (1 - busyOf(mean)))), room, thick);
};
