// Redraws a histogram's bars at the width that fits what is on screen. `trueup` holds the finest
// edges and prefix sums, and the reach of the 95 % interval for bars of 1, 2, 4, … finest bars.
const figure = document.getElementById("{plot_id}");
const number = (value) => (typeof value === "string" ? Date.parse(value.replace(" ", "T") + (trueup.dates ? "Z" : "")) : value);
const written = (value) => value.toLocaleString("en", { maximumFractionDigits: 0 });
const label = (edge) => (trueup.dates ? new Date(edge).toISOString().replace("T00:00:00.000Z", "") : +edge.toPrecision(8));
const whole = [trueup.edges[0], trueup.edges[trueup.edges.length - 1]];
let drawn = null;

function draw(low, high) {
  const finest = trueup.edges.filter((edge) => edge > low && edge < high).length + 1;
  let level = 0;
  while (level + 1 < trueup.reaches.length && finest / 2 ** level > trueup.most) level += 1;
  if (level === drawn) return;
  drawn = level;
  const step = 2 ** level;
  const last = trueup.edges.length - 1;
  const cellsIn = (i, j) => (j - i) * trueup.cells - (j === last ? trueup.cells - trueup.last : 0);
  const full = cellsIn(0, Math.min(step, last));
  const x = [], y = [], width = [], above = [], below = [], words = [];
  for (let i = 0; i < last; i += step) {
    const j = Math.min(i + step, last);
    const middle = (trueup.edges[i] + trueup.edges[j]) / 2;
    const value = trueup.prefix[j] - trueup.prefix[i];
    const r = trueup.reaches[level][i / step];
    const unbiased = trueup.unbiased[j] - trueup.unbiased[i];
    // Of equal density, equal height: a narrower last bar is raised to full width.
    const times = trueup.unit ? trueup.unit / (trueup.edges[j] - trueup.edges[i]) : full / cellsIn(i, j);
    x.push(trueup.dates ? new Date(middle).toISOString() : middle);
    y.push(times * value);
    width.push(trueup.edges[j] - trueup.edges[i]);
    let [least, most] = [unbiased - r, unbiased + r];
    if (trueup.cut) [least, most] = [Math.min(Math.max(Math.ceil(least), 0), value), Math.max(Math.floor(most), value)];
    above.push(times * Math.max(most - value, 0));
    below.push(times * Math.max(value - least, 0));
    words.push([`${label(trueup.edges[i])} – ${label(trueup.edges[j])}`, written(value), written(least), written(most)]);
  }
  const cells = step * trueup.cells;
  const note = cells === 1 ? "1 cell a bar" : `${cells.toLocaleString("en")} cells a bar`;
  const narrower = full !== cellsIn(Math.floor((last - 1) / step) * step, last);
  const height = trueup.unit ? figure.layout.yaxis.title.text : narrower ? `count per ${full.toLocaleString("en")} cells` : "count";
  const title = figure.layout.title.text.replace(/<sup>.*?,/, `<sup>${note},`);
  Plotly.update(figure, { x: [x], y: [y], width: [width], customdata: [words], "error_y.array": [above], "error_y.arrayminus": [below] }, { "title.text": title, "yaxis.title.text": height });
}

figure.on("plotly_relayout", (event) => {
  if (event["xaxis.autorange"]) draw(...whole);
  else if (event["xaxis.range[0]"] !== undefined) draw(number(event["xaxis.range[0]"]), number(event["xaxis.range[1]"]));
  else if (event["xaxis.range"]) draw(...event["xaxis.range"].map(number));
});
