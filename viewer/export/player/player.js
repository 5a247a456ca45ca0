// Plays the members of this page with WebGL2: time line, choice of members, keys, the address. Of a page that a server
// gives, further members come when they are asked for.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const state = (word) => { document.body.dataset.state = word; };
  const fail = (text) => {
    $("message").textContent = text;
    $("message").hidden = false;
    $("bar").hidden = true;
    state("failed");
  };
  addEventListener("error", (e) => fail("This page's player has stopped: " + e.message));

  // -- data: arrays stand in one block of bytes, as offset and length --------------------------------------------------

  const data = JSON.parse($("data").textContent);
  const bytes = (() => {
    const text = atob($("binary").textContent);
    const block = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) block[i] = text.charCodeAt(i);
    return block.buffer;
  })();
  const arraysOf = (block) => ({ floats: ([offset, length]) => new Float32Array(block, offset, length / 4),
    numbers: ([offset, length]) => new Uint32Array(block, offset, length / 4) });
  const server = data.served ? servedStudy(data.served) : null;
  const source = server || (data.runs ? simulatedStudy(data.runs, bytes) : null); // of the motion of further members
  const MOST = 48; // members in memory, where further ones come when they are asked for
  const everyTime = arraysOf(bytes).floats(data.time), last = everyTime[everyTime.length - 1];
  const { before, places } = playerMotion(data.nodes);
  const members = []; // with `times`, `poses`, `parts`, `springs` and whether they are `shown`
  let solidOne = null, study = null, sliders = null; // the solid member; the plots and the table of a study, and those of a design

  const canvas = $("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
  if (!gl) {
    fail("This page shows a moving picture with WebGL2, which this browser does not offer or has switched off.\n" +
      "Open it with a current Firefox, Chrome, Edge or Safari, with hardware acceleration on.");
    const alone = (given, block) => { // its plots and its table need no WebGL
      document.body.classList.add("with-study");
      const nothing = () => {}, names = data.members.map((m) => m.name);
      studyPage(given, block, { names, choose: nothing, ghosts: nothing, changed: nothing })
        .read(new URLSearchParams(location.hash.slice(1)));
    };
    if (data.study) alone(data.study, bytes);
    if (server) server.study().then((given) => given.data.study && alone(given.data.study, given.bytes), (e) => fail(e.message));
    return;
  }

  // -- the picture -----------------------------------------------------------------------------------------------------

  const options = { grid: true };
  const focus = () => solidOne.shown ? solidOne : members.find((m) => m.shown) || members[0]; // where it is switched off
  const draw = () => {
    const shown = members.filter((m) => m.shown), solid = focus(), nodes = places(solid, clock.t);
    camera.follow(nodes, solid.moving);
    const ghosts = shown.filter((m) => m !== solid).map((m) => [m, places(m, clock.t)]);
    picture.draw({ solid, nodes, ghosts, any: shown.length > 0, camera, grid: options.grid });
  };
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame((stamp) => {
      waiting = false;
      if (clock.playing) advance(stamp);
      draw();
      if (clock.playing) redraw();
    });
  };
  const picture = playerPicture(gl, data, redraw), camera = playerCamera(canvas, data, redraw);
  const adopted = (motion, block) => { // the members of a block, of this page or of an answer of its server
    const arrays = arraysOf(block), meshes = picture.buffered(motion.meshes, arrays), times = arrays.floats(motion.time);
    const casts = motion.casts.map((cast) => cast.map((part) => ({ ...part, mesh: meshes[part.mesh] })));
    return motion.members.map((m) => ({ name: m.name, times, poses: arrays.floats(m.poses), parts: casts[m.cast], meshes,
      springs: motion.springs[m.cast], shown: false,
      moving: [...new Set(casts[m.cast].map((part) => part.node))].filter((node) => node > 0 && node < data.nodes) }));
  };

  // -- time ------------------------------------------------------------------------------------------------------------

  const SPEEDS = [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16];
  const clock = { t: 0, playing: false, speed: 1, stamp: 0 };
  const advance = (stamp) => {
    let t = clock.t + Math.min((stamp - clock.stamp) / 1000, 0.1) * clock.speed; // a hidden page does not run on
    clock.stamp = stamp;
    if (t >= last) {
      if ($("loop").checked) t %= last; else play(false);
    }
    show(t);
  };
  const show = (t) => {
    clock.t = Math.min(Math.max(t, 0), last);
    $("time").value = clock.t;
    $("clock").textContent = (data.start + clock.t).toFixed(last < 1 ? 4 : 2) + " s";
    if (panel) panel.at(clock.t);
    if (!clock.playing) address();
  };
  const go = (t) => { play(false); show(t); redraw(); };
  const play = (on) => {
    on = on && last > 0;
    if (on && clock.t >= last) clock.t = 0;
    clock.playing = on;
    clock.stamp = performance.now();
    $("play").textContent = on ? "\u275a\u275a" : "\u25b6";
    state(on ? "playing" : "paused");
    address();
    if (on) redraw();
  };
  const step = (by) => { // to the instant before or after
    const { times } = focus(), k = before(times, clock.t);
    if (by < 0) go(clock.t > times[k] ? times[k] : times[Math.max(k - 1, 0)]);
    else go(times[Math.min(clock.t < last ? k + 1 : times.length - 1, times.length - 1)]);
  };
  const hurry = (by) => {
    const k = Math.min(Math.max(SPEEDS.indexOf(clock.speed) + by, 0), SPEEDS.length - 1);
    clock.speed = SPEEDS[k];
    $("speed").value = k;
  };

  // -- controls --------------------------------------------------------------------------------------------------------

  const offer = (select, words, chosen, act) => {
    words.forEach(([word, value]) => select.add(new Option(word, value)));
    select.value = chosen;
    select.addEventListener("change", () => { act(select.value); canvas.focus(); });
  };
  const help = (on) => { $("help").hidden = !on; };
  const look = (name) => { camera.from(name); address(); };
  const reset = () => {
    $("view").value = "iso";
    camera.reset();
    address();
  };
  const keys = {
    " ": () => play(!clock.playing), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    ArrowUp: () => hurry(1), ArrowDown: () => hurry(-1), Home: () => go(0), End: () => go(last), r: reset,
    f: () => { camera.following = !camera.following; }, g: () => { options.grid = !options.grid; redraw(); },
    l: () => { $("loop").checked = !$("loop").checked; }, v: () => turn(), s: () => pane(),
    n: (e) => choose(members[(members.indexOf(focus()) + (e.shiftKey ? -1 : 1) + members.length) % members.length]),
    "?": () => help($("help").hidden), Escape: () => help(false),
  };
  const pressed = (e) => {
    const act = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    const typing = e.target.tagName === "SELECT" || (e.key === " " && /BUTTON|SUMMARY|INPUT/.test(e.target.tagName));
    if (!act || typing || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    act(e);
  };
  const fragment = () => { // #t=0.5&view=front&member=17, and of a study what `study_page.js` writes
    const wish = new URLSearchParams(location.hash.slice(1)), t = parseFloat(wish.get("t"));
    restoring = true;
    if (study) study.read(wish);
    if (data.views[wish.get("view")]) { $("view").value = wish.get("view"); camera.from($("view").value); }
    const member = named(wish.get("member"));
    if (member) choose(member);
    if (Number.isFinite(t)) go(t - data.start);
    restoring = false;
    return Number.isFinite(t);
  };
  let restoring = true, waits = 0; // what is read from the address is not written
  const address = () => { // a link to what is seen, of pages with a study
    if (!study || restoring) return;
    clearTimeout(waits);
    waits = setTimeout(() => {
      const wish = new URLSearchParams(), view = $("view").value;
      if (!clock.playing) wish.set("t", Number((data.start + clock.t).toPrecision(7)));
      if (camera.standard(view)) wish.set("view", view);
      study.write(wish);
      try { history.replaceState(null, "", "#" + wish); } catch { /* a closed frame has no address */ }
    }, 150);
  };

  // -- members ---------------------------------------------------------------------------------------------------------

  const named = (name) => members.find((m) => m.name === name);
  const titled = (name) => (name === "design" ? "Your design" : "Member " + name);
  const tell = () => { // who is solid, to the list, the slider, the tables and the plots
    const solid = focus(), others = members.filter((m) => m.shown && m !== solid);
    camera.forget();
    $("name").textContent = titled(solid.name);
    $("member").value = members.indexOf(solid);
    $("ghosts").checked = others.length === members.length - 1;
    for (const member of members) member.box.checked = member.shown;
    if (panel) panel.of(members.indexOf(solid), others.map((m) => members.indexOf(m)));
    if (study) study.solid(solid.name);
    const numbers = sliders && solid.name !== "design" ? source.numbersOf(solid.name) : null;
    if (numbers) sliders.stand(numbers);
    address();
    redraw();
  };
  const choose = (member) => { // one that was shown alone gives way, ghosts stay
    const old = focus();
    if (source) source.abandon();
    if (within ? !within.includes(old.name) : members.every((m) => m === old || !m.shown)) old.shown = false;
    solidOne = member;
    member.shown = true;
    tell();
  };
  let within = null, others = !data.alone; // the members that a study's plots choose; whether all are shown else
  const ghosts = (names) => {
    const solid = focus();
    within = names;
    for (const member of members) member.shown = member === solid || (names ? names.includes(member.name) : others);
    tell();
  };
  const list = (member) => {
    const label = document.createElement("label"), box = document.createElement("input");
    members.push(member);
    member.box = Object.assign(box, { type: "checkbox" });
    box.addEventListener("change", () => { member.shown = box.checked; tell(); });
    label.append(box, " " + titled(member.name).toLowerCase());
    $("members").append(label);
    $("choice").hidden = $("members").hidden = members.length < 2;
    $("member").max = members.length - 1;
  };
  const drop = (member) => { // the one that was asked for first gives way where many have been
    if (panel) panel.drop(members.indexOf(member));
    members.splice(members.indexOf(member), 1);
    member.box.parentNode.remove();
    for (const mesh of member.meshes) picture.free(mesh);
    if (member.name !== "design") study.leaves(member.name);
  };
  const take = (given) => { // a member that was asked for
    const spare = members.filter((m) => !m.shown && m.fetched && m.name !== "design");
    if (members.length >= MOST && spare.length) drop(spare[0]);
    const [member] = adopted(given.data, given.bytes);
    member.fetched = true;
    if (panel) panel.add(given.data.sheets, arraysOf(given.bytes).floats);
    data.remarks.push(...given.data.remarks.filter((text) => !data.remarks.includes(text)));
    remark("");
    list(member);
    return member;
  };
  const fetchMember = (name) => source.member(name, (text) => study.waits(name, text)).then((given) => {
    if (!given) study.waits(name, ""); // another one was asked for since
    if (!given || named(name)) return;
    const member = take(given);
    study.comes(name);
    choose(member);
  }).catch((e) => study.waits(name, e.message));
  const tryDesign = (values, tell) => source.design(values, tell).then((given) => { // takes the place of the one before
    if (!given) { tell(""); return; } // something else was asked for since
    const before = named("design"), member = take(given);
    choose(member);
    if (!before) return;
    before.shown = false;
    drop(before);
    choose(member);
  }).catch((e) => tell(e.message));

  // -- the side and the study ------------------------------------------------------------------------------------------

  let asked = null; // whether the reader has opened or closed the side; before, it is open where there is room for it
  const turn = () => { asked = $("side").hidden; beside(asked); };
  const fit = () => beside(asked ?? (panel ? useful && $("stage").clientWidth >= (study ? 900 : 700) : members.length > 1));
  const beside = (on) => { // with tables or plots the side has its own place, if the page is wide enough
    $("side").hidden = !on;
    $("side").classList.toggle("full", Boolean(panel));
    document.body.classList.toggle("beside", on && Boolean(panel));
    resize();
  };
  const pane = () => { // the study, where there is one
    if (!study) return;
    document.body.classList.toggle("with-study");
    fit();
  };
  const resize = () => {
    const limit = gl.getParameter(gl.MAX_RENDERBUFFER_SIZE);
    canvas.width = Math.max(1, Math.min(Math.round(canvas.clientWidth * devicePixelRatio), limit));
    canvas.height = Math.max(1, Math.min(Math.round(canvas.clientHeight * devicePixelRatio), limit));
    redraw();
  };
  const openStudy = (given, block) => {
    document.body.classList.add("with-study");
    study = studyPage(given, block, { names: members.map((m) => m.name), ghosts, changed: address,
      choose: (name) => choose(named(name)), fetch: source ? fetchMember : null });
    $("study-turn").hidden = $("study-help").hidden = false;
  };
  const remark = (text) => { $("remarks").textContent = [...data.remarks, text].filter(Boolean).join("; "); };
  const followServer = async () => { // its study, and again whatever is new in it
    try {
      const { data: given, bytes: block } = await server.study();
      if (given.study) openStudy(given.study, block);
      data.remarks.push(...given.remarks);
      remark("");
      fit();
      if (fragment() || !study) return;
      tell();
    } catch (e) {
      remark(e.message);
    } finally {
      restoring = false;
      server.watch((fresh) => study && fresh.data.study && study.renew(fresh.data.study, fresh.bytes), remark);
    }
  };

  remark("");
  $("bar").hidden = false;
  $("time").max = last;
  $("time").addEventListener("input", () => go(parseFloat($("time").value)));
  $("play").addEventListener("click", () => play(!clock.playing));
  $("ask").addEventListener("click", () => help($("help").hidden));
  const words = SPEEDS.map((s, k) => [s < 1 ? "1/" + 1 / s : String(s), k]);
  offer($("speed"), words, 6, (k) => { clock.speed = SPEEDS[k]; });
  while (last > 0 && last / clock.speed < 0.5 && clock.speed > SPEEDS[0]) hurry(-1); // a short motion in slow motion
  offer($("view"), Object.keys(data.views).map((v) => [v, v]), "iso", look);
  if (last <= 0) for (const id of ["play", "time", "clock", "speed", "loop"]) ($(id).closest("label") || $(id)).hidden = true;
  const told = data.sheets && data.sheets.tables.length + data.sheets.plots.length > 0;
  const panel = told ? sheets($("sheets"), data.sheets, arraysOf(bytes).floats, (t) => go(t)) : null;
  const useful = told && (data.members.length > 1 || data.served || data.sheets.plots.length + data.sheets.tables.filter((t) => t.open).length > 0);
  $("values").hidden = !panel;
  $("values").addEventListener("click", turn);
  adopted(data, bytes).forEach((member, k) => { member.shown = k === 0 || !data.alone; list(member); });
  [solidOne] = members;
  $("members").open = members.length < 9 && !data.alone;
  $("member").addEventListener("input", () => choose(members[Number($("member").value)]));
  $("ghosts").addEventListener("change", () => {
    const solid = focus();
    others = $("ghosts").checked;
    for (const member of members) member.shown = member === solid || $("ghosts").checked;
    tell();
  });
  $("study-turn").hidden = $("study-help").hidden = true;
  $("study-turn").addEventListener("click", pane);
  if (data.study) openStudy(data.study, bytes);
  if (source && source.designs) sliders = designSliders(source.designs, tryDesign);
  tell();
  addEventListener("keydown", pressed);
  new ResizeObserver(() => fit()).observe($("stage"));
  addEventListener("hashchange", fragment);
  canvas.addEventListener("webglcontextlost", (e) => { e.preventDefault(); play(false); });
  canvas.addEventListener("webglcontextrestored", () => location.reload());
  camera.from("iso");
  fit();
  show(0);
  if (server || !fragment()) play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  if (server) followServer();
})();
