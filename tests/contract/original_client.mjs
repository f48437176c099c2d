// A client of the original queuelog, plain Node: it knows the thirteen fields and nothing else.
// usage: node original_client.mjs URL PRODUCER_KEY WORKER_KEY ADMIN_KEY WORKER_ID
// It ends with 1 and one line on stderr at the first difference from what the original answered.

const [url, producerKey, workerKey, adminKey, workerId] = process.argv.slice(2);
const isText = (value) => typeof value === 'string';
const isCount = (value) => Number.isInteger(value) && value >= 0;
const isTime = (value) => isText(value) && !Number.isNaN(Date.parse(value));
const orNull = (check) => (value) => value === null || check(value);
const FIELDS = {
  id: (value) => Number.isSafeInteger(value) && value > 0,
  type: isText,
  payload: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  priority: (value) => ['low', 'medium', 'high', 'critical'].includes(value),
  status: (value) => ['pending', 'running', 'completed', 'failed'].includes(value),
  retry_count: isCount,
  max_retries: isCount,
  idempotency_key: orNull(isText),
  claimed_at: orNull(isTime),
  worker_id: orNull(isText),
  error: orNull(isText),
  created_at: isTime,
  updated_at: isTime,
};

function differs(what, wanted, got) {
  console.error(`${what}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`);
  process.exit(1);
}

async function send(key, method, path, body) {
  const headers = { 'X-API-Key': key };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const reply = await fetch(url + path, { method, headers, body: sent });
  const text = await reply.text();
  return { status: reply.status, body: text === '' ? null : JSON.parse(text) };
}

/** Compare the status of an answer, the form of its job and the values that matter here. */
function jobIn(what, reply, status, values) {
  if (reply.status !== status) differs(`${what}, HTTP status`, status, reply.status);
  for (const [name, isRight] of Object.entries(FIELDS)) {
    if (!isRight(reply.body[name])) differs(`${what}, ${name}`, 'its form', reply.body[name]);
  }
  for (const [name, wanted] of Object.entries(values)) {
    const got = reply.body[name];
    if (JSON.stringify(got) !== JSON.stringify(wanted)) differs(`${what}, ${name}`, wanted, got);
  }
  return reply.body;
}

const enqueue = (body) => send(producerKey, 'POST', '/jobs', body);
const claim = () => send(workerKey, 'POST', '/jobs/claim', { worker_id: workerId });
const complete = (id) => send(workerKey, 'POST', `/jobs/${id}/complete`, {});
const fail = (id, error) => send(workerKey, 'POST', `/jobs/${id}/fail`, { error });
const read = (id) => send(adminKey, 'GET', `/jobs/${id}`);

async function idsIn(status) {
  const reply = await send(adminKey, 'GET', `/jobs?status=${status}`);
  if (reply.status !== 200) differs(`list ${status}, HTTP status`, 200, reply.status);
  return reply.body.jobs.map((job) => jobIn(`list ${status}`, { status: 200, body: job }, 200, {}).id);
}

async function expectIds(status, wanted) {
  const got = await idsIn(status);
  if (JSON.stringify(got) !== JSON.stringify(wanted)) differs(`list ${status}`, wanted, got);
}

/** enqueue twice with one key, list, get, claim, complete. */
async function runToCompleted() {
  const body = { type: 'email', payload: { to: 'ada@example.com' }, idempotency_key: 'welcome-1' };
  const fresh = { type: 'email', payload: body.payload, priority: 'medium', status: 'pending',
    retry_count: 0, max_retries: 3, idempotency_key: 'welcome-1', claimed_at: null,
    worker_id: null, error: null };
  const { id } = jobIn('enqueue', await enqueue(body), 201, fresh);
  jobIn('enqueue again', await enqueue(body), 200, { ...fresh, id });
  await expectIds('pending', [id]);
  jobIn('get', await read(id), 200, { ...fresh, id });

  const running = { id, status: 'running', worker_id: workerId };
  if (jobIn('claim', await claim(), 200, running).claimed_at === null) {
    differs('claim, claimed_at', 'a time', null);
  }
  await expectIds('pending', []);
  await expectIds('running', [id]);
  jobIn('complete', await complete(id), 200, { id, status: 'completed', error: null });
  await expectIds('completed', [id]);
  const late = await complete(id);
  if (late.status !== 409) differs('complete again, HTTP status', 409, late.status);
}

/** fail until the budget is spent: pending again after each of the first two, then failed. */
async function runToFailed() {
  const { id } = jobIn('enqueue', await enqueue({ type: 'pdf', max_retries: 2 }), 201,
    { payload: {}, max_retries: 2, idempotency_key: null });
  for (const spent of [1, 2]) {
    jobIn('claim', await claim(), 200, { id, status: 'running', retry_count: spent - 1 });
    jobIn('fail', await fail(id, 'printer on fire'), 200,
      { status: 'pending', retry_count: spent, claimed_at: null, worker_id: null });
    jobIn('get', await read(id), 200, { status: 'pending', error: 'printer on fire' });
  }
  jobIn('claim', await claim(), 200, { id, status: 'running', retry_count: 2 });
  jobIn('last fail', await fail(id, 'out of paper'), 200,
    { id, status: 'failed', retry_count: 2, worker_id: workerId });
  jobIn('get', await read(id), 200, { status: 'failed', error: 'out of paper' });
  await expectIds('failed', [id]);
  const late = await fail(id, 'again');
  if (late.status !== 409) differs('fail again, HTTP status', 409, late.status);
}

/** max_retries 0 fails at once; the highest priority goes first, then the oldest. */
async function runOthers() {
  const { id } = jobIn('enqueue', await enqueue({ type: 'sync', max_retries: 0 }), 201, {});
  jobIn('claim', await claim(), 200, { id });
  jobIn('fail without retries', await fail(id, 'gone'), 200, { status: 'failed', retry_count: 0 });

  const order = [];
  for (const priority of ['low', 'medium', 'high', 'medium']) {
    order.push(jobIn('enqueue', await enqueue({ type: 'email', priority }), 201, { priority }).id);
  }
  for (const place of [2, 1, 3, 0]) {
    jobIn('claim in order', await claim(), 200, { id: order[place] });
    jobIn('complete', await complete(order[place]), 200, { status: 'completed' });
  }
  const none = await claim();
  if (none.status !== 204) differs('claim without a job, HTTP status', 204, none.status);
  const unknown = await read(999);
  if (unknown.status !== 404) differs('get an unknown job, HTTP status', 404, unknown.status);
}

await runToCompleted();
await runToFailed();
await runOthers();
console.log('the original client ran to its end');
