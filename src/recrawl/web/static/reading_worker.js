// Keeps what the reading page has loaded, so that it can be read without a network. The network comes first: what is kept
// is shown only when there is none. Nothing but this page, what it shows and its files is kept, and only the last of it.

const CACHE = "recrawl-reading-VERSION";
const MOST = 200;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) {
    if (name.startsWith("recrawl-reading-") && name !== CACHE) await caches.delete(name);
  }
  await self.clients.claim();
})()));

async function keep(address) {
  const cache = await caches.open(CACHE);
  const answer = await fetch(address, { credentials: "same-origin" });
  if (answer.ok && !answer.redirected) await cache.put(address, answer);
  const kept = await cache.keys();
  for (const old of kept.slice(0, Math.max(0, kept.length - MOST))) await cache.delete(old);
}

self.addEventListener("message", (event) => {
  const wanted = (event.data?.keep || []).slice(0, 100);
  event.waitUntil((async () => {
    for (const address of wanted) {
      try { await keep(address); } catch { return; }
    }
    for (const client of await self.clients.matchAll()) client.postMessage({ kept: wanted.length });
  })());
});

self.addEventListener("fetch", (event) => {
  const request = event.request;
  if (request.method !== "GET" || new URL(request.url).origin !== self.location.origin) return;
  event.respondWith((async () => {
    try {
      return await fetch(request);
    } catch (error) {
      const found = await caches.match(request, { ignoreVary: true });
      if (found) return found;
      throw error;
    }
  })());
});
