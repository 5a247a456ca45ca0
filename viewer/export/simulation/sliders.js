// Sliders for the numbers of a design, which is simulated when they stand still. They begin where a member stands.
"use strict";
const designSliders = (designs, act) => {
  const $ = (id) => document.getElementById(id), REST = 150; // ms
  const short = (x) => String(Number(x.toPrecision(6)));
  let waits = 0;
  const roots = new Set(designs.numbers.map(({ path }) => path.split(":")[0])), [root] = roots; // the assembly of all says nothing
  const inputs = designs.numbers.map(({ path, unit, low, high }) => {
    const label = document.createElement("label"), name = document.createElement("span"), value = document.createElement("output");
    const slider = Object.assign(document.createElement("input"), { type: "range", min: low, max: high, step: "any", value: (low + high) / 2 });
    const write = () => { value.textContent = short(Number(slider.value)) + (unit ? " " + unit : ""); };
    label.title = path;
    label.hidden = low === high; // the members of the page have one value of it
    name.textContent = roots.size === 1 && path.startsWith(`${root}:`) ? path.slice(root.length + 1) : path;
    label.append(name, slider, value);
    $("numbers").append(label);
    slider.addEventListener("input", () => {
      write();
      clearTimeout(waits);
      waits = setTimeout(() => act(inputs.map((one) => Number(one.value)), (text) => { $("tried").textContent = text; }), REST);
    });
    write();
    return Object.assign(slider, { write });
  });
  $("try").hidden = false;
  return {
    stand(values) { // at the numbers of a member
      clearTimeout(waits);
      inputs.forEach((slider, k) => { slider.value = values[k]; slider.write(); });
    },
  };
};
