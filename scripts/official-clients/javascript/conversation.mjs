// What the clients have in common: the tool, the questions, and what the script answers.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

// The packages are in the given folder, not next to this file.
const [url, folder] = process.argv.slice(2);
const require = createRequire(path.join(folder, "here.js"));

export const URL = url;
/** The base URL of clients that add the version themselves. */
export const ROOT = url.replace(/\/v1$/, "");
export const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
};
export const DESCRIPTION = "The weather in a city.";
export const FIRST = "How is the weather in Bern and in Zürich?";
export const ANSWER = "It rains in Bern, and in Zürich the sun shines 🌞.";
export const SECOND = "And in Basel?";
export const SHORT = "Basel: fog.";
const WEATHER = { Bern: "rain", Zürich: "sun", Basel: "fog" };

export function expect(what, found, wanted) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a} where ${b} was expected`);
}

/** The tool, which runs here. */
export function run(name, { city }) {
  expect("the tool", name, "weather");
  return `${city}: ${WEATHER[city]}`;
}

/** Each call is a name and its arguments. */
export function expectCalls(calls) {
  expect("the calls", calls.map(([name, { city, days }]) => [name, city, days]), [
    ["weather", "Bern", 2],
    ["weather", "Zürich", 2],
  ]);
}

export function expectBasel(calls) {
  expect("the call", calls.map(([name, { city, days }]) => [name, city, days]), [["weather", "Basel", 1]]);
}

/** Expects that a request beyond the script is refused, and returns the error. */
export async function refused(request) {
  try {
    await request();
  } catch (error) {
    return error;
  }
  throw new Error("a request beyond the script was answered");
}

export function done(name, protocol) {
  const { version } = JSON.parse(readFileSync(path.join(folder, "node_modules", name, "package.json")));
  console.log(`${name} ${version} for JavaScript, ${protocol}: a conversation with tools, streamed and whole`);
}
