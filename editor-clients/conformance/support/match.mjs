// The words of a case's messages: `${name}`, `{"$any": …}` and `{"$optional": …}`. README.md says what they mean.

const WHOLE = /^\$\{(\w+)\}$/;
const EACH = /\$\{(\w+)\}/g;

const kind = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const only = (value, word) => kind(value) === "object" && Object.hasOwn(value, word);

/** What the names of a case stand for: its samples, until the other side says otherwise. */
export class Values {
  constructor(samples = {}, known = {}) {
    this.samples = samples;
    this.known = { ...known };
  }

  get(name) {
    const value = this.known[name] ?? this.samples[name];
    if (value === undefined) throw new Error(`the case has no value for \${${name}}`);
    return value;
  }

  /** A message as it is sent. */
  fill(value) {
    if (kind(value) === "string") {
      const whole = WHOLE.exec(value);
      return whole ? this.get(whole[1]) : value.replace(EACH, (_, name) => this.get(name));
    }
    if (kind(value) === "array") return value.map((entry) => this.fill(entry));
    if (kind(value) !== "object") return value;
    if (only(value, "$any")) return this.fill(value.$any);
    if (only(value, "$optional")) return this.fill(value.$optional);
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, this.fill(field)]));
  }
}

/** In what `found` differs from `wanted`, in words. Names that are not known yet are known afterwards. */
export function compare(wanted, found, values, at = "") {
  const place = at || "the parameters";
  if (only(wanted, "$optional")) return found === undefined ? [] : compare(wanted.$optional, found, values, at);
  if (found === undefined) return [`${place} is missing`];
  if (only(wanted, "$any")) {
    const sample = values.fill(wanted.$any);
    return kind(sample) === kind(found) ? [] : [`${place} is ${JSON.stringify(found)}, not a value such as ${JSON.stringify(sample)}`];
  }
  const whole = kind(wanted) === "string" && WHOLE.exec(wanted);
  if (whole && values.known[whole[1]] === undefined) {
    values.known[whole[1]] = found;
    return [];
  }
  if (kind(wanted) === "object" && kind(found) === "object") {
    return Object.entries(wanted).flatMap(([key, field]) => compare(field, found[key], values, at ? `${at}.${key}` : key));
  }
  if (kind(wanted) === "array" && kind(found) === "array" && wanted.length === found.length) {
    return wanted.flatMap((entry, index) => compare(entry, found[index], values, `${at}[${index}]`));
  }
  const filled = values.fill(wanted);
  return JSON.stringify(filled) === JSON.stringify(found) ? [] : [`${place} is ${JSON.stringify(found)}, not ${JSON.stringify(filled)}`];
}
