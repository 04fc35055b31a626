// What is shown, as files: the figures behind it as CSV and JSON, a picture as SVG and PNG. Figures are
// those of the ledger (ns, counts); an unknown one is empty or null.

// A column of a table: its heading, its name in files, and a figure as text.
const head = (text, id, show = value => value ?? NONE) => ({ text, id, show });
const begins = model => [
  head('Begins', 'begins_us', us => `${day(us)} ${clock(us, true)}`),
  head('Length', 'length_ns', duration),
  i => [model.slots.from_us[i], model.slots.length_ns[i]],
];

// Text that a spreadsheet would take for a formula begins with an apostrophe.
const csvCell = value => {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@＝＋－＠\t\r']/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const csvOf = ([heads, rows]) => [heads.map(({ id }) => id), ...rows].map(row => `${row.map(csvCell).join(',')}\n`).join('');

const jsonOf = ([heads, rows], about) =>
  `${JSON.stringify({ ...about, rows: rows.map(row => Object.fromEntries(heads.map(({ id }, i) => [id, row[i] ?? null]))) }, null, 1)}\n`;

const save = (name, type, text) => {
  const url = URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type }));
  part('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60e3);
};

// Buttons that save a table, and a picture if there is one. `name` and `table` are asked then.
const fileButtons = (model, name, table, plot = null) => {
  const file = ending => `exactop-${model.about.host}-${name()}.${ending}`.replace(/[^\w.-]+/g, '_');
  const about = () => ({ host: model.about.host, source: model.about.source, exactop: model.about.exactop, name: name() });
  const kinds = [
    ['CSV', () => save(file('csv'), 'text/csv', csvOf(table()))],
    ['JSON', () => save(file('json'), 'application/json', jsonOf(table(), about()))],
    ...(plot ? [['SVG', () => save(file('svg'), 'image/svg+xml', svgOf(plot))], ['PNG', () => pngOf(plot).then(blob => save(file('png'), 'image/png', blob))]] : []),
  ];
  return part('span', { class: 'controls' }, ...kinds.map(([text, onclick]) => part('button', { text, title: `Save what is shown as ${text}`, onclick })));
};

const xml = text => String(text).replace(/[&<>"]/g, letter => `&#${letter.charCodeAt(0)};`);

// Draws rectangles as the pen of a canvas does, and keeps them by colour.
class SvgPen {
  constructor() {
    this.paths = [];
  }

  fillRect(x, y, width, height) {
    if (width <= 0 || height <= 0) return;
    const rectangle = `M${x} ${y}h${width}v${height}h${-width}z`, last = this.paths.at(-1);
    if (last?.[0] === this.fillStyle) last[1] += rectangle; else this.paths.push([this.fillStyle, rectangle]);
  }
}

const LEFT = 66, LINE = 18;

// The namespace of SVG, from an element: the page has no address of another site.
const SVG = document.querySelector('svg').namespaceURI;

// A picture with its title, scales and colours.
const svgOf = plot => {
  const { canvas, of } = plot, pen = new SvgPen(), shown = plot.pen;
  plot.pen = pen;
  of.paint(plot);
  plot.pen = shown;
  const scale = plot.scale, wide = Math.round(canvas.width / scale), high = Math.round(canvas.height / scale);
  const label = (x, y, text, more = '') => `<text x="${x}" y="${y}"${more}>${xml(text)}</text>\n`;
  const left = of.left().map(([text, at]) => label(LEFT - 6, 2 * LINE + Math.round(at * high) + 4, text, ' text-anchor="end"'));
  const below = [...plot.below.children].map((of, i, all) => label(LEFT + Math.round((wide * i) / (all.length - 1)), 3 * LINE + high, of.textContent,
    i === 0 ? '' : ` text-anchor="${i === all.length - 1 ? 'end' : 'middle'}"`));
  let [x, y] = [LEFT, high + 4.4 * LINE];
  const legend = (of.legend?.() ?? []).map(([name, title]) => {
    const room = 24 + 7 * title.length;
    if (x > LEFT && x + room > LEFT + wide) [x, y] = [LEFT, y + LINE];
    x += room;
    return `<rect x="${x - room}" y="${y - 10}" width="11" height="11" fill="${xml(colour(name))}" stroke="${xml(colour('line'))}"/>\n${label(x - room + 16, y, title)}`;
  });
  const size = [LEFT + wide + 20, Math.round(y + LINE)];
  return `<svg xmlns="${SVG}" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(' ')}" font-family="system-ui,sans-serif" font-size="12" fill="${colour('ink')}">
<rect width="100%" height="100%" fill="${colour('ground')}"/>
${label(LEFT, 1.3 * LINE, `${of.label}: ${stretchWords([plot.from_us, plot.to_us])}`, ' font-size="13"')}<g transform="translate(${LEFT} ${2 * LINE}) scale(${1 / scale})" shape-rendering="crispEdges">
${pen.paths.map(([fill, path]) => `<path fill="${xml(fill)}" d="${path}"/>\n`).join('')}</g>
${[...left, ...below, ...legend].join('')}</svg>
`;
};

const pngOf = async plot => {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svgOf(plot))}`;
  await image.decode();
  const canvas = part('canvas', { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done));
};
