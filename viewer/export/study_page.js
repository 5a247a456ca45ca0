// All members of a study beside the moving picture: what its plots and its table have in common, and the page's address.
"use strict";
const studyPage = (study, bytes, player) => {
  const $ = (id) => document.getElementById(id);
  const AXES = innerWidth < 700 ? 4 : 7; // at first
  const columns = studyColumns(study, bytes), brush = studyBrush(columns), colours = studyColours(study.ramp, columns);
  let unstarted = new Set(study.unstarted), waiting = ""; // what is said of a member that the server was asked for
  const rowOfName = (name) => columns.rowOf.get(Number(name)) ?? -1;
  const motions = new Set(player.names.map(rowOfName).filter((row) => row >= 0));
  let current = -1, x, y, axes = [];

  const page = {
    current: () => current,
    moving: () => motions,
    moves: (row) => motions.has(row),
    choose(row) {
      const name = String(columns.members[row]);
      [current, waiting] = [row, ""];
      if (motions.has(row)) player.choose(name); // it answers with `solid`
      else if (player.fetch && !unstarted.has(row)) player.fetch(name); // and with `waits`, `comes`
      told();
      for (const view of [scatter, parallel]) view.marks();
      table.reveal(row);
      page.changed();
    },
    hover(row, holder, at) {
      for (const view of [scatter, parallel, table]) view.hover(row);
      tip(row, holder, at);
    },
    colourBy(column) {
      colours.by(column);
      $("colour").value = column.name;
      redraw();
      page.changed();
    },
    changed: () => player.changed(),
  };
  const scatter = studyScatter($("scatter-plot"), columns, brush, colours, page);
  const parallel = studyParallel($("axes-plot"), columns, brush, colours, page);
  const table = studyTable($("table"), columns, brush, colours, page);
  const redraw = () => { scatter.draw(); parallel.draw(); table.draw(); };

  // -- words ----------------------------------------------------------------------------------------------------------

  const many = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const todo = (row) => unstarted.has(row) ? "It never made a step, so that there is no motion."
    : player.fetch ? waiting : `Its motion is not in this page; to have one with it: shiftjax export ${study.store} --html PAGE.html --member ${columns.members[row]}`;
  const told = () => {
    const where = $("current"), outcome = columns.outcome(current);
    where.classList.toggle("failed", Boolean(outcome && outcome.failed));
    const reason = current < 0 ? "" : columns.reason(current).trim().replace(/\.$/, "");
    where.textContent = current < 0 ? "" : [`Member ${columns.members[current]}, ${outcome.name}${reason ? ": " + reason : ""}.`,
      motions.has(current) ? "" : todo(current)].filter(Boolean).join(" ");
  };
  const tip = (row, holder, at) => {
    $("tip").hidden = row < 0 || !at;
    if ($("tip").hidden) return;
    const outcome = columns.outcome(row), lines = new Map([x, y, colours.column].map((c) => [c, `${c.label}: ${c.text(c.value(row))} ${c.unit}`]));
    $("tip").replaceChildren(...[`Member ${columns.members[row]}, ${outcome.name}`, ...lines.values()].map((text) => {
      const p = document.createElement("p");
      p.textContent = text;
      return p;
    }));
    const box = holder.getBoundingClientRect(), { offsetWidth: wide, offsetHeight: high } = $("tip");
    $("tip").style.left = `${Math.max(4, Math.min(box.left + at[0] + 14, innerWidth - wide - 4))}px`;
    $("tip").style.top = `${Math.max(4, Math.min(box.top + at[1] + 14, innerHeight - high - 4))}px`;
  };
  const chip = (text, title, act) => {
    const button = document.createElement("button");
    Object.assign(button, { className: "chip", textContent: text, title });
    button.addEventListener("click", act);
    return button;
  };
  const head = () => {
    const all = columns.count === study.total;
    $("study-total").textContent = all ? `${many(study.total)} members` : `${many(columns.count)} of ${many(study.total)} members, drawn at random`;
    const ended = columns.named.get("status"), last = Math.max(columns.outcomes.length - 1, 1);
    $("outcomes").replaceChildren(...columns.outcomes.map((outcome, k) => {
      const one = columns.outcomes.length > 1 ? k / last : 0.5, on = () => { const r = brush.range(ended); return r && r[0] === one && r[1] === one; };
      const made = chip(`${many(outcome.count)} ${outcome.name}`, `${all ? "" : "of all members; "}choose those; ${outcome.cause}`,
        () => brush.set(ended, on() ? null : [one, one]));
      made.classList.add(outcome.failed ? "failed" : outcome.warned ? "warned" : "good");
      made.setAttribute("aria-pressed", Boolean(on()));
      return made;
    }));
    $("chosen").textContent = brush.active ? `${many(brush.count)} chosen` : "";
    $("chips").replaceChildren(...brush.chips().map(({ column, text }) => chip(`${text} ✕`, "let go", () => brush.set(column, null))));
    $("brushed").hidden = $("clear").hidden = !brush.active;
  };

  // -- what is shown --------------------------------------------------------------------------------------------------

  const shown = () => { // the columns of the plots, to the lists and the plots
    $("across").value = x.name;
    $("up").value = y.name;
    scatter.of(x, y);
    parallel.of(axes);
    for (const box of $("axis-list").querySelectorAll("input")) box.checked = axes.includes(columns.named.get(box.value));
  };
  const offer = (id, act) => {
    for (const column of columns.all) $(id).add(new Option(column.title, column.name));
    $(id).addEventListener("change", () => { act(columns.named.get($(id).value)); page.changed(); });
  };
  const listAxes = () => {
    for (const column of columns.all) {
      const label = document.createElement("label"), box = Object.assign(document.createElement("input"), { type: "checkbox", value: column.name });
      label.append(box, " " + column.title);
      $("axis-list").append(label);
      box.addEventListener("change", () => {
        axes = columns.all.filter((one) => one === column ? box.checked : axes.includes(one));
        shown();
        page.changed();
      });
    }
  };
  const tab = (name) => {
    document.body.dataset.tab = name;
    for (const button of $("tabs").children) button.setAttribute("aria-selected", button.dataset.tab === name);
    if (name === "table") table.reveal(current);
  };
  const reset = () => {
    const of = (role) => columns.all.filter((column) => column.role === role);
    const design = of("design"), metrics = of("metric"), rest = of("certificate"), use = [...design, ...metrics, ...rest, ...columns.all];
    [x, y] = design.length > 1 ? design : [...design, ...metrics, ...use].slice(0, 2);
    colours.by(metrics[0] || rest[0] || use[0]);
    const half = Math.max(AXES - Math.min(metrics.length, Math.ceil(AXES / 2)), 1); // metrics have half of the axes
    axes = [...design.slice(0, half), ...metrics.slice(0, AXES - Math.min(design.length, half))];
    if (axes.length < 2) axes = use.slice(0, 4);
  };

  // -- the address: columns, ranges, order, member; the player adds time and view -----------------------------------------

  const write = (wish) => {
    for (const [key, value] of [["x", x.name], ["y", y.name], ["colour", colours.column.name], ["sort", table.sorting()],
      ["tab", document.body.dataset.tab]]) wish.set(key, value);
    for (const column of axes) wish.append("axis", column.name);
    for (const text of brush.written()) wish.append("brush", text);
    if (table.only) wish.set("only", "1");
    if (current >= 0) wish.set("member", columns.members[current]);
  };
  const read = (wish) => {
    const named = (key) => columns.named.get(wish.get(key));
    reset();
    [x, y] = [named("x") || x, named("y") || y];
    colours.by(named("colour") || colours.column);
    $("colour").value = colours.column.name;
    const asked = wish.getAll("axis").map((name) => columns.named.get(name)).filter(Boolean);
    if (asked.length) axes = asked;
    table.only = wish.get("only") === "1";
    const sort = wish.get("sort") || "member", falling = sort.startsWith("-") && !columns.named.has(sort);
    shown();
    brush.read(wish.getAll("brush"));
    table.sort(columns.named.get(falling ? sort.slice(1) : sort) || columns.all[0], falling);
    tab(["scatter", "axes", "table"].find((name) => name === wish.get("tab")) || "scatter");
    const row = wish.has("member") ? rowOfName(wish.get("member")) : -1;
    if (row >= 0) page.choose(row);
  };

  offer("across", (column) => { x = column; shown(); });
  offer("up", (column) => { y = column; shown(); });
  offer("colour", (column) => page.colourBy(column));
  listAxes();
  brush.listen(() => {
    head();
    scatter.front();
    parallel.front();
    table.list();
    const within = [...motions].filter((row) => brush.mask[row]).map((row) => String(columns.members[row]));
    player.ghosts(brush.active ? within : null);
    page.changed();
  });
  $("clear").addEventListener("click", () => brush.clear());
  for (const button of $("tabs").children) button.addEventListener("click", () => { tab(button.dataset.tab); page.changed(); });
  addEventListener("pointerdown", (e) => { if (!$("which").contains(e.target)) $("which").open = false; });
  return {
    read, write,
    waits(name, text) { // what the server says of a member, until it comes
      if (rowOfName(name) !== current) return;
      waiting = text;
      told();
    },
    comes(name) { // its motion is in this page from now on
      motions.add(rowOfName(name));
      told();
      table.draw();
    },
    leaves(name) { motions.delete(rowOfName(name)); table.draw(); },
    renew(fresh, block) { // more members have run
      const ranges = brush.written(), words = columns.outcomes.map((outcome) => outcome.name);
      columns.renew(fresh, block);
      unstarted = new Set(fresh.unstarted);
      colours.by(colours.column);
      table.again();
      shown();
      brush.read(ranges.map((text) => { // outcomes have other places where there are more of them
        const [name, low, high] = text.split("~"), chosen = words.slice(Math.round(low), Math.round(high) + 1);
        const at = columns.outcomes.flatMap((outcome, k) => chosen.includes(outcome.name) ? [k] : []);
        return name === "status" ? [name, at[0], at[at.length - 1]].join("~") : text;
      }));
      told();
    },
    solid(name) { // the player shows another member
      const row = rowOfName(name); // of no design of the reader's
      if (row === current || (row < 0 && name !== "design")) return;
      current = row;
      told();
      for (const view of [scatter, parallel]) view.marks();
      if (row >= 0) table.reveal(row);
    },
  };
};
