// Offsets on the wire are bytes of UTF-8; texts here are strings.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** `text` put at byte `offset` of `have`. What `have` has already stays; where they differ the newer one is right. */
export function splice(have: string, offset: number, text: string): string {
  const known = encoder.encode(have);
  if (offset >= known.length) return have + text;
  const kept = decoder.decode(known.subarray(0, Math.max(0, offset)));
  const rest = decoder.decode(known.subarray(Math.max(0, offset)));
  return rest.startsWith(text) ? have : kept + text;
}

/** The end of `text`, at most `limit` UTF-16 units of it, not beginning inside a character. */
export function tail(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = text.slice(-limit);
  return /^[\udc00-\udfff]/.test(end) ? end.slice(1) : end;
}
