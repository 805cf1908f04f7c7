// SPDX-License-Identifier: MIT
// test/peers/java/RedissonSide.java - Redisson 3 and 4, by what both have.
//
// Options: watchdog=MS (30000), fair_wait=MS (300000), sharded=no: in a cluster, messages go to
// all of it. Its codec is the one that it has by itself, but for maps, lists and sets: the locks
// of all others do not depend on it. as=shipped: as many threads and
// connections as Redisson has by itself.

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RSemaphore;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ShardedSubscriptionMode;

final class RedissonSide implements Peer.Side {
  private static final StringCodec CODEC = StringCodec.INSTANCE;

  private final RedissonClient redisson;
  /** One for each server of a quorum, by itself as getRedLock() wants them; else one. */
  private final RedissonClient[] clients;
  /** Permits by worker and name, the newest last. */
  private final Map<String, Deque<String>> ids = new ConcurrentHashMap<>();

  RedissonSide(String address, Map<String, String> options) {
    clients = Arrays.stream(address.split(" ")).map(one -> clientOf(one, options))
        .toArray(RedissonClient[]::new);
    redisson = clients[0];
  }

  private static RedissonClient clientOf(String address, Map<String, String> options) {
    Config config = new Config();
    boolean isShipped = Peer.option(options, "as", "").equals("shipped");
    if (!isShipped) {
      config.setThreads(4).setNettyThreads(4);
    }
    config.setLockWatchdogTimeout(Long.parseLong(Peer.option(options, "watchdog", "30000")));
    if (options.containsKey("fair_wait")) {
      config.setFairLockWaitTimeout(Long.parseLong(options.get("fair_wait")));
    }
    if (address.startsWith("redis+cluster://")) {
      ClusterServersConfig cluster = config.useClusterServers();
      if (Peer.option(options, "sharded", "yes").equals("no")) {
        cluster.setShardedSubscriptionMode(ShardedSubscriptionMode.OFF);
      }
      cluster.setMasterConnectionMinimumIdleSize(2).setSlaveConnectionMinimumIdleSize(1)
          .addNodeAddress(Arrays.stream(address.substring(16).split(","))
              .map(a -> "redis://" + a).toArray(String[]::new));
    } else {
      config.useSingleServer().setAddress(address).setDatabase(Peer.database(address));
      if (!isShipped) {
        config.useSingleServer().setConnectionMinimumIdleSize(2);
      }
    }
    return Redisson.create(config);
  }

  @Override
  public String greeting() {
    return "redisson " + Redisson.class.getPackage().getImplementationVersion()
        + (clients.length > 1 ? " redlock" : " lock,fair,spin,fenced,read,write,multi,red,"
        + "semaphore,expirable,latch,rate,map,list,set");
  }

  @Override
  public String run(int worker, String... w) throws Exception {
    switch (w[0]) {
      case "lock":
        return lock(lockOf(w[1], w[2]), Peer.ms(w[3]), Peer.ms(w[4]));
      case "unlock":
        return unlock(lockOf(w[1], w[2]));
      case "force":
        return Peer.flag(lockOf(w[1], w[2]).forceUnlock());
      case "locked":
        return Peer.flag(lockOf(w[1], w[2]).isLocked());
      case "held":
        return Peer.flag(lockOf(w[1], w[2]).isHeldByCurrentThread());
      case "count":
        return "ok " + lockOf(w[1], w[2]).getHoldCount();
      case "ttl":
        return "ok " + lockOf(w[1], w[2]).remainTimeToLive();
      case "permits":
        return w[2].equals("expirable") ? expirable(worker, w) : semaphore(w);
      case "latch":
        return latch(w);
      case "rate":
        return rate(w);
      case "map":
      case "list":
      case "set":
        return collection(w);
      default:
        throw new UnsupportedOperationException();
    }
  }

  private RLock lockOf(String kind, String name) {
    switch (kind) {
      case "lock":
        return redisson.getLock(name);
      case "fair":
        return redisson.getFairLock(name);
      case "spin":
        return redisson.getSpinLock(name);
      case "fenced":
        return redisson.getFencedLock(name);
      case "read":
        return redisson.getReadWriteLock(name).readLock();
      case "write":
        return redisson.getReadWriteLock(name).writeLock();
      case "multi":
        return redisson.getMultiLock(locksOf(name));
      case "red":
        return new RedissonRedLock(locksOf(name));
      case "redlock":
        return new RedissonRedLock(Arrays.stream(clients).map(c -> c.getLock(name))
            .toArray(RLock[]::new));
      default:
        throw new UnsupportedOperationException();
    }
  }

  private RLock[] locksOf(String names) {
    return Arrays.stream(names.split(",")).map(redisson::getLock).toArray(RLock[]::new);
  }

  private static String token(RLock lock) {
    return lock instanceof RFencedLock fenced ? "ok " + fenced.getToken() : "ok";
  }

