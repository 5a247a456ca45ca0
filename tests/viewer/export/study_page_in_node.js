// Behind `columns.js` and `brush.js`: reads the numbers of a page, chooses by ranges, says all as one line of JSON.
const data = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const columns = studyColumns(data.study, Uint8Array.from(Buffer.from(data.binary, "base64")).buffer);
const brush = studyBrush(columns), swing = columns.named.get("swing"), length = columns.named.get("LENGTH");
const values = columns.all.map((c) => [c.name, Array.from({ length: columns.count }, (_, row) => c.value(row)).map(
  (x) => Number.isNaN(x) ? null : x)]);
const calls = [];
brush.listen(() => calls.push(brush.count));
brush.set(swing, [0.25, 0.75]);
const middle = Array.from(brush.mask), written = brush.written(), chips = brush.chips().map((c) => c.text);
brush.setBoth(length, [0.9, 0.4], swing, [0.5, 1]);
const both = Array.from(brush.mask);
brush.read(written);
const again = Array.from(brush.mask);
brush.read(["nothing~0~1", "swing~a~b", "swing"]);
const wrong = brush.active;
brush.set(columns.named.get("status"), [1, 1]);
const failed = Array.from(brush.mask);
brush.clear();
console.log(JSON.stringify({ values, calls, middle, written, chips, both, again, wrong, failed, cleared: brush.count,
  rising: Array.from(swing.order(false)), falling: Array.from(swing.order(true)), labels: columns.all.map((c) => c.title),
  ticks: length.ticks(5).map((t) => t.text), reasons: columns.reason(data.failed), text: swing.text(swing.value(0)) }));
