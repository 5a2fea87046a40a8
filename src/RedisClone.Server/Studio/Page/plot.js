// Lines over time, drawn from the history that the server keeps.

import { clock, el, post, setText, svg } from './kit.js';

const ranges = { 300: 300, 3600: 360, 86400: 480 };     // seconds and the most points

/** The points of the plots of one screen. A later load asks only for what is new. */
export class History {
  constructor(plots, seconds = 300) {
    this.plots = plots;
    this.setRange(seconds);
  }

  setRange(seconds) {
    this.seconds = seconds;
    this.times = [];
    this.values = [];
    this.asked = (this.asked ?? 0) + 1;
  }

  async load() {
    const asked = this.asked, seconds = this.seconds;
    const names = this.plots.flatMap(plot => plot.lines.map(line => line.name));
    const last = this.times.at(-1) ?? 0;
    const answer = await post('history', { series: names, seconds, points: ranges[seconds], after: last });
    if (asked !== this.asked) return;
    this.times.push(...answer.times);
    names.forEach((_, i) => (this.values[i] ??= []).push(...answer.values[i]));
    let old = 0;
    while (old < this.times.length && this.times[old] < answer.now - seconds) old++;
    this.times.splice(0, old);
    this.values.forEach(values => values.splice(0, old));
    let first = 0;
    // A server that has just started fills the plot, but a minute at least.
    const from = Math.max(answer.now - seconds, Math.min(this.times[0] ?? 0, answer.now - 60 * answer.step));
    for (const plot of this.plots) {
      plot.draw(this.times, this.values.slice(first, first + plot.lines.length), from, answer.now, answer.step);
      first += plot.lines.length;
    }
  }

  /** The newest value of a series. */
  latest(name) {
    let i = 0;
    for (const plot of this.plots) for (const line of plot.lines) { if (line.name === name) return this.values[i]?.at(-1) ?? null; i++; }
    return null;
  }
}

/** Buttons for the range of the plots. */
export function rangeChoice(history, choice, redraw) {
  return choice('Range of the plots', [[300, '5 min'], [3600, '1 h'], [86400, '24 h']], history.seconds, seconds => {
    history.setRange(seconds);
    redraw();
  });
}

const W = 600, H = 180, LEFT = 56, RIGHT = 8, TOP = 8, BOTTOM = 22;

