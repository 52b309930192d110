// The service in JavaScript: a queue of requests that wait for one slot or several, or a rate limit.
const http = require("http");

const cause = process.env.CAUSE, gapMs = 1000 / Number(process.env.RATE), BURST = 6;
const slots = cause === "lock" ? 1 : Number(process.env.POOL);
const holdsMs = { lock: { "/a": 20, "/b": 8 }, pool: { "/a": 80, "/b": 32 }, rate_limit: { "/a": 4, "/b": 2 } }[cause];
const waiting = [];
let busy = 0, releasedMs = 0;

const around = (meanMs) => meanMs * (0.5 + Math.random());

function held(meanMs, done) {
  if (busy === slots) return waiting.push([meanMs, done]);
  busy += 1;
  setTimeout(() => {
    busy -= 1;
    done();
    if (waiting.length) held(...waiting.shift());
  }, around(meanMs));
}

function delayed(meanMs, done) {
  const nowMs = performance.now(), atMs = Math.max(releasedMs, nowMs - (BURST - 1) * gapMs);
  releasedMs = atMs + gapMs;
  setTimeout(done, Math.max(0, atMs - nowMs) + around(meanMs));
}

const server = http.createServer((request, response) => {
  const meanMs = holdsMs[request.url];
  if (meanMs === undefined) response.end("ok\n");
  else (cause === "rate_limit" ? delayed : held)(meanMs, () => response.end("ok\n"));
});
server.keepAliveTimeout = 0; // never closes an idle connection
server.listen(Number(process.env.PORT), "127.0.0.1");
