// Keeps regions marked data-live up to date: when the server says something changed, the page is fetched again and
// those regions that differ are replaced. Nothing is built here, so what is shown is always what the server renders.

const LEAST_MS = 2000;
let last = 0;
let timer = 0;
let fetching = false;
// Once a form is sent, another page follows: this one may be about what is gone by then.
const sending = new AbortController();

function busy(region) {
  return region.contains(document.activeElement) || String(getSelection()) !== "";
}

// Which details are open, by their key: what is new moves the others down.
function opened(region) {
  return new Map([...region.querySelectorAll("details[data-key]")].map((each) => [each.dataset.key, each.open]));
}

function replace(region, fresh) {
  if (busy(region) || region.innerHTML === fresh.innerHTML) return;
  const open = opened(region);
  const left = region.scrollLeft;
  region.replaceChildren(...fresh.childNodes);
  region.scrollLeft = left;
  region.querySelectorAll("details[data-key]").forEach((each) => {
    if (open.has(each.dataset.key)) each.open = open.get(each.dataset.key);
  });
}

async function refresh() {
  if (fetching || document.hidden || sending.signal.aborted) return;
  fetching = true;
  last = Date.now();
  try {
    const address = new URL(location.href);
    address.searchParams.delete("done");
    const answer = await fetch(address, { headers: { "X-Live": "1" }, signal: sending.signal });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const regions = [...document.querySelectorAll("[data-live]")];
    const fresh = regions.map((each) => page.querySelector(`[data-live="${CSS.escape(each.dataset.live)}"]`));
    if (document.querySelector('[data-live="welcome"]') && fresh.includes(null)) location.reload();
    regions.forEach((each, k) => fresh[k] && replace(each, fresh[k]));
  } catch {
    // The stream reconnects by itself, and brings the next occasion.
  } finally {
    fetching = false;
  }
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, Math.max(0, last + LEAST_MS - Date.now()));
}

// Browsers allow few connections to a server: a tab nobody looks at gives its own back.
let stream = null;

function listen() {
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else if (stream === null) {
    stream = new EventSource("/api/v1/stream");
    stream.addEventListener("change", soon);
    if (document.querySelector("[data-fleet]")) stream.addEventListener("fleet", soon);
  }
}

function begin() {
  if (!document.querySelector("[data-live]")) return;
  listen();
  document.addEventListener("submit", () => sending.abort());
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden) soon();
  });
  addEventListener("pagehide", () => stream?.close());
}

begin();
