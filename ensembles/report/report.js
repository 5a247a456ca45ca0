// The two charts that can be touched: a scatter of any three columns, and parallel coordinates. What is chosen on an
// axis of the latter stays bright in the former.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("members").textContent);
  const columns = data.columns;
  const font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: "#1d2733" };
  const axis = { gridcolor: "#e4e9ef", zeroline: false, linecolor: "#66727f", ticks: "outside", tickcolor: "#66727f", automargin: true };
  const chosen = (name) => columns[Number(document.getElementById(name).value)];
  const scale = "Viridis";
  let selected = null;

  for (const name of ["x", "y", "c", "pc"]) {
    const list = document.getElementById(name);
    columns.forEach((column, k) => list.add(new Option(column.label, k)));
    list.value = data.first[name];
  }

  function drawScatter() {
    const [x, y, c] = ["x", "y", "c"].map(chosen);
    const trace = {
      type: "scattergl", mode: "markers", x: x.values, y: y.values, customdata: data.numbers, selectedpoints: selected,
      marker: { size: data.numbers.length > 4000 ? 4 : 6, opacity: 0.8, color: c.values, colorscale: scale,
        colorbar: { title: { text: c.label, side: "right" }, thickness: 14, outlinewidth: 0 } },
      unselected: { marker: { opacity: 0.06 } },
      hovertemplate: `member %{customdata}<br>${x.label}: %{x:.5g}<br>${y.label}: %{y:.5g}<br>${c.label}: %{marker.color:.5g}<extra></extra>`,
    };
    const layout = { font, margin: { l: 70, r: 20, t: 24, b: 60 }, hovermode: "closest", paper_bgcolor: "#fff", plot_bgcolor: "#fff",
      xaxis: { ...axis, title: { text: x.label } }, yaxis: { ...axis, title: { text: y.label } } };
    Plotly.react("scatter", [trace], layout, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"] });
  }

  function dimension(column) {
    return { label: column.short, values: column.values, range: column.range, tickformat: ".3~g" };
  }

  function drawParallel() {
    const c = chosen("pc");
    const shown = data.axes.map((k) => columns[k]);
    const trace = { type: "parcoords", dimensions: shown.map(dimension), labelangle: shown.length > 6 ? -15 : 0,
      line: { color: c.values, colorscale: scale, showscale: true, colorbar: { title: { text: c.label, side: "right" }, thickness: 14, outlinewidth: 0 } },
      unselected: { line: { color: "#c9d1da", opacity: 0.08 } } };
    const layout = { font, margin: { l: 70, r: 30, t: shown.length > 6 ? 90 : 60, b: 30 }, paper_bgcolor: "#fff" };
    return Plotly.react("parallel", [trace], layout, { responsive: true, displaylogo: false, displayModeBar: false });
  }

  function inside(ranges, value) {
    const every = Array.isArray(ranges[0]) ? ranges : [ranges];
    return every.some(([low, high]) => value >= low && value <= high);
  }

  function choose() {
    const axes = document.getElementById("parallel").data[0].dimensions;
    const limits = axes.map((one, k) => [one.constraintrange, columns[data.axes[k]].values]).filter(([range]) => range && range.length);
    selected = limits.length ? data.numbers.map((_, k) => k).filter((k) => limits.every(([range, values]) => inside(range, values[k]))) : null;
    const count = selected === null ? "all" : selected.length;
    document.getElementById("count").value = `${count} of ${data.numbers.length} members chosen`;
    drawScatter();
  }

  drawScatter();
  drawParallel().then((chart) => chart.on("plotly_restyle", choose));
  for (const name of ["x", "y", "c"]) document.getElementById(name).addEventListener("change", drawScatter);
  document.getElementById("pc").addEventListener("change", drawParallel);
  document.getElementById("reset").addEventListener("click", () => {
    Plotly.purge("parallel");
    drawParallel().then((chart) => { chart.on("plotly_restyle", choose); choose(); });
  });
})();