export class Plot {
  /** lines: name of the series, title, and factor if the unit differs. */
  constructor(title, format, lines) {
    Object.assign(this, { title, format, lines });
    this.svg = svg('svg', { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none', role: 'img', tabindex: '0' });
    this.values = lines.map(() => el('b', { text: '–' }));
    this.moment = el('span', { class: 'hidden-text', 'aria-live': 'polite' });
    const legend = el('ul', { class: 'legend' }, lines.map((line, i) =>
      el('li', {}, el('i', { class: `key c${i}` }), line.title, this.values[i])));
    this.root = el('figure', { class: 'plot card' }, el('figcaption', {}, el('h2', { text: title }), legend), this.svg, this.moment);
    this.svg.addEventListener('pointermove', event => this.point(this.indexAt(event)));
    this.svg.addEventListener('pointerleave', () => this.point(null));
    this.svg.addEventListener('keydown', event => this.key(event));
    this.svg.addEventListener('blur', () => this.point(null));
    this.at = null;
    this.times = [];
    new ResizeObserver(() => this.redraw()).observe(this.svg);
  }

  draw(times, values, from, to, step) {
    Object.assign(this, { times, data: values, from, to, step });
    this.redraw();
  }

  redraw() {
    if (!this.data) return;
    const width = Math.max(200, this.svg.clientWidth || W);
    this.width = width;
    this.svg.setAttribute('viewBox', `0 0 ${width} ${H}`);
    const scaled = this.data.map((values, i) => values.map(v => v === null ? null : v * (this.lines[i].factor ?? 1)));
    this.scaled = scaled;
    let top = 0;
    for (const values of scaled) for (const v of values) if (v !== null && v > top) top = v;
    const grid = steps(top, this.format(1024).startsWith('1 KB') ? 1024 : 1000);
    top = grid.at(-1);
    this.x = time => LEFT + (time - this.from) / (this.to - this.from) * (width - LEFT - RIGHT);
    const y = value => H - BOTTOM - value / top * (H - TOP - BOTTOM);
    const parts = [];
    for (const value of grid) {
      parts.push(svg('line', { class: 'axis', x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
      parts.push(svg('text', { x: LEFT - 8, y: y(value) + 4, 'text-anchor': 'end', text: this.format(value) }));
    }
    const marks = width < 420 ? 3 : 5;
    for (let i = 0; i < marks; i++) {
      const time = this.from + (this.to - this.from) * i / (marks - 1);
      parts.push(svg('text', { x: this.x(time), y: H - 4, 'text-anchor': i === 0 ? 'start' : i === marks - 1 ? 'end' : 'middle', text: clock(time).slice(0, this.step > 1 ? 5 : 8) }));
    }
    // The most important line is the first one, so it is drawn last.
    for (let i = scaled.length - 1; i >= 0; i--) parts.push(svg('path', { class: `l${i}`, d: this.path(scaled[i], y) }));
    this.cursor = svg('line', { class: 'cursor', y1: TOP, y2: H - BOTTOM, visibility: 'hidden' });
    this.svg.replaceChildren(...parts, this.cursor);
    this.point(this.at);
  }

  path(values, y) {
    let d = '', pen = false, last = 0;
    values.forEach((value, i) => {
      const gap = this.times[i] - last > this.step * 2.5;
      last = this.times[i];
      if (value === null) { pen = false; return; }
      const x = this.x(this.times[i]).toFixed(1);
      d += `${pen && !gap ? 'L' : 'M'}${x} ${y(value).toFixed(1)}`;
      if (!pen || gap) d += 'h.01';
      pen = true;
    });
    return d;
  }

  indexAt(event) {
    const box = this.svg.getBoundingClientRect();
    const time = this.from + ((event.clientX - box.left) / box.width * this.width - LEFT) / (this.width - LEFT - RIGHT) * (this.to - this.from);
    let best = null;
    this.times.forEach((t, i) => { if (best === null || Math.abs(t - time) < Math.abs(this.times[best] - time)) best = i; });
    return best === null ? null : this.times[best];
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || this.times.length === 0) return;
    event.preventDefault();
    const now = this.at === null ? this.times.length - 1 : this.times.indexOf(this.at);
    this.point(this.times[Math.max(0, Math.min(this.times.length - 1, now + step))]);
    setText(this.moment, `${clock(this.at)}: ${this.lines.map((line, i) => `${line.title} ${this.values[i].textContent}`).join(', ')}`);
  }

  /** Shows the values of one moment, or the newest ones. */
  point(time) {
    this.at = time;
    let i = time === null ? this.times.length - 1 : this.times.indexOf(time);
    if (i < 0) { i = this.times.length - 1; this.at = null; }
    this.scaled?.forEach((values, line) => setText(this.values[line], this.format(values[i] ?? null)));
    if (this.cursor) {
      this.cursor.setAttribute('visibility', this.at === null ? 'hidden' : 'visible');
      if (this.at !== null) for (const side of ['x1', 'x2']) this.cursor.setAttribute(side, this.x(this.at));
    }
    this.svg.setAttribute('aria-label', `${this.title}${this.at === null ? '' : ' at ' + clock(this.at)}: ${
      this.lines.map((line, n) => `${line.title} ${this.values[n].textContent}`).join(', ')}. Arrow keys show earlier values.`);
  }
}

/** Round numbers from 0 to at least the top. */
function steps(top, thousand) {
  if (!(top > 0)) return [0, 1];
  const rough = top / 3, unit = rough < 1 ? 1 : thousand ** Math.floor(Math.log(rough) / Math.log(thousand));
  const size = unit * 10 ** Math.floor(Math.log10(rough / unit));
  const step = [1, 2, 2.5, 5, 10, 20].map(n => n * size).find(n => n >= rough);
  const all = [0];
  while (all.at(-1) < top) all.push(all.at(-1) + step);
  return all;
}
