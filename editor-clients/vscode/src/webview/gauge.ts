// How full the model's window is, with its three lines, and what the session has cost.

import type { SessionView } from '../model/view';
import { h } from './dom';
import { count, money, percent } from '../figures';

export class Gauge {
  private readonly fill = h('div', { class: 'gauge-fill' });
  private readonly ticks = h('div', { class: 'gauge-ticks' });
  private readonly bar = h('div', { class: 'gauge-bar' }, this.fill, this.ticks);
  private readonly text = h('span', { class: 'gauge-text' });
  readonly element = h('div', { class: 'gauge', role: 'meter', 'aria-valuemin': '0', 'aria-valuemax': '100', hidden: true }, this.bar, this.text);

  show(view: SessionView | undefined, lines: readonly number[] | undefined): void {
    const load = view?.load;
    this.element.hidden = !view || !load || load.window === 0;
    if (!view || !load) return;
    const part = Math.min(1, Math.max(0, load.load));
    const passed = (lines ?? []).filter((line) => load.load >= line).length;
    this.fill.style.width = `${Math.max(part * 100, 1)}%`;
    this.fill.className = `gauge-fill passed-${passed}`;
    this.ticks.replaceChildren(
      ...(lines ?? []).map((line) => {
        const tick = h('span', { class: 'tick' });
        tick.style.left = `${Math.min(line, 1) * 100}%`;
        return tick;
      }),
    );
    const full = percent(load.load);
    const { usage, cost } = view;
    this.text.textContent = [full, cost !== undefined && money(cost)].filter(Boolean).join(' · ');
    const marks = lines && lines.length > 0 ? `\nLines at ${lines.map((line) => `${Math.round(line * 100)}%`).join(', ')}` : '';
    this.element.title =
      `${load.tokens.toLocaleString('en')} of ${load.window.toLocaleString('en')} tokens of the model’s window (${full})${marks}\n` +
      `This session: ${count(usage.input)} tokens in (${count(usage.cacheRead)} cached), ${count(usage.output)} out`;
    this.element.setAttribute('aria-valuenow', String(Math.round(part * 100)));
    this.element.setAttribute('aria-label', `Load of the model’s window: ${full}`);
  }
}
