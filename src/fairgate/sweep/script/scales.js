// From values to colours, and from values to places on an axis.
// Limits of the colours are the library's; curves need room for their bands as well.
function limits(figure) {
  if (plane) return figure.limits;
  const known = [figure.limits, figure.low, figure.high].flat().filter((value) => value !== null);
  return known.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], figure.limits);
}
function colourOf(figure, value) {
  const stops = data.scales[figure.colours], [low, high] = limitsNow;
  if (figure.over && value > high) return figure.over;
  const along = Math.min(Math.max((value - low) / (high - low), 0), 1) * (stops.length - 1);
  const first = Math.min(Math.floor(along), stops.length - 2), part = along - first;
  const mixed = [1, 3, 5].map((at) => {
    const [a, b] = [first, first + 1].map((place) => parseInt(stops[place].slice(at, at + 2), 16));
    return Math.round(a + part * (b - a));
  });
  return "rgb(" + mixed.join(" ") + ")";
}
let limitsNow = [0, 1];

// An axis from pixel `start` to pixel `end`; cells lie between edges half way from value to value.
function axisOf(values, log, start, end, cells) {
  const bent = log ? Math.log : (value) => value;
  const places = values.map(bent), last = places.length - 1;
  let edges;
  if (!last) {
    const half = log ? 0.5 : 0.5 * (Math.abs(places[0]) || 1);
    edges = [places[0] - half, places[0] + half];
  } else {
    const middle = places.slice(1).map((place, k) => (place + places[k]) / 2);
    edges = [2 * places[0] - middle[0], ...middle, 2 * places[last] - middle[last - 1]];
  }
  const beyond = 0.04 * (places[last] - places[0]);
  const low = cells || !last ? edges[0] : places[0] - beyond;
  const high = cells || !last ? edges[edges.length - 1] : places[last] + beyond;
  const scaled = (place) => start + ((place - low) / (high - low)) * (end - start);
  return {
    values, log, start, end,
    at: (value) => scaled(bent(value)),
    cell: (k) => [scaled(edges[k]), scaled(edges[k + 1])].sort((a, b) => a - b),
    from: log ? Math.exp(low) : low,
    to: log ? Math.exp(high) : high,
  };
}
// Where an axis has ticks, at least so many pixels apart: at few values themselves, else at round numbers.
function ticks(axis, apart, round = false) {
  const room = Math.abs(axis.end - axis.start) / apart;
  let found = axis.values;
  const long = found.some((value) => value !== Number(value.toPrecision(3)));
  if (round || long || found.length > Math.min(8, room)) {
    if (axis.log) {
      const decades = Math.log10(axis.to / axis.from);
      const parts = decades * 3 <= room ? [1, 2, 5] : decades * 2 <= room ? [1, 3] : [1];
      found = [];
      for (let power = Math.floor(Math.log10(axis.from)); power <= Math.log10(axis.to); power++)
        for (const part of parts) found.push(part * 10 ** power);
    } else {
      const raw = (axis.to - axis.from) / Math.max(2, Math.min(room, 7)), ten = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].find((each) => each * ten >= raw) * ten;
      found = [];
      for (let k = Math.ceil(axis.from / step); k * step <= axis.to; k++) found.push(k * step);
    }
    found = found.filter((value) => value >= axis.from && value <= axis.to);
  }
  let before = -Infinity;
  return found.filter((value) => {
    const place = Math.abs(axis.at(value) - axis.start);
    if (place - before < apart * 0.8) return false;
    before = place;
    return true;
  });
}
