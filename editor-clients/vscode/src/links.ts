// Links of the conversation: the model wrote them, so each is looked at before it is followed.

import path from 'node:path';

export type Target =
  /** A page; the editor asks about hosts that the user does not trust. */
  | { kind: 'external'; href: string }
  /** Another program would be started: asked about. */
  | { kind: 'ask'; href: string; scheme: string }
  | { kind: 'file'; path: string; line?: number }
  | { kind: 'refused'; reason: string };

/** What a link of the conversation leads to. Relative ones are files of the first root. */
export function target(href: string, root: string | undefined): Target {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase();
  if (scheme === 'http' || scheme === 'https') return { kind: 'external', href };
  if (scheme === 'mailto') return { kind: 'ask', href, scheme };
  if (scheme !== undefined && scheme !== 'file') return { kind: 'refused', reason: `Links of the kind “${scheme}:” are not opened.` };
  let text = href;
  try {
    text = decodeURIComponent(scheme === 'file' ? new URL(href).pathname : href);
  } catch {
    // Not encoded: taken as it is.
  }
  const [, file = '', line] = /^([^#]*?)(?:(?:#L|:)(\d+)(?:[-:,].*)?)?(?:#.*)?$/.exec(text) ?? [];
  if (file === '') return { kind: 'refused', reason: 'This link leads nowhere.' };
  if (!path.isAbsolute(file) && root === undefined) return { kind: 'refused', reason: 'No folder is open.' };
  const resolved = path.isAbsolute(file) ? file : path.join(root ?? '', file);
  return { kind: 'file', path: resolved, ...(line === undefined ? {} : { line: Number(line) }) };
}
