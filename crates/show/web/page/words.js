// Figures as text, and parts of the page. Foreign text is set as text, never as markup.

const $ = id => document.getElementById(id);

const part = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') made.textContent = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
};

const fill = (place, ...children) => place.replaceChildren(...children);

const NONE = '–';

const duration = ns => {
  if (ns === null || ns === undefined) return NONE;
  const n = Number(ns), size = Math.abs(n);
  if (size < 1e3) return `${n} ns`;
  if (size < 1e6) return `${(n / 1e3).toFixed(1)} µs`;
  if (size < 1e9) return `${(n / 1e6).toFixed(1)} ms`;
  if (size < 120e9) return `${(n / 1e9).toFixed(2)} s`;
  const seconds = Math.round(size / 1e9), sign = n < 0 ? '-' : '';
  if (seconds < 7200) return `${sign}${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${sign}${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
};

// Exact to the nanosecond, as in the ledger.
const exactNs = ns => `${ns.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ' ')} ns`;

const count = n => n === null || n === undefined ? NONE : Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ' ');

const counted = (n, what) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

const percent = (share, digits = 1) => {
  if (share === null || share === undefined || Number.isNaN(share)) return NONE;
  const text = (100 * share).toFixed(digits);
  // A small share is not shown as 0.
  if (share !== 0 && Number(text) === 0) return share > 0 ? `<${(10 ** -digits).toFixed(digits)}` : `>-${(10 ** -digits).toFixed(digits)}`;
  return text;
};

const two = n => String(n).padStart(2, '0');

const day = us => {
  const then = new Date(us / 1000);
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
};

// The time of day in the reader's time zone, with enough digits to distinguish slots.
const clock = (us, exact = false) => {
  const then = new Date(us / 1000);
  const text = `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
  return exact ? `${text}.${String(then.getMilliseconds()).padStart(3, '0')}` : text;
};

const stretchWords = ([from_us, to_us]) => {
  const exact = to_us - from_us < 10e6;
  const end = day(from_us) === day(to_us) ? clock(to_us, exact) : `${day(to_us)} ${clock(to_us, exact)}`;
  return `${day(from_us)} ${clock(from_us, exact)} to ${end}`;
};

// A colour of the style by its name, or itself.
const colour = name => name.startsWith('rgb(') ? name : getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Runs once before the next picture, however often it is requested.
const soon = what => {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; what(); });
  };
};
