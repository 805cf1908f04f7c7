// SPDX-License-Identifier: MIT
// test/peers/java/SpringSide.java - Spring Integration's RedisLockRegistry over Lettuce.
//
// Options: registry=KEY (locks), type=spin|pubsub (spin), watchdog=MS (30000): the lease of
// locks that ask for none, which are renewed. A registry has one lease; so each lease that is
// asked for has a registry of its own, and with it an owner of its own.

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.ConcurrentModificationException;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

final class SpringSide implements Peer.Side {
  private final LettuceConnectionFactory connections;
  private final ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
  private final String key;
  private final boolean isPubSub;
  private final long watchdog;
  private final Map<String, RedisLockRegistry> registries = new ConcurrentHashMap<>();
  /** What is held, by worker and name, the newest last. */
  private final Map<String, Deque<Lock>> holds = new ConcurrentHashMap<>();

  SpringSide(String address, Map<String, String> options) {
    connections = connectionsTo(address);
    connections.afterPropertiesSet();
    connections.start();
    scheduler.afterPropertiesSet();
    key = Peer.option(options, "registry", "locks");
    isPubSub = Peer.option(options, "type", "spin").equals("pubsub");
    watchdog = Long.parseLong(Peer.option(options, "watchdog", "30000"));
    registryOf("-");
  }

  private static LettuceConnectionFactory connectionsTo(String address) {
    String places = address.substring(address.indexOf("://") + 3);
    if (address.startsWith("redis+cluster:")) {
      return new LettuceConnectionFactory(
          new RedisClusterConfiguration(Arrays.asList(places.split(","))));
    }
    URI place = URI.create(address);
    LettuceConnectionFactory one = new LettuceConnectionFactory(place.getHost(), place.getPort());
    one.setDatabase(Peer.database(address));
    return one;
  }

  @Override
  public String greeting() {
    return "spring " + RedisLockRegistry.class.getPackage().getImplementationVersion() + " lock";
  }

  private RedisLockRegistry registryOf(String lease) {
    return registries.computeIfAbsent(lease, l -> {
      RedisLockRegistry registry = new RedisLockRegistry(connections, key,
          l.equals("-") ? watchdog : Long.parseLong(l));
      registry.setRedisLockType(
          isPubSub ? RedisLockType.PUB_SUB_LOCK : RedisLockType.SPIN_LOCK);
      if (l.equals("-")) {
        registry.setRenewalTaskScheduler(scheduler);
      }
      return registry;
    });
  }

  @Override
  public String run(int worker, String... w) throws Exception {
    if (w.length < 3 || !w[1].equals("lock")) {
      throw new UnsupportedOperationException();
    }
    Deque<Lock> mine = holds.computeIfAbsent(worker + " " + w[2], k -> new ArrayDeque<>());
    switch (w[0]) {
      case "lock":
        Lock lock = registryOf(w[4]).obtain(w[2]);
        String got = lock(lock, Peer.ms(w[3]));
        if (got.equals("ok")) {
          mine.addLast(lock);
        }
        return got;
      case "unlock":
        return mine.isEmpty() ? "lost" : unlock(mine.removeLast());
      case "locked":
        try (RedisConnection c = connections.getConnection()) {
          return Peer.flag(c.keyCommands().exists(keyOf(w[2])));
        }
      case "ttl":
        try (RedisConnection c = connections.getConnection()) {
          return "ok " + c.keyCommands().pTtl(keyOf(w[2]));
        }
      default:
        throw new UnsupportedOperationException();
    }
  }

  private byte[] keyOf(String name) {
    return (key + ":" + name).getBytes(StandardCharsets.UTF_8);
  }

  private static String lock(Lock lock, Long wait) throws InterruptedException {
    if (wait == null) {
      lock.lock();
      return "ok";
    }
    boolean has = wait == 0 ? lock.tryLock() : lock.tryLock(wait, TimeUnit.MILLISECONDS);
    return has ? "ok" : wait == 0 ? "busy" : "timeout";
  }

  private static String unlock(Lock lock) {
    try {
      lock.unlock();
      return "ok";
    } catch (ConcurrentModificationException | IllegalStateException e) {
      return "lost";
    }
  }
}
