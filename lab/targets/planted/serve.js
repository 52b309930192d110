// A service whose requests do some work, and wait for one cause that is planted between two comments: node serve.js CAUSE PORT.
const http = require("http"), crypto = require("crypto"), zlib = require("zlib");

const items = Array.from({ length: 4000 }, (_, id) => ({ id, name: `item ${id}`, price: (id * 7919) % 1000 }));

const big = Buffer.from(JSON.stringify(items).repeat(2));

function authenticate(token, then) {
  setTimeout(() => then([...token].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)), 2); // another service
}

// planted cpu
function cheapest() {
  return items.map((item) => ({ ...item, rank: item.name.length * item.price }))
    .sort((a, b) => a.rank - b.rank || a.name.localeCompare(b.name))
    .slice(0, 3);
}
// end

// planted libuv
function verify(password, then) {
  crypto.pbkdf2(password, "salt", 20000, 64, "sha512", (error, key) => then(key.toString("hex")));
}
// end

// planted parse
function parseOrder() {
  return JSON.parse(JSON.stringify({ lines: items })).lines.length;
}
// end

// planted zip
function compress(then) {
  zlib.gzip(big, { level: 9 }, (error, data) => then(data.length));
}
// end

let last = Promise.resolve();

// planted mutex
function book(then) {
  const mine = last.then(() => new Promise((done) => setTimeout(done, 8)));
  last = mine;
  mine.then(() => then("booked"));
}
// end

const causes = { mutex: book, cpu: (then) => then(cheapest()), libuv: (then) => verify("password", then), parse: (then) => then(parseOrder()), zip: compress };

const server = http.createServer((request, response) => {
  if (request.url === "/health") return response.end("ok\n");
  authenticate(request.headers["user-agent"] ?? "", (sum) => {
    causes[process.argv[2]]((found) => response.end(JSON.stringify({ sum, found })));
  });
});
server.keepAliveTimeout = 0; // never closes an idle connection
server.listen(Number(process.argv[3]), "127.0.0.1", 1024);
