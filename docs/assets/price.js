// The picture of docs/idea.md: four index curves, one price, and what it costs and brings.
// index(age) = value (1 - (1 + s) exp(-s)), s = rate * age; tests/docs/test_site.py holds it to recrawl's own.
(function () {
  "use strict";
  const SOURCES = [
    { name: "news wire", value: 8.6, rate: 1.1, colour: "#0072B2" },
    { name: "busy blog", value: 7.2, rate: 0.34, colour: "#D55E00" },
    { name: "forum", value: 5.6, rate: 0.21, colour: "#009E73" },
    { name: "archive", value: 1.9, rate: 0.15, colour: "#CC79A7" },
  ];
  const HOURS = 14, HIGHEST = 10, WIDTH = 700, HEIGHT = 330, LEFT = 40, BOTTOM = 52, RIGHT = 12, TOP = 12;

  function index(source, age) {
    const s = source.rate * age;
    return source.value * (1 - (1 + s) * Math.exp(-s));
  }

  function crossing(source, price) {
    if (price >= source.value) return Infinity;
    let low = 0, high = 1;
    while (index(source, high) < price) high *= 2;
    for (let k = 0; k < 60; k++) {
      const middle = (low + high) / 2;
      if (index(source, middle) < price) low = middle; else high = middle;
    }
    return high;
  }

  function fetches(price) {
    return SOURCES.reduce((sum, source) => sum + 24 / crossing(source, price), 0);
  }

  function priceOf(budget) {
    let low = 0.001, high = HIGHEST;
    for (let k = 0; k < 60; k++) {
      const middle = (low + high) / 2;
      if (fetches(middle) > budget) low = middle; else high = middle;
    }
    return high;
  }

  const x = (hours) => LEFT + (WIDTH - LEFT - RIGHT) * hours / HOURS;
  const y = (worth) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * worth / HIGHEST;

  // Where on the line of the price its label is farthest from every source's point.
  function clearest(price) {
    const taken = [0, HOURS, ...SOURCES.map((source) => crossing(source, price))];
    const room = (hour) => Math.min(...taken.map((at) => Math.abs(at - hour)));
    const places = Array.from({length: 4 * HOURS}, (_, k) => k / 4);
    return places.reduce((best, hour) => (room(hour) > room(best) ? hour : best));
  }

  function draw(price) {
    const parts = [
      `<line class="axis" x1="${x(0)}" y1="${y(0)}" x2="${x(HOURS)}" y2="${y(0)}"/>`,
      `<line class="axis" x1="${x(0)}" y1="${y(0)}" x2="${x(0)}" y2="${y(HIGHEST)}"/>`,
    ];
    for (let hour = 0; hour <= HOURS; hour += 2) {
      parts.push(`<text x="${x(hour)}" y="${HEIGHT - 28}" text-anchor="middle">${hour}</text>`);
    }
    parts.push(`<text x="${x(HOURS / 2)}" y="${HEIGHT - 5}" text-anchor="middle">hours since the last fetch</text>`);
    parts.push(`<text x="14" y="${y(HIGHEST / 2)}" text-anchor="middle" transform="rotate(-90 14 ${y(HIGHEST / 2)})">worth of a fetch now</text>`);
    for (const source of SOURCES) {
      const points = [];
      for (let k = 0; k <= 140; k++) points.push(`${x(k * HOURS / 140).toFixed(1)},${y(index(source, k * HOURS / 140)).toFixed(1)}`);
      parts.push(`<polyline class="curve" stroke="${source.colour}" points="${points.join(" ")}"/>`);
      parts.push(`<text x="${x(HOURS) - 4}" y="${y(index(source, HOURS)) + (source.name === "busy blog" ? 24 : -7)}" text-anchor="end">${source.name}</text>`);
    }
    parts.push(`<line class="price-line" x1="${x(0)}" y1="${y(price)}" x2="${x(HOURS)}" y2="${y(price)}"/>`);
    parts.push(`<text class="price-label" x="${x(clearest(price))}" y="${y(price) + 6}" text-anchor="middle">price ${price.toFixed(2)}</text>`);
    for (const source of SOURCES) {
      const age = crossing(source, price);
      if (age <= HOURS) parts.push(`<circle cx="${x(age)}" cy="${y(price)}" r="6.5" fill="${source.colour}" stroke="white" stroke-width="2"/>`);
    }
    return parts.join("");
  }

  function every(hours) {
    if (!isFinite(hours)) return "never";
    if (hours < 1) return `every ${Math.round(hours * 60)} min`;
    return hours < 48 ? `every ${hours.toFixed(1)} h` : `every ${(hours / 24).toFixed(1)} d`;
  }

  function rows(price) {
    return SOURCES.map((source) => {
      const age = crossing(source, price);
      return `<tr><td><span class="swatch" style="background:${source.colour}"></span>${source.name}</td><td>${every(age)}</td><td>${(24 / age).toFixed(1)}</td></tr>`;
    }).join("");
  }

  function begin(place) {
    place.innerHTML = `
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Index curves of four sources and the price"></svg>
      <label>Budget <input type="range" min="2" max="96" step="1" value="32"> <output></output></label>
      <table><thead><tr><th>source</th><th>fetched</th><th>fetches a day</th></tr></thead><tbody></tbody></table>`;
    const [svg, slider, said, body] = ["svg", "input", "output", "tbody"].map((name) => place.querySelector(name));
    function show() {
      const price = priceOf(Number(slider.value));
      svg.innerHTML = draw(price);
      said.textContent = `${slider.value} fetches a day`;
      body.innerHTML = rows(price);
      place.dataset.price = price.toFixed(6);
    }
    slider.addEventListener("input", show);
    show();
  }

  const place = document.getElementById("price-picture");
  if (place) begin(place);
})();
