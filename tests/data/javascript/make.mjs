// What JavaScript answers for inputs.json. Run: TZ=UTC node make.mjs > outputs.json
import fs from "node:fs";

const inputs = JSON.parse(fs.readFileSync(new URL("inputs.json", import.meta.url), "utf8"));

function date(text) {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : [ms, new Date(ms).toISOString()];
}

function json(base64) {
  try {
    const text = Buffer.from(base64, "base64").toString("utf8");
    return Buffer.from(JSON.stringify(JSON.parse(text))).toString("base64");
  } catch {
    return null;
  }
}

// The rules of titles, in the words of JavaScript's own regular expressions.
function normalize(text, limit) {
  const clean = text
    .replace(/\u001b\][^\u0007]*(?:\u0007|\u001b\\)/g, "")
    .replace(/\u001b\[[0-?]*[ -/]*[@-~]/g, "")
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "")
    .replace(/\s+/g, " ")
    .trim();
  let kept = "";
  let size = 0;
  for (const point of clean) {
    size += Buffer.byteLength(point);
    if (size > limit) break;
    kept += point;
  }
  return kept.trim();
}

const fallback = (text) =>
  normalize(normalize(text, 96).split(" ").slice(0, 8).join(" "), 96);

process.stdout.write(
  JSON.stringify(
    {
      node: process.version,
      dates: inputs.dates.map(date),
      json: inputs.json.map(json),
      titles: inputs.titles.map((text) => [normalize(text, 120), fallback(text)]),
    },
    null,
    0,
  ) + "\n",
);
