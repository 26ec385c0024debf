import { expect, test } from "bun:test";
import { httpRequest } from "../../src/base/bounded-http.ts";
import { codeOf } from "../../src/base/failure.ts";
import { HttpAnswerReader } from "../../src/base/http-answer.ts";
import { tempFolder } from "../support/temp-folder.ts";

const get = { method: "GET", headers: {}, timeoutMs: 20_000, maxBytes: 1_000 };
const failure = async (work: Promise<unknown>): Promise<string> => await work.then(() => "none", codeOf);

/** A server that answers every connection with these bytes and closes it. */
function rawServer(answer: string) {
  return Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(answer);
        socket.end();
      },
    },
  });
}

test("httpRequest() sends method, headers and body, and reads an answer of any status", async () => {
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const seen = [request.method, request.headers.get("x-a"), await request.text()].join("|");
      return new Response(seen, { status: 418, headers: { "x-b": "c" } });
    },
  });
  const answer = await httpRequest({
    ...get,
    url: `http://127.0.0.1:${server.port}/p?q=1`,
    method: "POST",
    headers: { "X-A": "1" },
    body: "{}",
  });
  expect([answer.status, answer.headers["x-b"], Buffer.from(answer.body).toString()]).toEqual([418, "c", "POST|1|{}"]);
});

test("httpRequest() sends a body larger than the socket takes at once", async () => {
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => new Response(String((await request.arrayBuffer()).byteLength)),
  });
  const body = new Uint8Array(8 * 1024 * 1024);
  const answer = await httpRequest({ ...get, url: `http://127.0.0.1:${server.port}/`, method: "POST", body });
  expect(Buffer.from(answer.body).toString()).toBe(String(body.length));
});

test("httpRequest() takes a body at its bound and refuses one byte more, by length and in chunks", async () => {
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname } = new URL(request.url);
      const bytes = new Uint8Array(Number(pathname.split("/")[2]));
      if (pathname.startsWith("/length")) return new Response(bytes);
      return new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(bytes.subarray(0, 10));
            controller.enqueue(bytes.subarray(10));
            controller.close();
          },
        }),
      );
    },
  });
  for (const kind of ["length", "chunked"]) {
    const url = (bytes: number): string => `http://127.0.0.1:${server.port}/${kind}/${bytes}`;
    expect((await httpRequest({ ...get, url: url(1_000) })).body.length).toBe(1_000);
    expect(await failure(httpRequest({ ...get, url: url(1_001) }))).toBe("http_result_limit");
  }
});

test("httpRequest() gives up on a silent server at its deadline", async () => {
  await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Promise<Response>(() => {}) });
  const silent = httpRequest({ ...get, url: `http://127.0.0.1:${server.port}/`, timeoutMs: 50 });
  expect(await failure(silent)).toBe("http_timeout");
});

test("httpRequest() does not follow a redirect", async () => {
  let asked = 0;
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch() {
      asked += 1;
      return Response.redirect("/elsewhere", 302);
    },
  });
  expect((await httpRequest({ ...get, url: `http://127.0.0.1:${server.port}/` })).status).toBe(302);
  expect(asked).toBe(1);
});

test("httpRequest() refuses other protocols, credentials in the address and line ends in a header", async () => {
  expect(await failure(httpRequest({ ...get, url: "ftp://127.0.0.1/" }))).toBe("http_unreachable");
  expect(await failure(httpRequest({ ...get, url: "http://a:b@127.0.0.1/" }))).toBe("http_unreachable");
  const headers = { "x-a": "1\r\nx-b: 2" };
  expect(await failure(httpRequest({ ...get, url: "http://127.0.0.1:9/", headers }))).toBe("http_malformed");
});

test("httpRequest() says unreachable when nobody listens", async () => {
  const server = rawServer("");
  const { port } = server;
  server.stop(true);
  expect(await failure(httpRequest({ ...get, url: `http://127.0.0.1:${port}/` }))).toBe("http_unreachable");
});

