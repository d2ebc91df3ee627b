// Makes `plimsoll.ts` from the committed JSON Schema. `node generate.mjs` writes it; with `--check` it only says whether
// what is there is what would be written, by its exit code.
//
// A protocol test compares the hash in the file's head with the schema's, so that a stale file fails without Node.

import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const SCHEMA = new URL("../schema/plimsoll.schema.json", import.meta.url);
const TYPES = new URL("plimsoll.ts", import.meta.url);

/** FNV-1a of 64 bits, as 16 hexadecimal digits: what `tests/contract/typescript.rs` computes, too. */
function fingerprint(bytes) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash.toString(16).padStart(16, "0");
}

/** `session/setMode` is `SessionSetMode`. */
const pascal = (method) => method.replace(/(^|\/)(.)/g, (_, __, first) => first.toUpperCase());

/** The name of the type that a `$ref` leads to. */
const target = (schema) => schema.$ref?.replace("#/$defs/", "");

/**
 * Names that say what they are: the schema numbers types of one name (`ListParams3`), by the order in which methods were
 * added. Parameters and results that one method alone has are called by it.
 */
function names(document) {
  const users = new Map();
  for (const [method, parts] of Object.entries(document.methods)) {
    for (const [part, word] of [["params", "Params"], ["result", "Result"]]) {
      const name = target(parts[part]);
      if (name) users.set(name, [...(users.get(name) ?? []), pascal(method) + word]);
    }
  }
  const renamed = new Map();
  for (const name of Object.keys(document.$defs)) {
    const [only, ...others] = users.get(name) ?? [];
    const generic = /(Params|Result)\d*$/.test(name);
    renamed.set(name, only && others.length === 0 && generic ? only : name);
  }
  const taken = [...renamed.values()];
  const twice = taken.find((name, at) => taken.indexOf(name) !== at);
  if (twice) throw new Error(`two types would be called ${twice}`);
  return renamed;
}

/** A word that this build does not know, beside the words that it does. */
const isOther = (variant) => variant.type === "string" && variant.const === undefined;

/** The last variant of a union that stands for those which a newer daemon may add. */
const isUnknown = (variant) =>
  Object.values(variant.properties ?? {}).some((property) => property.const === "unknown") &&
  variant.required?.length === 1;

/** The schema in the words of the generator. */
function adapt(schema, renamed) {
  if (Array.isArray(schema)) return schema.map((entry) => adapt(entry, renamed));
  if (schema === null || typeof schema !== "object") return schema;
  const made = {};
  for (const [key, value] of Object.entries(schema)) {
    // By name: the generator would repeat a definition for each field that describes it in its own words.
    if (key === "$ref") made.tsType = renamed.get(target(schema));
    else if (key === "properties") {
      made.properties = Object.fromEntries(Object.entries(value).map(([name, of]) => [name, adapt(of, renamed)]));
    } else if (!["format", "minimum", "maximum", "default"].includes(key)) made[key] = adapt(value, renamed);
  }
  if (made.anyOf?.some((variant) => variant.const !== undefined || variant.tsType)) {
    // So that editors still offer the known words.
    made.anyOf = made.anyOf.map((variant) => (isOther(variant) ? { ...variant, tsType: "(string & {})" } : variant));
  }
  // With the unknown one in it a union would not be told apart by its tag: clients ignore what they don't know.
  if (made.oneOf) made.oneOf = made.oneOf.filter((variant) => !isUnknown(variant));
  if (Object.keys(made).every((key) => key === "description")) made.tsType = "unknown";
  if (made.properties || made.type === "object") made.additionalProperties ??= false;
  // Fields that all variants have stand beside the variants; the generator would leave them out.
  if (made.properties && made.oneOf) {
    const { oneOf, description, ...common } = made;
    return { description, allOf: [common, { oneOf }] };
  }
  return made;
}

function doc(text) {
  return `/**\n * ${text.replaceAll("\n", "\n * ")}\n */\n`;
}

async function types(bytes) {
  const document = JSON.parse(bytes);
  const renamed = names(document);
  const of = (schema) =>
    target(schema) ? renamed.get(target(schema)) : { string: "string", boolean: "boolean" }[schema.type];
  const definitions = {};
  for (const [name, schema] of Object.entries(document.$defs)) definitions[renamed.get(name)] = adapt(schema, renamed);
  const body = await compile({ $defs: definitions }, "Unused", {
    bannerComment: "",
    unreachableDefinitions: true,
    additionalProperties: false,
    strictIndexSignatures: true,
    style: { printWidth: 120 },
  });

  const parts = [
    "// Made by `node generate.mjs` from ../schema/plimsoll.schema.json: change the Rust types, not this file.",
    `// schema: ${fingerprint(bytes)}\n`,
    doc("The version of the protocol that these types describe.") +
      `export const PROTOCOL_VERSION = ${JSON.stringify(document.protocolVersion)};\n`,
    doc("The JSON-RPC code of each error kind.") +
      `export const ERROR_CODES = {\n${document.errorCodes
        .map(({ code, kind }) => `  ${kind}: ${code},`)
        .join("\n")}\n} as const;\n`,
    doc("Parameters and result of every method.") +
      `export interface Methods {\n${Object.entries(document.methods)
        .map(([method, { params, result }]) => `  "${method}": { params: ${of(params)}; result: ${of(result)} };`)
        .join("\n")}\n}\n`,
    doc("The name of a method.") + "export type MethodName = keyof Methods;\n",
    doc("Parameters of a method.") + 'export type ParamsOf<M extends MethodName> = Methods[M]["params"];\n',
    doc("Result of a method.") + 'export type ResultOf<M extends MethodName> = Methods[M]["result"];\n',
    doc("Parameters of every notification that the daemon sends.") +
      `export interface Notifications {\n${Object.entries(document.notifications)
        .map(([name, { params }]) => {
          const fields = Object.entries(params.properties).map(([field, schema]) => `${field}: ${of(schema)}`);
          return `  "${name}": { ${fields.join("; ")} };`;
        })
        .join("\n")}\n}\n`,
    doc("The tag of an event. A newer daemon may send others: ignore them, but count their `seq`.") +
      'export type EventType = SessionEvent["type"];\n',
    doc("An event of one type.") +
      "export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;\n",
    doc("The tag of an item. A newer daemon may send others: ignore them.") +
      'export type ItemKind = Item["kind"];\n',
    doc("An item of one kind.") + "export type ItemOf<K extends ItemKind> = Extract<Item, { kind: K }>;\n",
    body
      .replace(/export interface Unused \{[^}]*\}\n/, "")
      .replace(/ \*\n \* This interface was referenced by `Unused`'s JSON-Schema\n \* via the `definition` ".*"\.\n/g, "")
      .trim() + "\n",
  ];
  return parts.join("\n");
}

const made = await types(readFileSync(SCHEMA));
if (process.argv.includes("--check")) {
  if (readFileSync(TYPES, "utf8") !== made) {
    console.error("protocol/typescript/plimsoll.ts is not what the schema says: run `bash protocol/typescript/run`");
    process.exit(1);
  }
} else {
  writeFileSync(TYPES, made);
}
