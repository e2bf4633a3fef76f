// The sweep as the page holds it, and words for it. All figures come from the library; the scripts compute nothing but
// places and colours on the screen.
const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const numbers = (text) => text.split(" ").map((each) => (each === "" ? null : Number(each)));
for (const figure of data.figures)
  for (const kind of ["mean", "low", "high", "q10", "q50", "q90"])
    if (kind in figure) figure[kind] = numbers(figure[kind]);
for (const name of Object.keys(data.truth)) data.truth[name] = numbers(data.truth[name]);
for (const each of data.winners) for (const name of ["margin", "p"]) each[name] = numbers(each[name]);
for (const each of data.winners) each.tied = new Set(each.tied);
for (const each of data.learners) if (each.colour === "#000000") each.colour = "currentColor"; // seen on dark pages too
const learners = data.learners, parameters = data.parameters;
const count = parameters[0].of.length;
const nothing = new Set(data.nothing), failed = new Set(data.failed);
const several = learners.length > 1, plane = parameters.length > 1;
const state = {
  figure: data.figures.find((each) => each.mean.some((value) => value !== null)) ?? data.figures[0],
  winner: data.winners[0],
  x: 0,
  y: 1,
  at: parameters.map((each) => (each.values.length - 1) >> 1),
};

const told = (value) => (value === null ? "–" : String(value).replaceAll("-", "−"));
const short = (value) => told(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
const valueOf = (k, setting) => parameters[k].values[parameters[k].of[setting]];
const nameOf = (setting) => parameters.map((each, k) => each.name + " " + short(valueOf(k, setting))).join(", ");
const cellOf = (setting, learner) => setting * learners.length + learner;
const range = (low, high) => (low === null ? "–" : told(low) + " to " + told(high));

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
