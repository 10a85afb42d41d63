// The reading page by keys, and without a network: what is marked then is sent once there is one.
// Everything is rendered by the server; this opens, marks and remembers, and builds nothing from what strangers wrote.

const page = document.querySelector(".reading");
const pieces = [...document.querySelectorAll(".piece")];
const QUEUE = "recrawl-reading-queue";
let at = -1;

function queue() {
  try { return JSON.parse(localStorage.getItem(QUEUE) || "[]"); } catch { return []; }
}
function keep(list) {
  try { localStorage.setItem(QUEUE, JSON.stringify(list.slice(-500))); } catch { /* no room: it is lost */ }
}

async function send(action, act) {
  const body = new URLSearchParams({ act });
  const headers = { "X-CSRF-Token": page.dataset.token };
  const answer = await fetch(action, { method: "POST", body, headers });
  if (answer.status >= 500) throw new Error("later");
}

async function flush() {
  const waiting = queue();
  while (waiting.length) {
    try { await send(...waiting[0]); } catch { break; }
    waiting.shift();
    keep(waiting);
  }
}

function count(change) {
  const word = document.getElementById("unread");
  const now = Math.max(0, parseInt(word.textContent.replace(/\D/g, "") || "0", 10) + change);
  word.textContent = `${now.toLocaleString("en")} unread`;
  document.title = document.title.replace(/^\(\d+\) /, "");
  if (now) document.title = `(${now}) ${document.title}`;
}

async function mark(piece, act) {
  const read = act === "read" || act === "unread";
  const on = act === "read" || act === "star";
  const name = read ? "read" : "starred";
  if (piece.classList.contains(name) === on) return;
  piece.classList.toggle(name, on);
  if (read) count(on ? -1 : 1);
  const button = piece.querySelector(`[data-act="${read ? "read" : "star"}"]`);
  button.value = read ? (on ? "unread" : "read") : on ? "unstar" : "star";
  button.textContent = read ? (on ? "Mark unread" : "Mark read") : on ? "★ Starred" : "☆ Star";
  const action = piece.querySelector(".acts").getAttribute("action");
  try { await send(action, act); } catch { keep([...queue(), [action, act]]); }
}

function fit(frame) {
  const inside = frame.contentDocument;
  if (inside && inside.documentElement) frame.style.height = `${inside.documentElement.scrollHeight + 4}px`;
}

function go(to) {
  if (!pieces.length) return;
  at = Math.max(0, Math.min(pieces.length - 1, to));
  pieces.forEach((each, k) => each.classList.toggle("current", k === at));
  pieces[at].querySelector("summary").focus({ preventScroll: true });
  pieces[at].scrollIntoView({ block: "nearest" });
}

pieces.forEach((piece, k) => {
  const details = piece.querySelector("details");
  const frame = piece.querySelector("iframe");
  frame.addEventListener("load", () => fit(frame));
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    fit(frame);
    if (at !== k) go(k);
    mark(piece, "read");
  });
  piece.querySelector(".acts").addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter.value !== "article") return mark(piece, event.submitter.value);
    const asked = event.submitter;
    asked.disabled = true;
    send(event.target.getAttribute("action"), "article").then(
      () => { asked.textContent = "Asked for: it comes within moments if a crawler is at work"; },
      () => { asked.disabled = false; },
    );
  });
  const pictures = piece.querySelector(".pictures");
  if (pictures) {
    pictures.hidden = false;
    pictures.addEventListener("click", () => {
      const address = new URL(frame.src, location.href);
      address.searchParams.set("pictures", "1");
      frame.src = address.href;
      pictures.hidden = true;
    });
  }
});

const DOES = {
  j: () => go(at + 1),
  k: () => go(at - 1),
  o: (piece) => { const each = piece.querySelector("details"); each.open = !each.open; },
  m: (piece) => mark(piece, piece.classList.contains("read") ? "unread" : "read"),
  s: (piece) => mark(piece, piece.classList.contains("starred") ? "unstar" : "star"),
  v: (piece) => piece.querySelector(".original")?.click(),
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const act = DOES[event.key];
  if (!act || (at < 0 && !"jk".includes(event.key))) return;
  event.preventDefault();
  act(pieces[at]);
});

function network() {
  document.getElementById("offline").hidden = navigator.onLine;
  if (navigator.onLine) flush();
}
addEventListener("online", network);
addEventListener("offline", network);
addEventListener("resize", () => pieces.forEach((piece) => fit(piece.querySelector("iframe"))));
network();

if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register("/reading/worker.js", { scope: "/reading" }).then(async () => {
    // What is on the page is read later, perhaps without a network: it is loaded into the cache, unread ones first.
    const ready = await navigator.serviceWorker.ready;
    const frames = pieces.map((piece) => piece.querySelector("iframe").src);
    const files = [...document.querySelectorAll("link[rel=stylesheet], script[src], img[src^='/static/']")].map((each) => each.href || each.src);
    ready.active?.postMessage({ keep: [location.href, ...files, ...frames] });
  }).catch(() => { /* without one it works as long as there is a network */ });
}
