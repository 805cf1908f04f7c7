// SPDX-License-Identifier: MIT
// test/peers/java/Cycles.java - lock, write down the time, count, write down the time, unlock;
// as often as asked, at full speed.

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

final class Cycles {
  private Cycles() {}

  /** The witness: read, then written one greater. Whoever overlaps loses a count. */
  private static void count(FileChannel file, ByteBuffer number) throws Exception {
    number.clear();
    number.putLong(0, 0);
    file.read(number, 0);
    number.putLong(0, number.getLong(0) + 1).clear();
    file.write(number, 0);
  }

  /** cycles KIND NAME N LEASE COUNTER RECORDS [INSIDE] */
  static String run(Peer.Side side, int worker, String[] words) throws Exception {
    int cycles = Integer.parseInt(words[3]);
    boolean isPermit = words[1].equals("semaphore") || words[1].equals("expirable");
    String[] lock = isPermit
        ? new String[] {"permits", "acquire", words[1], words[2], "1", "-", words[4]}
        : new String[] {"lock", words[1], words[2], "-", words[4]};
    String[] unlock = isPermit
        ? new String[] {"permits", "release", words[1], words[2], "1"}
        : new String[] {"unlock", words[1], words[2]};
    boolean counts = !words[1].equals("read") && !isPermit;
    ByteBuffer number = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    StringBuilder records = new StringBuilder();
    int inside = words.length > 7 ? Integer.parseInt(words[7]) : 0;
    long enter = 0;
    long leave = 0;
    int lost = 0;

    try (FileChannel file = FileChannel.open(Path.of(words[5]), StandardOpenOption.READ,
        StandardOpenOption.WRITE)) {
      for (int i = 0; i < cycles; i++) {
        String got = side.run(worker, lock);
        if (!got.startsWith("ok")) {
          return "error cycle " + i + ": " + got;
        }
        enter = System.nanoTime();
        if (counts) {
          count(file, number);
        } else {
          Thread.sleep(1);
        }
        if (inside > 0) {
          Thread.sleep(inside);
        }
        leave = System.nanoTime();
        records.append(enter).append(' ').append(leave).append('\n');
        lost += side.run(worker, unlock).startsWith("ok") ? 0 : 1;
      }
    }
    if (words[6].equals("-")) {
      return "ok " + cycles + " " + lost + " " + enter + " " + leave;
    }
    Files.writeString(Path.of(words[6]), records);
    return "ok " + cycles + " " + lost;
  }
}
