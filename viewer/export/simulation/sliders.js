// Sliders for the numbers of a design, which is simulated when they stand still.
"use strict";
const designSliders = (designs, act) => {
  const $ = (id) => document.getElementById(id), REST = 150; // ms
  const short = (x) => String(Number(x.toPrecision(6)));
  let waits = 0;
  const inputs = designs.numbers.map(({ path, unit, low, high }) => {
    const label = document.createElement("label"), value = document.createElement("output");
    const slider = Object.assign(document.createElement("input"), { type: "range", min: low, max: high, step: "any", value: (low + high) / 2 });
    const told = () => { value.textContent = short(Number(slider.value)) + (unit ? " " + unit : ""); };
    label.title = path;
    label.hidden = low === high; // it has one value in the study
    label.append(path.split(":").slice(-2).join(":"), slider, value);
    $("numbers").append(label);
    slider.addEventListener("input", () => {
      told();
      clearTimeout(waits);
      waits = setTimeout(() => act(inputs.map((one) => Number(one.value)), (text) => { $("tried").textContent = text; }), REST);
    });
    told();
    return slider;
  });
  $("try").hidden = false;
};
