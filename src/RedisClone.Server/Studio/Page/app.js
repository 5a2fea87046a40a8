// The frame: signing in, the list of screens, the theme, and the clock that refreshes the screen in view.

import { el, head, info, note, post, setText, whenSignedOut } from './kit.js';
import now from './now.js';
import { commands, shards } from './load.js';
import memory from './memory.js';
import { durability, recovery, replication } from './data.js';
import clients from './clients.js';
import keys from './keys.js';
import consoleScreen from './console.js';
import config from './config.js';
import support from './support.js';

const groups = [
  ['Watch', { now, commands, memory, shards, durability, clients, replication }],
  ['Work', { keys, console: consoleScreen }],
  ['Look up', { config, recovery, support }],
];
const screens = Object.assign({}, ...groups.map(([, of]) => of));
const part = Object.fromEntries(['bar', 'nav', 'content', 'state', 'tools', 'menu'].map(id => [id, document.getElementById(id)]));
let session = null, current = null, paused = false, timer = null;

// ---- theme ----

const system = matchMedia('(prefers-color-scheme: dark)');
function applyTheme() {
  const wanted = localStorage.getItem('studio-theme') ?? 'system';
  document.documentElement.dataset.theme = wanted === 'system' ? system.matches ? 'dark' : 'light' : wanted;
  return wanted;
}
system.addEventListener('change', applyTheme);

function themeButton() {
  const names = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };
  const button = el('button', { type: 'button', class: 'quiet small', text: names[applyTheme()], on: { click: () => {
    const order = ['system', 'light', 'dark'];
    localStorage.setItem('studio-theme', order[(order.indexOf(applyTheme()) + 1) % 3]);
    setText(button, names[applyTheme()]);
  } } });
  return button;
}

// ---- screens ----

function showNav() {
  part.nav.replaceChildren(...groups.flatMap(([title, of]) => [
    el('p', { text: title }),
    ...Object.entries(of).map(([id, screen]) => el('a', { href: '#' + id, text: screen.title })),
  ]));
}

async function open() {
  if (!session) return;
  const [id, ...rest] = location.hash.slice(1).split('/');
  const screen = screens[id] ?? now;
  clearTimeout(timer);
  current?.close?.();
  part.nav.classList.remove('open');
  part.menu.setAttribute('aria-expanded', 'false');
  for (const link of part.nav.querySelectorAll('a')) {
    if (link.hash === '#' + (screens[id] ? id : 'now')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${screen.title} · RedisClone Studio`;
  const body = el('div');
  part.content.replaceChildren(body);
  scrollTo(0, 0);
  try {
    current = screen.open(body, rest.map(decodeURIComponent), session);
  } catch (failure) {
    body.append(head(screen.title, ''), note(failure.message));
    current = null;
  }
  part.content.dataset.ready = '';
  await refresh(current);
  part.content.dataset.ready = screens[id] ? id : 'now';
}

let failed = null;
async function refresh(view) {
  clearTimeout(timer);
  if (!view?.refresh || view !== current) return;
  const started = performance.now();
  try {
    await view.refresh();
    failed?.remove();
    failed = null;
  } catch (failure) {
    if (view !== current || !session) return;
    if (!failed) { failed = note(failure.message); part.content.prepend(failed); }
    else setText(failed, failure.message);
  }
  if (view !== current || !view.every || paused) return;
  timer = setTimeout(() => refresh(view), document.hidden ? 10_000 : Math.max(250, view.every - (performance.now() - started)));
}
document.addEventListener('visibilitychange', () => { if (!document.hidden && !paused) refresh(current); });

// ---- session ----

function showTools() {
  const pause = el('button', { type: 'button', class: 'quiet small', text: 'Pause', 'aria-pressed': 'false', on: { click: () => {
    paused = !paused;
    setText(pause, paused ? 'Resume' : 'Pause');
    pause.setAttribute('aria-pressed', String(paused));
    if (!paused) refresh(current);
  } } });
  const out = el('button', { type: 'button', class: 'quiet small', text: 'Sign out', on: { click: async () => { await post('logout'); signIn(''); } } });
  part.tools.replaceChildren(...(session ? [pause, themeButton(), session.automatic ? null : out].filter(Boolean) : [themeButton()]));
  part.menu.hidden = !session;
}

async function showState() {
  try {
    const of = await info('server', 'replication', 'persistence');
    setText(part.state, `${of.role === 'slave' ? 'Replica' : 'Primary'} on port ${of.tcp_port} · version ${of.redisclone_version} · user ${session.user}`);
  } catch { setText(part.state, `user ${session.user}`); }
}

function signIn(reason) {
  if (!session && part.content.querySelector('form.sign')) return;
  session = null;
  current?.close?.();
  current = null;
  clearTimeout(timer);
  document.title = 'Sign in · RedisClone Studio';
  part.nav.replaceChildren();
  setText(part.state, '');
  showTools();
  const user = el('input', { type: 'text', name: 'user', value: 'default', autocomplete: 'username', required: true, autocapitalize: 'off', spellcheck: 'false' });
  const password = el('input', { type: 'password', name: 'password', autocomplete: 'current-password', required: true });
  const message = el('div');
  const button = el('button', { class: 'main', text: 'Sign in' });
  if (reason) message.append(note(reason));
  const form = el('form', { class: 'sign card', 'aria-label': 'Sign in', on: { submit: async event => {
    event.preventDefault();
    button.disabled = true;
    try {
      session = await post('session', { user: user.value, password: password.value });
      await begin();
    } catch (failure) {
      message.replaceChildren(note(failure.message));
      password.value = '';
      password.focus();
    }
    button.disabled = false;
  } } }, el('h1', { text: 'Sign in' }), el('p', { class: 'lead', text: 'With a user of the server (ACL) and its password.' }),
    el('label', {}, 'User', user), el('label', {}, 'Password', password), message, button);
  part.content.replaceChildren(form);
  part.content.dataset.ready = 'sign-in';
  password.focus();
}

async function begin() {
  showNav();
  showTools();
  showState();
  await open();
}

whenSignedOut(async () => {
  if (!session) return;
  if (!session.automatic) return signIn('The session has ended. Sign in again.');
  try { session = await post('session'); } catch { signIn('The session has ended. Sign in again.'); }
});
part.menu.addEventListener('click', () => part.menu.setAttribute('aria-expanded', String(part.nav.classList.toggle('open'))));
document.addEventListener('keydown', event => { if (event.key === 'Escape' && part.nav.classList.contains('open')) part.menu.click(); });
addEventListener('hashchange', () => { open(); if (part.content.querySelector('form.sign') === null) part.content.focus({ preventScroll: true }); });

applyTheme();
try {
  session = await post('session');
  await begin();
} catch (failure) {
  signIn(failure.message);
}
