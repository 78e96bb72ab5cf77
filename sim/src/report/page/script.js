"use strict";
(() => {
  const json = id => {
    const element = document.getElementById(id);
    return element && JSON.parse(element.textContent);
  };

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      const said = document.getElementById("copied");
      try {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
        said.textContent = "Copied.";
      } catch {
        said.textContent = "The browser does not allow that; select the text instead.";
      }
    });
  }

  const figure = document.getElementById("pipes");
  const run = json("run");
  if (!figure || !run) return;

  // Times are in tenths of a nanosecond.
  const us = time => (time / 1e4).toFixed(time < 1e6 ? 3 : 2) + "\u00a0µs";
  const lanes = [...figure.querySelectorAll(".lane")];
  const plot = figure.querySelector(".plot");
  const status = document.getElementById("pipes-status");
  const select = document.getElementById("pipes-core");
  const ends = figure.querySelectorAll(".axis span");
  const least = 200;

  // Blocks with their own start and end, from gaps and lengths.
  const unpack = blocks => {
    let at = 0;
    return blocks.map(block => {
      const start = at + block[0], end = start + block[1];
      at = end;
      const length = Math.max(block[1], 1);
      if (block.length === 5) return { start, end, busy: block[2] / length, waits: block[3] / length, count: block[4] };
      const waits = block[2] < 0;
      return { start, end, busy: waits ? 0 : 1, waits: waits ? 1 : 0, count: 1, node: waits ? ~block[2] : block[2] };
    });
  };
  const cores = run.timelines.map(core => lanes.map(lane => unpack(core.lanes[lane.dataset.lane])));

  let view = { core: 0, from: run.timelines[0].from, to: run.timelines[0].until };
  let chosen = null; // { lane, block }
  let current = -1; // The lane that was reached last, which may have no block.

  const from = () => run.timelines[view.core].from, until = () => run.timelines[view.core].until;
  const blocksOf = lane => cores[view.core][lane];
  // The first block that ends behind a time.
  const first = (blocks, time) => {
    let low = 0, high = blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (blocks[middle].end <= time) low = middle + 1; else high = middle;
    }
    return low;
  };

  const area = (blocks, what, width, scale) => {
    const columns = new Float64Array(width + 1);
    let gaps = "";
    for (let i = first(blocks, view.from); i < blocks.length && blocks[i].start < view.to; i++) {
      const block = blocks[i], share = block[what];
      if (share === 0) continue;
      const from = Math.max(0, (block.start - view.from) * scale), to = Math.min(width, (block.end - view.from) * scale);
      // Wide blocks stand apart, by less than would look like a wait.
      if (to - from > 12) {
        const h = Math.round(100 * Math.min(1, share));
        gaps += `M${from.toFixed(1)} 100v-${h}H${(to - 0.5).toFixed(1)}v${h}z`;
        continue;
      }
      for (let x = Math.floor(from); x < to; x++) columns[x] += share * (Math.min(to, x + 1) - Math.max(from, x));
    }
    let path = "";
    for (let x = 0; x < width;) {
      const h = Math.round(100 * Math.min(1, columns[x]));
      let next = x + 1;
      while (next < width && Math.round(100 * Math.min(1, columns[next])) === h) next++;
      if (h > 0) path += `M${x} 100v-${h}h${next - x}v${h}z`;
      x = next;
    }
    return path + gaps;
  };

  const says = block => {
    const span = `${us(block.start)} to ${us(block.end)}, ${us(block.end - block.start)}`;
    if (block.count > 1) return `${block.count} instructions, ${span}; busy ${(100 * block.busy).toFixed(0)} %, waiting ${(100 * block.waits).toFixed(0)} %`;
    const [, text, place] = run.names[block.node] || ["", "instruction", ""];
    return `${block.waits ? "waits: " : ""}${text}, ${span} (${place})`;
  };

  const draw = () => {
    const width = Math.max(100, Math.round(lanes[0].querySelector("svg").clientWidth));
    const scale = width / (view.to - view.from);
    lanes.forEach((lane, i) => {
      const svg = lane.querySelector("svg"), [waits, busy] = svg.querySelectorAll("path"), marks = svg.querySelector("g");
      const blocks = blocksOf(i);
      svg.setAttribute("viewBox", `0 0 ${width} 100`);
      waits.setAttribute("d", area(blocks, "waits", width, scale).replaceAll(/100v-(\d+)/g, (_, h) => `100v-${h / 5}`).replaceAll(/v(\d+)z/g, (_, h) => `v${h / 5}z`));
      busy.setAttribute("d", area(blocks, "busy", width, scale));
      lane.classList.toggle("chosen", !!chosen && chosen.lane === i);
      marks.replaceChildren();
      if (chosen && chosen.lane === i) {
        const block = blocks[chosen.block];
        const from = Math.max(0, (block.start - view.from) * scale), to = Math.min(width, (block.end - view.from) * scale);
        if (to >= 0 && from <= width) {
          const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
          mark.setAttribute("class", "chosen");
          mark.setAttribute("x", from);
          mark.setAttribute("y", 1);
          mark.setAttribute("width", Math.max(2, to - from));
          mark.setAttribute("height", 98);
          marks.append(mark);
        }
      }
    });
    ends[0].textContent = us(view.from);
    ends[1].textContent = us(view.to);
  };

  const clamp = (start, span) => {
    const whole = until() - from();
    span = Math.min(Math.max(span, Math.min(least, whole)), whole);
    view.from = Math.min(Math.max(from(), start), until() - span);
    view.to = view.from + span;
    draw();
  };
  const shown = () => { status.textContent = `Shown: ${us(view.from)} to ${us(view.to)} of ${us(from())} to ${us(until())}.`; };
  const zoom = (factor, at) => {
    const span = view.to - view.from;
    const time = view.from + span * at;
    clamp(time - span * factor * at, span * factor);
    shown();
  };
  const move = part => { clamp(view.from + part * (view.to - view.from), view.to - view.from); shown(); };
  const all = () => { chosen = null; current = -1; clamp(from(), until() - from()); shown(); };
  // A block that is pointed at is seen where it is; one that keys reach may be out of sight.
  const choose = (lane, block, isSeen) => {
    const blocks = blocksOf(lane);
    current = lane;
    if (blocks.length === 0) { status.textContent = `${lanes[lane].dataset.lane.toUpperCase()} does nothing.`; chosen = null; draw(); return; }
    chosen = { lane, block: Math.min(Math.max(0, block), blocks.length - 1) };
    const { start, end } = blocks[chosen.block];
    if (!isSeen && (start < view.from || end > view.to)) {
      const span = Math.max(view.to - view.from, 1.5 * (end - start));
      clamp((start + end - span) / 2, span);
    } else draw();
    status.textContent = `${lanes[lane].dataset.lane.toUpperCase()}: ${says(blocks[chosen.block])}`;
  };
  const step = by => {
    if (!chosen) { const lane = Math.max(0, current); choose(lane, first(blocksOf(lane), view.from)); return; }
    choose(chosen.lane, chosen.block + by);
  };
  const lane = by => {
    const next = current < 0 ? 0 : (current + by + lanes.length) % lanes.length;
    const time = chosen ? blocksOf(chosen.lane)[chosen.block].start : view.from;
    choose(next, first(blocksOf(next), time));
  };

  const actions = { in: () => zoom(0.5, 0.5), out: () => zoom(2, 0.5), left: () => move(-0.25), right: () => move(0.25), all };
  for (const button of figure.querySelectorAll("[data-do]")) button.addEventListener("click", actions[button.dataset.do]);
  select.addEventListener("change", () => { view.core = Number(select.value); all(); });

  const keys = {
    "+": actions.in, "=": actions.in, "-": actions.out, "ArrowLeft": actions.left, "ArrowRight": actions.right, "0": all, "Home": () => { clamp(from(), view.to - view.from); shown(); },
    "End": () => { clamp(until(), view.to - view.from); shown(); }, "ArrowUp": () => lane(-1), "ArrowDown": () => lane(1), "n": () => step(1), "p": () => step(-1),
  };
  plot.tabIndex = 0;
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-roledescription", "timeline");
  plot.setAttribute("aria-describedby", "pipes-keys");
  plot.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  // Where a pointer is: the share of the lane's width, and the lane.
  const share = event => {
    const box = lanes[0].querySelector("svg").getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const laneAt = event => document.elementFromPoint(event.clientX, event.clientY)?.closest(".lane svg");
  let grip = null;
  plot.addEventListener("pointerdown", event => {
    if (event.button !== 0 || !event.target.closest(".lane svg")) return;
    grip = { x: event.clientX, from: view.from, moved: false };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", event => {
    const svg = laneAt(event);
    if (grip) {
      const width = lanes[0].querySelector("svg").getBoundingClientRect().width;
      grip.moved ||= Math.abs(event.clientX - grip.x) > 3;
      if (grip.moved) clamp(grip.from - (event.clientX - grip.x) / width * (view.to - view.from), view.to - view.from);
    } else if (svg) {
      const i = lanes.indexOf(svg.closest(".lane")), blocks = blocksOf(i);
      const time = view.from + share(event) * (view.to - view.from), at = first(blocks, time);
      if (at < blocks.length && blocks[at].start <= time) choose(i, at, true);
    }
  });
  const drop = () => { if (grip?.moved) shown(); grip = null; };
  plot.addEventListener("pointerup", drop);
  plot.addEventListener("pointercancel", drop);
  // Who holds the pointer is the target of its clicks.
  plot.addEventListener("dblclick", event => { if (laneAt(event)) zoom(0.25, share(event)); });
  plot.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, share(event));
  }, { passive: false });

  figure.querySelector(".tools").hidden = false;
  figure.querySelector(".keys").hidden = false;
  new ResizeObserver(draw).observe(plot);
  draw();
  shown();
})();
