/* SPDX-License-Identifier: MIT */
/* test/cpp/shared_mutex_test.cpp - dibs::shared_mutex is a SharedTimedLockable. */
#include <mutex>
#include <shared_mutex>
#include <type_traits>

#include "world.hpp"

template <class T, class = void>
struct is_shared_timed_lockable : std::false_type {};

template <class T>
struct is_shared_timed_lockable<
  T, std::enable_if_t<
       std::is_same_v<decltype(std::declval<T &>().lock_shared()), void> &&
       std::is_same_v<decltype(std::declval<T &>().try_lock_shared()), bool> &&
       std::is_same_v<decltype(std::declval<T &>().try_lock_shared_for(1s)), bool> &&
       std::is_same_v<decltype(std::declval<T &>().try_lock_shared_until(
                        std::chrono::steady_clock::now())),
                      bool> &&
       noexcept(std::declval<T &>().unlock_shared())>> : std::true_type {};

static_assert(is_shared_timed_lockable<dibs::shared_mutex>::value);
static_assert(!is_shared_timed_lockable<std::shared_mutex>::value, "this test can fail");
static_assert(!std::is_copy_constructible_v<dibs::shared_mutex>);

static void readers_go_together_and_keep_a_writer_out()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::shared_mutex m(mine, "readers"), other(theirs, "readers");

  {
    const std::shared_lock reader(m);
    const std::shared_lock another(other, 1s);

    CHECK(another.owns_lock() && m.fence() > 0);
    side writer([&] {
      const std::unique_lock lock(other, SHORT);

      PROMISE(!lock.owns_lock());
    });

    writer.join();
  }
  CHECK(other.try_lock());
  PROMISE(!m.try_lock_shared() && !m.try_lock_shared_for(SHORT));
  PROMISE(!m.try_lock_shared_until(std::chrono::system_clock::now() + SHORT));
  other.unlock();
  CHECK(m.try_lock_shared_for(1s));
  m.unlock_shared();
  CHECK(m.last_release() == DIBS_OK && other.last_release() == DIBS_OK);
}

static void a_writer_excludes_all()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::shared_mutex m(mine, "writer"), other(theirs, "writer");
  long count = 0, seen = 0;
  const auto write = [&count](dibs::shared_mutex &by) {
    for (int i = 0; i < 25; i++) {
      const std::lock_guard lock(by);
      const long before = count;

      std::this_thread::yield();
      count = before + 1;
    }
  };
  const auto read = [&](dibs::shared_mutex &by) {
    for (int i = 0; i < 25; i++) {
      const std::shared_lock lock(by);
      const long before = count;

      std::this_thread::yield();
      PROMISE(count == before);
    }
  };
  side one([&] { write(m); }), two([&] { write(other); });
  side three([&] { read(m); }), four([&] { read(other); });

  one.join();
  two.join();
  three.join();
  four.join();
  const std::shared_lock lock(m);

  seen = count;
  PROMISE(seen == 50);
}

static void one_object_has_the_readers_of_many_threads()
{
  dibs::client client = connect();
  dibs::shared_mutex m(client, "together");
  std::atomic<int> readers{0};
  const auto read = [&] {
    const std::shared_lock lock(m);

    readers++;
    CHECK(until([&] { return readers == 3; }));
    CHECK(m.state() == DIBS_HOLD_HELD);
  };
  side one(read), two(read), three(read);

  one.join();
  two.join();
  three.join();
  const std::lock_guard lock(m);

  CHECK(m.state() == DIBS_HOLD_HELD);
}

static void a_reader_that_wants_to_write_is_refused()
{
  dibs::client client = connect();
  dibs::shared_mutex m(client, "upgrade");
  const std::shared_lock lock(m);

  CHECK(thrown_by([&] { m.lock(); }) == DIBS_WOULD_DEADLOCK);
  CHECK(!m.try_lock() && !m.try_lock_for(SHORT));
  CHECK(m.lock(std::nothrow) == DIBS_WOULD_DEADLOCK);
  CHECK(m.state() == DIBS_HOLD_HELD);
}

static void a_downgraded_writer_reads()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::shared_mutex m(mine, "downgrade"), other(theirs, "downgrade");

  CHECK(m.downgrade() == DIBS_ERR_STALE);
  m.lock();
  PROMISE(!other.try_lock_shared());
  CHECK(m.downgrade() == DIBS_OK);
  CHECK(other.try_lock_shared_for(LONG));
  m.unlock();                            /* nothing is written any more */
  CHECK(m.last_release() == DIBS_ERR_STALE && m.state() == DIBS_HOLD_HELD);
  m.unlock_shared();
  CHECK(m.last_release() == DIBS_OK && m.state() == DIBS_HOLD_GONE);
  other.unlock_shared();
}

static void holds_of_both_kinds()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::shared_mutex m(mine, "holds"), other(theirs, "holds");
  dibs_status status = DIBS_OK;
  dibs::hold writing = m.acquire();
  const std::uint64_t fence = writing.fence();

  PROMISE(!other.acquire_shared(dibs::at_once) && !other.acquire(SHORT));
  PROMISE(!other.acquire_shared(SHORT, status));
  CHECK(status == DIBS_TIMED_OUT);
  CHECK(writing.downgrade() == DIBS_OK && writing.fence() == fence);
  dibs::hold reading = other.acquire_shared(LONG);

  CHECK(reading);
  PROMISE(reading.fence() > fence);
  CHECK(writing.release() == DIBS_OK && reading.release() == DIBS_OK);
}

#ifdef __cpp_lib_jthread
static void a_broken_reader_is_told_by_its_token()
{
  dibs::client client = connect();
  dibs::shared_mutex m(client, "broken reader");
  const std::shared_lock lock(m);
  const std::stop_token lost = m.lost();

  break_lease("broken reader");
  CHECK(until([&] { return lost.stop_requested(); }));
}
#endif

int main()
{
  const CMUnitTest tests[] = {
    TEST(readers_go_together_and_keep_a_writer_out),
    TEST(a_writer_excludes_all),
    TEST(one_object_has_the_readers_of_many_threads),
    TEST(a_reader_that_wants_to_write_is_refused),
    TEST(a_downgraded_writer_reads),
    TEST(holds_of_both_kinds),
#ifdef __cpp_lib_jthread
    TEST(a_broken_reader_is_told_by_its_token),
#endif
  };

  return RUN(tests);
}
