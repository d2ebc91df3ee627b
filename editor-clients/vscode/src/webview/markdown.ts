// Markdown → elements. HTML in the text is shown as text; pictures become links; a link leads nowhere by itself: the page
// asks the extension (`data-href`).

import MarkdownIt from 'markdown-it';
import { h } from './dom';

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false, typographer: false });
// Bare words such as `main.rs` are no links.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

markdown.renderer.rules['link_open'] = (tokens, index) => {
  const href = markdown.utils.escapeHtml(String(tokens[index]?.attrGet('href') ?? ''));
  return `<a role="link" tabindex="0" data-href="${href}" title="${href}">`;
};
markdown.renderer.rules['image'] = (tokens, index) => {
  const token = tokens[index];
  const href = markdown.utils.escapeHtml(String(token?.attrGet('src') ?? ''));
  const text = markdown.utils.escapeHtml(token?.content || 'picture');
  return `<a role="link" tabindex="0" data-href="${href}" title="${href}">${text}</a>`;
};

/** The text as HTML. Exported for its tests. */
export function toHtml(text: string): string {
  return markdown.render(text);
}

export function renderMarkdown(text: string): HTMLElement {
  const element = h('div', { class: 'markdown' });
  element.innerHTML = toHtml(text);
  for (const block of element.querySelectorAll('pre')) {
    const frame = h('div', { class: 'code' });
    block.replaceWith(frame);
    block.tabIndex = 0;
    frame.append(block, h('button', { class: 'copy quiet', type: 'button', 'data-copy': 'code', title: 'Copy this code' }, 'Copy'));
  }
  for (const table of element.querySelectorAll('table')) {
    const frame = h('div', { class: 'table' });
    table.replaceWith(frame);
    frame.append(table);
  }
  return element;
}
