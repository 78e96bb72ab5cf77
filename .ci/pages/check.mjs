// Opens each folder's report.html and holds what it shows against the JSON beside it.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const folder = resolve(process.argv[2]);
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

// In the page: numbers that do not say what the JSON says.
const wrongNumbers = () => {
  const wrong = [];
  const documents = {};
  for (const script of document.querySelectorAll('script[type="application/json"]')) documents[script.id] = JSON.parse(script.textContent);
  const all = document.querySelectorAll("data");
  for (const data of all) {
    const { in: id, at, scale = "1" } = data.dataset;
    const stated = at.split("/").slice(1).reduce((value, key) => value?.[key], documents[id]);
    const seen = data.textContent.split("\u00a0")[0].replaceAll("\u202f", "").replace("\u2212", "-");
    const digits = (seen.split(".")[1] || "").length;
    const off = Math.abs(Number(seen) - stated * Number(scale));
    if (Number(data.value) !== stated || !(off <= 0.5001 * 10 ** -digits)) wrong.push(`${id}${at}: ${seen} for ${stated}`);
  }
  return { wrong, count: all.length };
};

// In the page: text that is too faint for its background (WCAG 2 AA).
const faint = () => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, bottom) => [0, 1, 2].map(i => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const light = ([r, g, b]) => {
    const [R, G, B] = [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest("svg, script, style")) continue;
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const before = at.classList?.contains("over") ? at.previousElementSibling : null;
      layers.push(rgba(getComputedStyle(at).backgroundColor));
      if (before) layers.push(rgba(getComputedStyle(before).backgroundColor));
    }
    const behind = layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
    const style = getComputedStyle(element);
    const [a, b] = [light(over(rgba(style.color), behind)), light(behind)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
  }
  return [...found];
};

// In the page: what lacks a name or a place.
const nameless = () => {
  const wrong = [];
  for (const tag of ["header", "nav", "main", "footer", "h1"]) if (document.querySelectorAll(`body ${tag}`).length !== 1) wrong.push(`not one ${tag}`);
  for (const table of document.querySelectorAll("table")) if (!table.closest("figure")?.querySelector("figcaption")?.textContent.trim()) wrong.push("a table without a caption");
  for (const svg of document.querySelectorAll("svg")) if (svg.getAttribute("aria-hidden") !== "true" && !svg.querySelector("title")) wrong.push("an svg without a title");
  for (const link of document.querySelectorAll('a[href^="#"]')) if (!document.getElementById(link.getAttribute("href").slice(1))) wrong.push(`${link.href} leads nowhere`);
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`two elements #${id}`);
  return wrong;
};

// What a screen reader is told: controls and regions have names.
const unnamed = async page => {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const roles = new Set(["button", "link", "combobox", "region", "navigation", "application", "image", "img", "table"]);
  const bare = nodes.filter(node => !node.ignored && roles.has(node.role?.value) && !node.name?.value);
  return bare.map(node => node.role.value);
};

// Tab goes through everything that can be focused, and shows where it is.
const tabbing = async page => {
  await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
  const seen = [];
  for (let i = 0; i < 400; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const style = getComputedStyle(element);
      return { name: `${element.tagName}#${element.id}.${element.className}`, shown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
    });
    if (!at) break;
    assert.ok(at.shown, `focus does not show on ${at.name}`);
    seen.push(at.name);
  }
  assert.ok(seen[0]?.includes("skip"), `the first stop is ${seen[0]}`);
  return seen;
};

