// The configuration: what each parameter means, its value, and what differs from the default.

import { Table, el, exact, head, post, raw, setText, tag } from './kit.js';

export default {
  title: 'Configuration',
  open(root) {
    const filter = el('input', { type: 'search', placeholder: 'Name or meaning', 'aria-label': 'Filter', on: { input: () => draw() } });
    const changed = el('input', { type: 'checkbox', on: { change: () => draw() } });
    const all = el('input', { type: 'checkbox', on: { change: () => draw() } });
    const state = el('p', { role: 'status' });
    const table = new Table({
      caption: 'Parameters', key: p => p.name, sort: [0, 1], none: 'No parameter matches.',
      columns: [
        { title: 'Parameter', mono: true, by: p => p.name, show: p => p.name },
        { title: 'Value', by: p => p.value, show: p => el('span', {}, raw(p.value === '' ? '–' : p.value, 200), p.differs ? [' ', tag('changed', 'warn')] : null) },
        { title: 'Default', show: p => raw(p.standard === '' ? '–' : p.standard, 200) },
        { title: 'Meaning', wide: true, show: p => el('span', {}, p.doc, ' ', el('span', { class: 'legend', text: `${p.values}${p.fixed ? '; fixed at the start' : ''}${p.unused ? '; without effect here' : ''}` })) },
        { title: 'Group', by: p => p.group, show: p => p.group },
      ],
    });
    let parameters = [];

    function draw() {
      const words = filter.value.toLowerCase();
      const found = parameters.filter(p => (!words || p.name.includes(words) || p.doc.toLowerCase().includes(words)) && (!changed.checked || p.differs) && (all.checked || !p.unused || p.differs));
      table.set(found);
      setText(state, `${exact(found.length)} of ${exact(parameters.length)} parameters; ${exact(parameters.filter(p => p.differs).length)} differ from their default.`);
    }
    root.append(head('Configuration', 'What each parameter means, and what was changed. The console changes one: CONFIG SET name value.'),
      el('section', { class: 'card', 'aria-label': 'Parameters' },
        el('div', { class: 'row' }, filter, el('label', {}, changed, 'Only changed'), el('label', {}, all, 'Also without effect')), state, table.root));
    return { async refresh() { parameters = await post('parameters'); draw(); } };
  },
};
