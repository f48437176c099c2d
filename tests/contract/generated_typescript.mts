// A program on openapi-fetch and the types of openapi-typescript: one job from enqueue to completed.
// usage: node generated_typescript.mjs URL PRODUCER_KEY WORKER_KEY; it prints the job's id.

import createClient from 'openapi-fetch';
import type { paths } from './schema.mjs';

declare const process: { argv: string[] };

const [url, producerKey, workerKey] = process.argv.slice(2);
const caller = (key: string) => createClient<paths>({ baseUrl: url, headers: { 'X-API-Key': key } });
const worker = caller(workerKey);

const enqueued = await caller(producerKey).POST('/jobs', { body: { type: 'email', priority: 'high' } });
if (enqueued.error) throw new Error(enqueued.error.detail);

const claimed = await worker.POST('/jobs/claim', { body: { types: ['email'] } });
if (claimed.error) throw new Error(claimed.error.detail);
if (!claimed.data || 'jobs' in claimed.data) throw new Error('one job was wanted');
const { id, attempt } = claimed.data;

const done = await worker.POST('/jobs/{id}/complete', {
  params: { path: { id } },
  body: { attempt, result: { sent: true } },
});
if (done.error) throw new Error(done.error.detail);
if (done.data.id !== enqueued.data.id) throw new Error('another job was completed');
console.log(done.data.id);
