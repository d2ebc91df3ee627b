// Makes elements. Texts become text nodes, never markup.

type Child = Node | string | false | null | undefined;
type Properties = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** An element: `class` and names with a dash are attributes, functions are listeners, the rest are properties. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value as EventListener);
    else if (name === 'class') element.className = String(value);
    else if (name.includes('-') || name === 'role') element.setAttribute(name, String(value));
    else (element as unknown as Record<string, unknown>)[name] = value;
  }
  element.append(...children.filter((child): child is Node | string => child !== false && child != null && child !== ''));
  return element;
}

/** Small pictures, as paths in a square of 16. */
const PATHS = {
  send: 'M2 2.5 14.5 8 2 13.5V9.2L9 8 2 6.8z',
  stop: 'M4 4h8v8H4z',
  check: 'M13.4 4.1 6.5 11.9 2.6 8.3l.9-1 2.9 2.7 6-6.8z',
  cross: 'm4.2 3.3 3.8 3.8 3.8-3.8.9.9L8.9 8l3.8 3.8-.9.9L8 8.9l-3.8 3.8-.9-.9L7.1 8 3.3 4.2z',
  denied: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2m0 1.3c1 0 2 .3 2.800.9L4.200 10.800A4.700 4.700 0 0 1 8 3.300m0 9.400c-1 0-2-.3-2.800-.9l6.600-6.600A4.700 4.700 0 0 1 8 12.700',
  question: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2m0 1.300a4.700 4.700 0 1 1 0 9.400 4.700 4.700 0 0 1 0-9.400M7.400 10.300h1.200v1.200H7.400zM8 4.500c-1.200 0-2.100.8-2.200 1.900H7c.1-.5.5-.8 1-.8s1 .4 1 .9c0 .4-.2.6-.700 1-.6.4-.9.800-.9 1.500v.3h1.200v-.2c0-.4.2-.6.700-1 .5-.3.900-.8.900-1.600 0-1.200-.9-2-2.200-2',
  dot: 'M8 5.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5',
  down: 'M8 10.900 3.100 6l.9-.9 4 4 4-4 .9.9z',
  shield: 'M8 1.500 13 3.400v4.100c0 3.200-2.100 5.700-5 7-2.900-1.300-5-3.800-5-7V3.400zm0 1.400L4.300 4.300v3.200c0 2.400 1.500 4.400 3.700 5.500 2.200-1.100 3.700-3.100 3.700-5.500V4.300z',
} as const;
export type Picture = keyof typeof PATHS;

export function icon(picture: Picture): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', PATHS[picture]);
  svg.append(path);
  return svg;
}
