// SPDX-License-Identifier: MIT
// test/peers/java/Peer.java - reads commands, one a line, and answers them: ../PROTOCOL.md.
//
// Peer SIDE ADDRESS [OPTION=VALUE]... - SIDE names the class that knows the library. Each worker
// is a thread of its own, because owners are threads.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

public final class Peer {
  /** What one library can do. Called by many threads. */
  interface Side {
    /** "name version kind,kind,..." */
    String greeting();

    /** A command without its worker; the answer without worker and time. */
    String run(int worker, String... words) throws Exception;
  }

  private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

  private Peer() {}

  static void answer(int worker, long ns, String what) {
    synchronized (OUT) {
      OUT.print(worker + " " + ns + " " + what.replace('\n', ' ') + "\n");
      OUT.flush();
    }
  }

  /** Milliseconds of a word; "-" is null. */
  static Long ms(String word) {
    return word.equals("-") ? null : Long.valueOf(word);
  }

  static String flag(boolean is) {
    return is ? "ok 1" : "ok 0";
  }

  static String option(Map<String, String> options, String name, String otherwise) {
    return options.getOrDefault(name, otherwise);
  }

  /** Of redis://HOST:PORT/DATABASE. */
  static int database(String address) {
    String path = URI.create(address).getPath();
    return path.length() > 1 ? Integer.parseInt(path.substring(1)) : 0;
  }

  private static String run(Side side, int worker, String[] words) {
    try {
      if (words[0].equals("cycles")) {
        return Cycles.run(side, worker, words);
      }
      return side.run(worker, words);
    } catch (UnsupportedOperationException e) {
      return "unsupported";
    } catch (Exception e) {
      return "error " + e;
    }
  }

  private static void work(Side side, int worker, BlockingQueue<String[]> queue) {
    try {
      while (true) {
        String[] words = queue.take();
        String what = run(side, worker, words);
        answer(worker, System.nanoTime(), what);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static BlockingQueue<String[]> hire(Side side, int worker) {
    BlockingQueue<String[]> queue = new LinkedBlockingQueue<>();
    Thread thread = new Thread(() -> work(side, worker, queue), "worker-" + worker);
    thread.setDaemon(true);
    thread.start();
    return queue;
  }

  /** None holds a blank, but as %20. */
  private static String[] wordsOf(String line) {
    String[] words = line.trim().split(" +");
    for (int i = 0; i < words.length; i++) {
      words[i] = URLDecoder.decode(words[i].replace("+", "%2B"), StandardCharsets.UTF_8);
    }
    return words;
  }

  private static Side open(String name, String address, Map<String, String> options)
      throws Exception {
    return (Side) Class.forName(name + "Side").getDeclaredConstructor(String.class, Map.class)
        .newInstance(address, options);
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (String word : Arrays.copyOfRange(arguments, 2, arguments.length)) {
      String[] parts = word.split("=", 2);
      options.put(parts[0], parts[1]);
    }
    Side side = open(arguments[0], arguments[1], options);
    synchronized (OUT) {
      OUT.print("ready " + side.greeting() + "\n");
      OUT.flush();
    }
    Map<Integer, BlockingQueue<String[]>> workers = new HashMap<>();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = wordsOf(line);
      int worker = Integer.parseInt(words[0]);
      workers.computeIfAbsent(worker, w -> hire(side, w))
          .add(Arrays.copyOfRange(words, 1, words.length));
    }
    System.exit(0);
  }
}
