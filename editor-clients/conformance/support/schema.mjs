// As much of JSON Schema as the protocol's own schema uses. A field that the schema does not name is a fault here: the
// daemon would ignore it, so the client means something that does not happen.

const kind = (value) =>
  value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;

/** What is wrong with `value`, in words; nothing when it is what `schema` says. */
export function faults(document, schema, value, at = "") {
  const place = at || "the parameters";
  if (schema === true) return [];
  if (schema.$ref) return faults(document, document.$defs[schema.$ref.replace("#/$defs/", "")], value, at);
  const found = [];
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  const is = kind(value);
  if (types && !types.includes(is) && !(is === "integer" && types.includes("number"))) {
    return [`${place} is ${JSON.stringify(value)}, not ${types.join(" or ")}`];
  }
  if (Object.hasOwn(schema, "const") && value !== schema.const) found.push(`${place} is not ${JSON.stringify(schema.const)}`);
  if (schema.enum && !schema.enum.includes(value)) found.push(`${place} is none of ${JSON.stringify(schema.enum)}`);
  if (typeof value === "number" && value < (schema.minimum ?? -Infinity)) found.push(`${place} is less than ${schema.minimum}`);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) {
    const tried = choices.map((choice) => faults(document, join(schema, choice), value, at));
    if (tried.every((wrong) => wrong.length > 0)) found.push(tried.sort((a, b) => a.length - b.length)[0].join(", or "));
    return found;
  }
  if (is === "array" && schema.items) {
    value.forEach((entry, index) => found.push(...faults(document, schema.items, entry, `${at}[${index}]`)));
  }
  if (is === "object" && (schema.properties || schema.type === "object")) {
    for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) found.push(`${place} has no ${name}`);
    for (const [name, field] of Object.entries(value)) {
      const inside = at ? `${at}.${name}` : name;
      const described = schema.properties?.[name] ?? schema.additionalProperties;
      if (described) found.push(...faults(document, described, field, inside));
      else if (schema.properties) found.push(`${inside} is no field`);
    }
  }
  return found;
}

/** Fields beside a choice belong to each of its variants. */
function join(schema, choice) {
  if (!schema.properties || !choice.properties) return choice;
  return { ...choice, properties: { ...schema.properties, ...choice.properties }, required: [...(schema.required ?? []), ...(choice.required ?? [])] };
}
