// Copied beside every Node-RED that is measured: a node that sends messages and one that receives them, so that no HTTP is in the
// measuring path. It does the jobs that bench/run.mjs asks for over IPC, and measures the process that it runs in.
'use strict';

const { monitorEventLoopDelay } = require('node:perf_hooks');

/** @type {(job: object, index: number) => object} what the index-th message of a job holds */
const makers = {
  nothing: () => ({}),
  plain: () => ({ payload: '' }),
  page: ({ base, pages }, index) => ({ url: `${base}/api/v1/system/active-users?number=200&start=${(index % pages) * 200}` }),
  list: ({ base }) => ({ url: `${base}/api/v1/system/active-users?number=200&start=0`, payload: '' }),
  kill: ({ base }, index) => ({ url: `${base}/api/v1/system/active-users/session/${sessionId(index)}`, payload: '' }),
  update: (job, index) => ({ payload: { path: `${ROLES}/${roleOf(job, index)}`, body: { description: `round ${job.round}` } } }),
  ensure: (job, index) => makers.update(job, index),
  create: (job, index) => ({ payload: { path: ROLES, body: { name: `New ${job.round} ${index}`, description: 'new' } } }),
  delete: (job, index) => ({ payload: { path: `${ROLES}/${roleOf({ name: 'Gone' }, index)}` } }),
  end: (_job, index) => ({ payload: sessionId(index) }),
  snapshot: ({ folder }) => ({ folder, payload: '' }),
  ids: ({ ids }) => ({ payload: Array.from({ length: ids }, (_, index) => sessionId(index)) }),
};

const ROLES = 'users/user-roles/user-role';
const roleOf = ({ name = 'Role' }, index) => `${name} ${index}`;
const sessionId = (index) => `sid${String(index).padStart(40, '0')}`;

/** Sends `count` messages, or messages for `ms` milliseconds, with a limit of running ones. `each` starts one and calls back. */
function loop({ count = Infinity, ms = Infinity, outstanding }, each) {
  return new Promise((resolve, reject) => {
    const took = [];
    let started = 0;
    let open = 0;
    let failed = false;
    const until = performance.now() + ms;
    const next = () => {
      const now = performance.now();
      if (started >= count || now >= until) {
        if (open === 0) resolve(took);
        return;
      }
      open++;
      each(started++, (error) => {
        open--;
        took.push(performance.now() - now);
        if (!error) return failed || next();
        failed = true;
        reject(error);
      });
    };
    for (let lane = 0; lane < Math.min(outstanding, count); lane++) next();
  });
}

/** The cost of the work for the process: rate, CPU, latencies, memory, and the longest block of its event loop. */
async function measured(work) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  const rss = () => process.memoryUsage.rss() / 2 ** 20;
  const before = rss();
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, rss())), 50);
  delay.enable();
  const started = performance.now();
  const cpu = process.cpuUsage();
  const took = await work();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - started) / 1000;
  delay.disable();
  clearInterval(watch);
  took.sort((a, b) => a - b);
  const at = (part) => took[Math.min(took.length - 1, Math.floor(took.length * part))];
  return {
    messages: took.length,
    seconds,
    rate: took.length / seconds,
    cpuSeconds: (user + system) / 1e6,
    cpuPer: (user + system) / took.length,
    p50: at(0.5),
    p99: at(0.99),
    rssBefore: before,
    rssPeak: Math.max(peak, rss()),
    stall: Math.max(0, delay.max / 1e6 - 10),
  };
}

