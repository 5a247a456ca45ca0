// At the end of a page of a study: a hand that uses it, and what it shows then, said as one line on the console.
// NAME, USED, FAILED, MOVING and STATUS are put in: of the page, whether it is used, two members, the status of the last.
(() => {
  const $ = (id) => document.getElementById(id), said = {};
  const point = (element, type, x, y, buttons = 0) => element.dispatchEvent(new PointerEvent(type,
    { clientX: x, clientY: y, buttons, button: 0, pointerId: 1, bubbles: true }));
  const drag = (element, from, to) => { // places in parts of the element, from its upper left corner
    const b = element.getBoundingClientRect(), at = (p) => [b.left + p[0] * b.width, b.top + p[1] * b.height];
    point(element, "pointerdown", ...at(from), 1);
    for (const s of [0.3, 0.6, 1]) point(element, "pointermove", ...at(from.map((x, i) => x + s * (to[i] - x))), 1);
    point(element, "pointerup", ...at(to));
  };
  const ink = (id) => { // how much is drawn on the layer of what is at the pointer
    const layer = $(id).querySelectorAll("canvas")[2], canvas = Object.assign(document.createElement("canvas"),
      { width: layer.width, height: layer.height }), pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(layer, 0, 0);
    return pen.getImageData(0, 0, canvas.width, canvas.height).data.reduce((sum, x) => sum + x, 0);
  };
  const rows = () => [...document.querySelectorAll("#table tr[data-row]")];
  const row = (k) => rows().find((tr) => tr.dataset.row === String(k));
  const state = () => ({ total: $("study-total").textContent, outcomes: $("outcomes").textContent, chosen: $("chosen").textContent,
    chips: $("chips").textContent, current: $("current").textContent, marked: rows().filter((tr) => tr.classList.contains("current"))
      .map((tr) => Number(tr.dataset.row)), count: Number(document.querySelector("#table table").getAttribute("aria-rowcount")) - 1,
    x: $("across").value, y: $("up").value, colour: $("colour").value, name: $("name").textContent, clock: $("clock").textContent,
    shown: [...$("members").querySelectorAll("label")].filter((l) => l.querySelector("input").checked).map((l) => l.textContent.trim()),
    wide: document.documentElement.scrollWidth <= innerWidth, tab: document.body.dataset.tab,
    first: rows().slice(0, 3).map((tr) => Number(tr.dataset.row)), elements: rows().length,
    panels: ["scatter", "axes", "table"].filter((id) => $(id).clientHeight > 0) });
  const say = () => console.log("SAID NAME " + JSON.stringify(said));
  if (!USED) {
    setTimeout(() => {
      said.state = state();
      said.hash = location.hash;
      say();
    }, 800);
    return;
  }
  setTimeout(() => { // once all is laid out
    said.start = state();
    const before = [ink("scatter-plot"), ink("axes-plot")];
    point(row(2), "pointerover", 0, 0);
    said.hovered = [ink("scatter-plot") !== before[0], ink("axes-plot") !== before[1], row(2).classList.contains("hovered")];
    point(row(2).parentNode, "pointerleave", 0, 0);
    const plot = $("scatter-plot"), b = plot.getBoundingClientRect();
    for (let k = 0; k < 4000 && !said.tip; k++) { // until the pointer is near a point
      point(plot, "pointermove", b.left + 70 + (k % 80) * 5, b.top + 20 + Math.floor(k / 80) * 5);
      if (!$("tip").hidden) said.tip = [$("tip").textContent, rows().filter((tr) => tr.classList.contains("hovered")).length];
    }
    row(FAILED).click();
    said.failed = state();
    row(FAILED).parentNode.parentNode.parentNode.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    said.below = state();
    row(MOVING).click();
    said.moving = state();
    drag(plot, [0.2, 0.05], [0.5, 0.8]);
    said.box = state();
    said.out = rows().filter((tr) => tr.classList.contains("out")).length;
    $("only").click();
    said.only = state();
    $("only").click();
    $("clear").click();
    const axes = $("axes-plot"), a = axes.getBoundingClientRect();
    drag(axes, [46 / a.width, 0.3], [46 / a.width, 0.7]);
    said.axis = state();
    drag(axes, [46 / a.width, 0.5], [46 / a.width, 0.6]);
    said.slid = state();
    document.querySelectorAll("#outcomes button")[STATUS].click();
    $("clear").click();
    said.cleared = state();
    document.querySelectorAll("#table th button")[4].click();
    document.querySelectorAll("#table th button")[4].click();
    said.sorted = state();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "s", bubbles: true }));
    said.closed = state().panels;
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "s", bubbles: true }));
    setTimeout(() => {
      said.hash = decodeURIComponent(location.hash);
      say();
    }, 400);
  }, 300);
})();
