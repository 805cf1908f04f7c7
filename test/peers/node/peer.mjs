// SPDX-License-Identifier: MIT
// test/peers/node/peer.mjs - redlock and redis-semaphore's Mutex behind the line protocol of
// ../PROTOCOL.md.
//
// Options: library=redlock|redis-semaphore, watchdog=MS, as=shipped: waiting is the library's own, and
// so is its silence when a Mutex is given back too late. Redlock's acquire() renews nothing, so a
// lock without a lease is not offered there. A Mutex puts `mutex:` before its key: names begin so.
import { closeSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'
import Redis from 'ioredis'
import { Mutex } from 'redis-semaphore'

// The package's "exports" names no types for modules; its CommonJS is what works.
const Redlock = createRequire(import.meta.url)('redlock').default
const NAP_MS = 5
const PREFIX = 'mutex:'

const [address, ...words] = process.argv.slice(2)
const options = Object.fromEntries(words.map((word) => word.split('=')))
const watchdog = Number(options.watchdog ?? 30000)
const CLUSTER = 'redis+cluster://'
const connected = (one) => one.startsWith(CLUSTER)
  ? new Redis.Cluster(one.slice(CLUSTER.length).split(',').map((place) => `redis://${place}`))
  : new Redis(one, { maxRetriesPerRequest: 3 })
const clients = address.split(' ').map(connected)
const redis = clients[0]
const isShipped = options.as === 'shipped'
const nap = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// One attempt: what gives it back (false: it was over), or null where somebody else has it.

const redlock = new Redlock(clients, { retryCount: 0, automaticExtensionThreshold: 0 })
redlock.on('error', () => {})
const waitingRedlock = new Redlock(clients, { retryCount: -1 })
waitingRedlock.on('error', () => {})

// Without a majority, a lock that is taken and one that could not be asked for look the same
// but for what each server said.
async function isTaken (error) {
  for (const attempt of error.attempts ?? []) {
    const votes = await attempt
    for (const vote of votes.votesAgainst.values()) {
      if (!/resource locked|locked/i.test(`${vote.name} ${vote.message}`)) return false
    }
  }
  return true
}

async function tryRedlock (name, lease, waits) {
  try {
    const lock = await (waits ? waitingRedlock : redlock).acquire([name], Number(lease))
    return async () => {
      try {
        await lock.release()
        return true
      } catch (error) {
        if (error.name === 'ExecutionError') return false
        throw error
      }
    }
  } catch (error) {
    if (error.name === 'ExecutionError' && await isTaken(error)) return null
    throw error
  }
}

// Releasing a Mutex is silent about a loss; so the key is looked at just before.
async function tryMutex (name, lease, waits) {
  const mutex = new Mutex(redis, name.slice(PREFIX.length), {
    lockTimeout: lease === '-' ? watchdog : Number(lease),
    refreshInterval: lease === '-' ? watchdog * 0.4 : 0,
    ...(waits ? { acquireTimeout: Infinity } : { acquireAttemptsLimit: 1 }),
    onLockLost: () => {}
  })
  if (waits) await mutex.acquire()
  else if (!await mutex.tryAcquire()) return null
  return async () => {
    const isMine = isShipped || await redis.get(name) === mutex.identifier
    await mutex.release()
    return isMine
  }
}

const VERBS = ['lock', 'unlock', 'locked', 'ttl', 'cycles']

class Worker {
  held = new Map()
  last = Promise.resolve()

  async lock (name, wait, lease) {
    const end = wait === '-' ? Infinity : Date.now() + Number(wait)
    if (lease === '-' && options.library !== 'redis-semaphore') return 'unsupported'
    const attempt = options.library === 'redis-semaphore' ? tryMutex : tryRedlock
    for (;;) {
      const back = await attempt(name, lease, isShipped && wait === '-')
      if (back !== null) {
        this.held.set(name, [...(this.held.get(name) ?? []), back])
        return 'ok'
      }
      if (wait === '0') return 'busy'
      if (Date.now() > end) return 'timeout'
      await nap(NAP_MS)
    }
  }

  async unlock (name) {
    const back = this.held.get(name)?.pop()
    return back !== undefined && await back() ? 'ok' : 'lost'
  }

  async locked (name) {
    return `ok ${await redis.exists(name)}`
  }

  async ttl (name) {
    return `ok ${await redis.pttl(name)}`
  }

  async cycles (name, count, lease, counter, records, inside = '0') {
    const file = openSync(counter, 'r+')
    const bytes = Buffer.alloc(8)
    const lines = []
    let lost = 0
    let enter, leave
    for (let i = 0; i < Number(count); i++) {
      const got = await this.lock(name, '-', lease)
      if (got !== 'ok') return `error cycle ${i}: ${got}`
      enter = process.hrtime.bigint()
      readSync(file, bytes, 0, 8, 0)
      bytes.writeBigInt64LE(bytes.readBigInt64LE() + 1n)
      writeSync(file, bytes, 0, 8, 0)
      if (inside !== '0') await nap(Number(inside))
      leave = process.hrtime.bigint()
      lines.push(`${enter} ${leave}\n`)
      if (await this.unlock(name) !== 'ok') lost++
    }
    closeSync(file)
    if (records === '-') return `ok ${count} ${lost} ${enter} ${leave}`
    writeFileSync(records, lines.join(''))
    return `ok ${count} ${lost}`
  }

  async run ([verb, kind, ...rest]) {
    if (!['lock', 'redlock'].includes(kind) || !VERBS.includes(verb)) return 'unsupported'
    try {
      return await this[verb](...rest)
    } catch (error) {
      return `error ${error.name} ${error.message}`.replaceAll('\n', ' ')
    }
  }
}

if (clients.length > 1 && options.library === 'redis-semaphore') {
  console.log('no redis-semaphore: its Mutex has one server')
  process.exit(1)
}
await Promise.all(clients.map((one) => one.ping()))
const library = options.library ?? 'redlock'
const about = new URL(`./node_modules/${library}/package.json`, import.meta.url)
console.log(`ready ${library} ${JSON.parse(readFileSync(about)).version} ${clients.length > 1 ? 'redlock' : 'lock'}`)
const workers = new Map()
for await (const line of createInterface({ input: process.stdin })) {
  const [number, ...command] = line.trim().split(/ +/).map(decodeURIComponent)
  if (!workers.has(number)) workers.set(number, new Worker())
  const worker = workers.get(number)
  worker.last = worker.last.then(() => worker.run(command)).then((answer) =>
    console.log(`${number} ${process.hrtime.bigint()} ${answer}`))
}
process.exit(0)