module.exports = (RED) => {
  let driver;
  let job = {};

  function Driver(definition) {
    RED.nodes.createNode(this, definition);
    driver = this;
  }
  RED.nodes.registerType('bench-driver', Driver);

  RED.nodes.registerType('bench-sink', function Sink(definition) {
    RED.nodes.createNode(this, definition);
    this.on('input', (message, _send, done) => {
      done();
      const { parts, payload } = message;
      if (parts) {
        // A list in pages ends with its last page.
        job.got = (parts.index === 0 ? 0 : job.got) + payload.length;
        if (parts.index + 1 !== parts.count) return;
      }
      message.bench(wrong(message));
    });
  });

  /** A measurement of failures would be worthless. */
  function wrong({ statusCode, payload, error, parts }) {
    if (error) return new Error(`The node failed: ${error.message}`);
    if (statusCode !== undefined && (statusCode < 200 || statusCode > 299)) return new Error(`The node failed: ${statusCode} ${payload}`);
    const got = parts ? job.got : Array.isArray(payload) ? payload.length : payload?.ok;
    if (job.expect !== undefined && got !== job.expect) return new Error(`Wrong result: ${got} instead of ${job.expect}`);
    return undefined;
  }

  const outputs = 32;
  const flow = (index, done) => {
    // A mixture sends each kind in turn.
    const { make, lane } = job.mix ? job.mix[index % job.mix.length] : job;
    const message = makers[make](job, index);
    message.bench = done;
    const lanes = new Array(outputs).fill(null);
    lanes[lane] = message;
    driver.send(lanes);
  };

  /** The limit: the same exchanges by undici alone, in an equal process without Node-RED. */
  let pool;
  /** Of this process. A client with fewer requests is still compiled while it is measured. */
  let bareRequests = 0;
  const MIN_BARE_REQUESTS = 2000;
  /** Records, as one message must hold them. */
  let kept = [];
  const bare = (index, done) => {
    bareRequests++;
    const method = job.make === 'kill' ? 'DELETE' : 'GET';
    const path = job.make === 'plain' ? '/api/v1/system/system-information' : makers[job.make](job, index).url.slice(job.base.length);
    pool.client
      .request({ method, path, headers: { authorization: job.authorization, accept: 'application/json' } })
      .then(({ body }) => (method === 'DELETE' ? body.dump() : body.json()))
      .then((value) => {
        if (job.keep) for (const record of value['active-users']['active-user-records']['active-user-record']) kept.push(record);
        done();
      })
      .catch(done);
  };

  async function perform({ warm, ...given }) {
    job = given;
    if (job.by === 'parse') return parse();
    const each = job.by === 'bare' ? bare : flow;
    if (job.by === 'bare' && pool?.connections !== job.outstanding) {
      const { Pool } = require(job.undici);
      await pool?.client.close();
      const options = { connections: job.outstanding, keepAliveTimeout: 75_000, connect: { ca: job.ca } };
      pool = { connections: job.outstanding, client: new Pool(job.base, options) };
    }
    // The records of a warm-up would be garbage to collect in the measured part.
    job = { ...given, keep: false };
    if (job.by === 'bare' && bareRequests < MIN_BARE_REQUESTS)
      await loop({ outstanding: job.outstanding, count: MIN_BARE_REQUESTS - bareRequests }, bare);
    if (warm) await loop({ ...job, ...warm }, each);
    job = given;
    kept = [];
    return measured(() => loop(job, each));
  }

  /** The minimum cost of a list: its pages are only decoded and parsed, or their records are also kept, as in one message. */
  async function parse() {
    const { Pool } = require(job.undici);
    const client = new Pool(job.base, { connections: 8, connect: { ca: job.ca } });
    const bodies = [];
    for (let index = 0; index < job.pages; index++) {
      const path = makers.page(job, index).url.slice(job.base.length);
      const { body } = await client.request({ method: 'GET', path, headers: { authorization: job.authorization } });
      bodies.push(Buffer.from(await body.arrayBuffer()));
    }
    await client.close();
    const list = () => {
      const records = [];
      for (const body of bodies) {
        const users = JSON.parse(body.toString('utf8'))['active-users'];
        if (job.keep) for (const record of users['active-user-records']['active-user-record']) records.push(record);
      }
      return 0;
    };
    const lists = () => Array.from({ length: job.count ?? 1 }, list);
    if (job.keep) lists();
    return measured(lists);
  }

  process.on('message', (asked) => {
    const answer = (value) => process.send({ id: asked.id, ...value });
    if (asked.job === 'usage') {
      const { user, system } = process.cpuUsage();
      answer({ value: { cpu: (user + system) / 1000, rss: process.memoryUsage.rss() / 2 ** 20 } });
    } else
      perform(asked.job).then(
        (value) => answer({ value }),
        (error) => answer({ error: String(error?.stack ?? error) }),
      );
  });
};
