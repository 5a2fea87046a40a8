// The support bundle: a file about the server that a person can send to someone else.

import { bytes, card, download, el, exact, head, note, setText } from './kit.js';

const parts = ['versions and configuration, without passwords', 'all figures of INFO, and their history of an hour and a day', 'the slow log and CLIENT LIST, without arguments, addresses and names',
  'latency events, memory, shards and event loops', 'what runs now, and the threads of the process', 'the last lines of the log, and the recovery of the last start', 'a trace of the runtime for one second'];

export default {
  title: 'Support bundle',
  open(root) {
    const state = el('p', { role: 'status' });
    const button = el('button', { type: 'button', class: 'main', text: 'Make a bundle', on: { click: async () => {
      button.disabled = true;
      setText(state, 'The server makes the bundle, which takes some seconds …');
      try {
        const file = await download('support-bundle');
        const link = el('a', { href: URL.createObjectURL(file), download: `support-bundle-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.zip` });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
        setText(state, `The browser has the bundle: ${bytes(file.size)} (${exact(file.size)} bytes). Its README.md says what each file is.`);
      } catch (failure) {
        state.replaceChildren(note(failure.message));
      }
      button.disabled = false;
    } } });
    root.append(head('Support bundle', 'One file that shows someone else how this server does. It contains no keys, no values and no passwords.'),
      card('What is in it', el('ul', { class: 'plain' }, parts.map(part => el('li', { text: part }))), button, state));
    return {};
  },
};