for (const [name, answer] of [
  ["no HTTP", "hello\r\n\r\n"],
  ["a body cut short", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc"],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nabcde"],
  ["length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["a chunk size that is none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n"],
  ["a header without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n"],
] as const) {
  test(`httpRequest() calls ${name} malformed`, async () => {
    const server = rawServer(answer);
    expect(await failure(httpRequest({ ...get, url: `http://127.0.0.1:${server.port}/` }))).toBe("http_malformed");
    server.stop(true);
  });
}

test("HttpAnswerReader reads each framing at every split point", () => {
  const head = "HTTP/1.1 200 OK\r\nX-A: 1\r\n";
  const answers = [
    `${head}content-length: 5\r\n\r\nhello`,
    `HTTP/1.1 100 Continue\r\n\r\n${head}transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n`,
    `${head}\r\nhello`,
  ];
  for (const answer of answers) {
    const bytes = Buffer.from(answer);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const reader = new HttpAnswerReader({ maxBytes: 5, headOnly: false });
      reader.push(bytes.subarray(0, cut));
      reader.push(bytes.subarray(cut));
      const { status, headers, body } = reader.end();
      expect([status, headers["x-a"], Buffer.from(body).toString()]).toEqual([200, "1", "hello"]);
    }
  }
});

test("httpRequest() leaves nothing behind after a request that it refused: no late failure, no timer", async () => {
  const source = `import { httpRequest } from ${JSON.stringify(`${import.meta.dir}/../../src/base/bounded-http.ts`)};
    const request = { url: "http://127.0.0.1:1/", method: "GET", headers: {}, timeoutMs: 100, maxBytes: 100 };
    const codes = [];
    for (const wrong of [{ headers: { a: "b\\r\\nc: d" } }, { method: "GET /\\r\\nx" }, { url: "http://127.0.0.1:0/" }]) {
      await httpRequest({ ...request, ...wrong }).catch(({ code }) => codes.push(code));
    }
    await Bun.sleep(400);
    console.log(codes.join(" "));`;
  const child = Bun.spawn([process.execPath, "-e", source], { env: {}, stdout: "pipe", stderr: "pipe" });
  expect((await new Response(child.stdout).text()).trim()).toBe("http_malformed http_malformed http_unreachable");
  expect([await new Response(child.stderr).text(), await child.exited]).toEqual(["", 0]);
});

/** The status or failure of one request, made by a process of its own with just this environment. */
async function requestUnder(env: Record<string, string>, url: string): Promise<string> {
  const source = `import { httpRequest } from ${JSON.stringify(`${import.meta.dir}/../../src/base/bounded-http.ts`)};
    const request = { url: ${JSON.stringify(url)}, method: "GET", headers: {}, timeoutMs: 50_000, maxBytes: 100 };
    console.log(await httpRequest(request).then(({ status }) => status, ({ code }) => code));`;
  const child = Bun.spawn([process.execPath, "-e", source], { env, stdout: "pipe" });
  return (await new Response(child.stdout).text()).trim();
}

/** Counts who comes and hangs up. */
function counter() {
  const seen = { connections: 0 };
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        seen.connections += 1;
        socket.end();
      },
      data() {},
    },
  });
  return { seen, port: listener.port, [Symbol.dispose]: () => listener.stop(true) };
}

test("httpRequest() goes past every proxy that the environment names, for http and https", async () => {
  using proxy = counter();
  using target = counter();
  const at = `http://127.0.0.1:${proxy.port}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);
  const env = Object.fromEntries(names.map((name) => [name, at]));

  for (const scheme of ["http", "https"]) await requestUnder(env, `${scheme}://127.0.0.1:${target.port}/`);

  expect([proxy.seen.connections, target.seen.connections]).toEqual([0, 2]);
});

test.skipIf(Bun.which("openssl") === null)(
  "httpRequest() takes a certificate that holds for the name, and no other, whatever the environment allows",
  async () => {
    await using dir = await tempFolder();
    const [key, cert] = [`${dir.path}/key.pem`, `${dir.path}/cert.pem`];
    const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    const made = Bun.spawnSync(["openssl", "req", "-x509", ...curve, "-nodes", "-keyout", key, "-out", cert, ...names]);
    expect([made.exitCode, made.exitCode === 0 ? "" : made.stderr.toString()]).toEqual([0, ""]);
    let requests = 0;
    await using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      // On a busy machine a client may take longer to begin than a server waits by default.
      idleTimeout: 0,
      tls: { key: Bun.file(key), cert: Bun.file(cert) },
      fetch: () => {
        requests += 1;
        return new Response("hi");
      },
    });

    const trusting = { NODE_EXTRA_CA_CERTS: cert };
    const said = [
      await requestUnder(trusting, `https://127.0.0.1:${server.port}/`),
      await requestUnder(trusting, `https://localhost:${server.port}/`),
      await requestUnder({}, `https://127.0.0.1:${server.port}/`),
      await requestUnder({ NODE_TLS_REJECT_UNAUTHORIZED: "0" }, `https://127.0.0.1:${server.port}/`),
    ];
    expect(said).toEqual(["200", "http_unreachable", "http_unreachable", "http_unreachable"]);
    expect(requests).toBe(1);
  },
);