  private static String lock(RLock lock, Long wait, Long lease) throws InterruptedException {
    if (wait == null) {
      if (lease == null) {
        lock.lock();
      } else {
        lock.lock(lease, TimeUnit.MILLISECONDS);
      }
      return token(lock);
    }
    boolean has;
    if (wait == 0 && lease == null) {
      has = lock.tryLock();
    } else {
      has = lock.tryLock(wait, lease == null ? -1 : lease, TimeUnit.MILLISECONDS);
    }
    return has ? token(lock) : wait == 0 ? "busy" : "timeout";
  }

  private static String unlock(RLock lock) {
    try {
      lock.unlock();
      return "ok";
    } catch (IllegalMonitorStateException e) {
      return "lost";
    }
  }

  private String semaphore(String[] w) throws InterruptedException {
    RSemaphore s = redisson.getSemaphore(w[3]);
    switch (w[1]) {
      case "set":
        return Peer.flag(s.trySetPermits(Integer.parseInt(w[4])));
      case "available":
        return "ok " + s.availablePermits();
      case "release":
        s.release(Integer.parseInt(w[4]));
        return "ok";
      default:
        int n = Integer.parseInt(w[4]);
        Long wait = Peer.ms(w[5]);
        if (wait == null) {
          s.acquire(n);
          return "ok";
        }
        return s.tryAcquire(n, Duration.ofMillis(wait)) ? "ok" : wait == 0 ? "busy" : "timeout";
    }
  }

  private String expirable(int worker, String[] w) throws InterruptedException {
    RPermitExpirableSemaphore s = redisson.getPermitExpirableSemaphore(w[3]);
    Deque<String> mine = ids.computeIfAbsent(worker + " " + w[3], k -> new ArrayDeque<>());
    switch (w[1]) {
      case "set":
        return Peer.flag(s.trySetPermits(Integer.parseInt(w[4])));
      case "available":
        return "ok " + s.availablePermits();
      case "release":
        return s.tryRelease(mine.removeLast()) ? "ok" : "lost";
      default:
        Long wait = Peer.ms(w[5]);
        Long lease = Peer.ms(w[6]);
        TimeUnit unit = TimeUnit.MILLISECONDS;
        String id = wait == null
            ? lease == null ? s.acquire() : s.acquire(lease, unit)
            : lease == null ? s.tryAcquire(wait, unit) : s.tryAcquire(wait, lease, unit);
        if (id == null) {
          return wait != null && wait == 0 ? "busy" : "timeout";
        }
        mine.addLast(id);
        return "ok " + id;
    }
  }

  private String latch(String[] w) throws InterruptedException {
    RCountDownLatch latch = redisson.getCountDownLatch(w[2]);
    switch (w[1]) {
      case "set":
        return Peer.flag(latch.trySetCount(Long.parseLong(w[3])));
      case "down":
        latch.countDown();
        return "ok";
      case "get":
        return "ok " + latch.getCount();
      case "delete":
        return Peer.flag(latch.delete());
      default:
        Long wait = Peer.ms(w[3]);
        if (wait == null) {
          latch.await();
          return "ok";
        }
        return latch.await(wait, TimeUnit.MILLISECONDS) ? "ok" : "timeout";
    }
  }

  private String rate(String[] w) {
    RRateLimiter limiter = redisson.getRateLimiter(w[2]);
    switch (w[1]) {
      case "set":
        return Peer.flag(limiter.trySetRate(RateType.OVERALL, Long.parseLong(w[3]),
            Duration.ofMillis(Long.parseLong(w[4]))));
      case "available":
        return "ok " + limiter.availablePermits();
      default:
        long n = Long.parseLong(w[3]);
        Long wait = Peer.ms(w[4]);
        if (wait == null) {
          limiter.acquire(n);
          return "ok";
        }
        boolean has = wait == 0 ? limiter.tryAcquire(n)
            : limiter.tryAcquire(n, Duration.ofMillis(wait));
        return has ? "ok" : wait == 0 ? "busy" : "timeout";
    }
  }

  private static String value(Object text) {
    return text == null ? "ok" : "ok " + text;
  }

  private String collection(String[] w) {
    switch (w[0] + " " + w[1]) {
      case "map put":
        return value(redisson.<String, String>getMap(w[2], CODEC).put(w[3], w[4]));
      case "map get":
        return value(redisson.<String, String>getMap(w[2], CODEC).get(w[3]));
      case "map remove":
        return value(redisson.<String, String>getMap(w[2], CODEC).remove(w[3]));
      case "map size":
        return "ok " + redisson.getMap(w[2], CODEC).size();
      case "list add":
        return Peer.flag(redisson.<String>getList(w[2], CODEC).add(w[3]));
      case "list get":
        return value(redisson.<String>getList(w[2], CODEC).get(Integer.parseInt(w[3])));
      case "list size":
        return "ok " + redisson.getList(w[2], CODEC).size();
      case "set add":
        return Peer.flag(redisson.<String>getSet(w[2], CODEC).add(w[3]));
      case "set has":
        return Peer.flag(redisson.<String>getSet(w[2], CODEC).contains(w[3]));
      case "set remove":
        return Peer.flag(redisson.<String>getSet(w[2], CODEC).remove(w[3]));
      case "set size":
        return "ok " + redisson.getSet(w[2], CODEC).size();
      default:
        throw new UnsupportedOperationException();
    }
  }
}
