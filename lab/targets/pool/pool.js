// k requests at a time, each for s; the others wait in the order they came.
const http = require("http");

const workers = Number(process.env.WORKERS), sleepMs = 1000 * Number(process.env.SLEEP_S);
const waiting = [];
let busy = 0;

function work(response) {
  busy += 1;
  setTimeout(() => {
    busy -= 1;
    response.end("slept\n");
    if (waiting.length) work(waiting.shift());
  }, sleepMs);
}

const server = http.createServer((request, response) => {
  if (request.url === "/health") response.end("ok\n");
  else if (busy < workers) work(response);
  else waiting.push(response);
});
server.keepAliveTimeout = 0; // never closes an idle connection
server.listen(Number(process.env.PORT), "127.0.0.1");