// The timeline answers to its keys.
const timeline = async page => {
  const plot = page.locator("#pipes .plot");
  if (await plot.count() === 0) return false;
  const axis = () => page.locator("#pipes .axis span").allTextContents();
  const whole = await axis();
  await plot.focus();
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  const near = await axis();
  assert.notDeepEqual(near, whole, "+ does not zoom");
  await page.keyboard.press("ArrowRight");
  assert.notDeepEqual(await axis(), near, "the arrow does not move");
  await page.keyboard.press("0");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("n");
  const first = await page.locator("#pipes-status").textContent();
  await page.keyboard.press("n");
  const second = await page.locator("#pipes-status").textContent();
  assert.ok(/^[A-Z0-9]+: /.test(first) && first !== second, `n says ${first}, then ${second}`);
  await page.keyboard.press("0");
  assert.deepEqual(await axis(), whole, "0 does not show all");
  await page.getByRole("button", { name: "Zoom in" }).click();
  assert.notDeepEqual(await axis(), whole, "the button does not zoom");
  await page.keyboard.press("0");
  // Every lane is reached, also past those that are empty.
  const lanes = page.locator("#pipes .lane"), reached = new Set();
  await plot.focus();
  for (let i = 0; i < await lanes.count(); i++) {
    await page.keyboard.press("ArrowDown");
    reached.add((await page.locator("#pipes-status").textContent()).split(/[: ]/)[0]);
  }
  assert.equal(reached.size, await lanes.count(), `the arrow reaches ${[...reached]}`);
  await page.keyboard.press("0");
  const lane = lanes.nth(0).locator("svg");
  await lane.scrollIntoViewIfNeeded();
  const box = await lane.boundingBox(), middle = box.y + box.height / 2;
  await page.mouse.dblclick(box.x + box.width / 2, middle);
  const close = await axis();
  assert.notDeepEqual(close, whole, "a double click does not zoom");
  await page.mouse.move(box.x, middle);
  await page.mouse.move(box.x + box.width - 1, middle, { steps: 50 });
  assert.deepEqual(await axis(), close, "pointing moves what is shown");
  return true;
};

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: flags });
for (const name of readdirSync(folder).sort()) {
  const file = join(folder, name, "report.html");
  assert.ok(existsSync(file), `${name} has no report.html`);
  assert.ok(readFileSync(file).length < 1_000_000, `${name} is too large`);
  const json = ["report.json", "plan.json"].map(json => join(folder, name, json)).find(existsSync);
  const report = JSON.parse(readFileSync(json, "utf8"));
  let seen = {};
  for (const width of [400, 1600]) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const page = await context.newPage();
      const complaints = [];
      page.on("console", message => complaints.push(message.text()));
      page.on("pageerror", error => complaints.push(error.message));
      page.on("request", request => { if (request.url() !== `file://${file}` && !request.url().startsWith("data:")) complaints.push(`asks for ${request.url()}`); });
      await page.goto(`file://${file}`);
      const { wrong, count } = await page.evaluate(wrongNumbers);
      assert.deepEqual(wrong, [], `${name}: numbers`);
      assert.ok(count > 4, `${name} shows ${count} numbers`);
      const embedded = JSON.parse(await page.locator("script#report").textContent());
      const same = (a, b) => Object.entries(a).every(([key, value]) => { assert.deepEqual(value, b[key], `${name}: ${key}`); return true; });
      // A page of many runs leaves out of each what its tables do not show.
      if (Array.isArray(embedded)) embedded.forEach((one, i) => same(one, report[i]));
      else assert.deepEqual(embedded, report, `${name}: the JSON inside`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name} is ${wide} pixels too wide at ${width}`);
      assert.deepEqual(await page.evaluate(faint), [], `${name}, ${colorScheme} at ${width}: contrast`);
      assert.deepEqual(await page.evaluate(nameless), [], `${name}: names`);
      assert.deepEqual(await unnamed(page), [], `${name}: names for screen readers`);
      if (colorScheme === "light") seen = { numbers: count, stops: (await tabbing(page)).length, timeline: await timeline(page) };
      const links = await page.locator('a:not([href^="#"])').evaluateAll(all => all.map(link => link.getAttribute("href")));
      for (const link of links) assert.ok(existsSync(join(folder, name, link)), `${name}: ${link} leads nowhere`);
      assert.deepEqual(complaints, [], `${name}: console and network`);
      await context.close();
    }
  }
  console.log(`${name}: ${seen.numbers} numbers, ${seen.stops} stops of the Tab key${seen.timeline ? ", a timeline" : ""}`);
}
await browser.close();
