/* SPDX-License-Identifier: MIT */
/* test/cpp/mutex_test.cpp - dibs::mutex is a TimedLockable, and what std::mutex leaves
 * undefined is defined. */
#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <limits>
#include <mutex>
#include <type_traits>
#include <vector>

#include "world.hpp"

/* ThreadSanitizer: an unlock() that is refused in a handler keeps its status there. */
extern "C" const char *__tsan_default_options();
extern "C" const char *__tsan_default_options()
{
  return "report_signal_unsafe=0";
}

std::error_code timed_out_elsewhere();   /* elsewhere.cpp */

/* ---- shapes, at compile time ---- */

template <class T, class = void>
struct is_timed_lockable : std::false_type {};

template <class T>
struct is_timed_lockable<
  T, std::enable_if_t<std::is_same_v<decltype(std::declval<T &>().lock()), void> &&
                      std::is_same_v<decltype(std::declval<T &>().try_lock()), bool> &&
                      std::is_same_v<decltype(std::declval<T &>().try_lock_for(1s)), bool> &&
                      std::is_same_v<decltype(std::declval<T &>().try_lock_until(
                                       std::chrono::system_clock::now())),
                                     bool> &&
                      noexcept(std::declval<T &>().unlock())>> : std::true_type {};

static_assert(is_timed_lockable<dibs::mutex>::value);
static_assert(is_timed_lockable<dibs::recursive_mutex>::value);
static_assert(is_timed_lockable<dibs::shared_mutex>::value);
static_assert(!is_timed_lockable<std::mutex>::value, "this test can fail");
static_assert(!std::is_copy_constructible_v<dibs::mutex>);
static_assert(!std::is_move_constructible_v<dibs::mutex>);
static_assert(!std::is_copy_constructible_v<dibs::client>);
static_assert(std::is_nothrow_move_constructible_v<dibs::client>);
static_assert(std::is_nothrow_move_assignable_v<dibs::client>);

/* ---- waits ---- */

static void waits_become_milliseconds_that_the_library_takes()
{
  using wait = dibs::longest_wait;
  const auto first = std::chrono::steady_clock::time_point::min();
  const auto last = std::chrono::steady_clock::time_point::max();

  CHECK(wait(1us).ms() == 1 && wait(1ms).ms() == 1 && wait(1001us).ms() == 2);
  CHECK(wait(0s).ms() == 0 && wait(-1s).ms() == 0 && wait(dibs::at_once).ms() == 0);
  CHECK(wait(0s).is_at_once() && wait(-1s).is_at_once() && wait(dibs::at_once).is_at_once());
  CHECK(wait(std::chrono::hours::min()).is_at_once() && wait(first).is_at_once());
  CHECK(wait(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()))
          .is_at_once());
  CHECK(wait(dibs::forever).ms() == DIBS_FOREVER && !wait(dibs::forever).is_at_once());
  CHECK(wait(std::chrono::hours::max()).ms() == DIBS_MS_MAX && wait(last).ms() == DIBS_MS_MAX);
  wait long_one(std::chrono::milliseconds(2LL * DIBS_MS_MAX + 5));

  CHECK(long_one.goes_on() && long_one.goes_on() && long_one.ms() == 5);
  CHECK(!long_one.goes_on());
}

static void short_waits_end_in_time()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::mutex m(mine, "short"), other(theirs, "short");
  const std::lock_guard<dibs::mutex> held(other);
  const auto begin = std::chrono::steady_clock::now();

  PROMISE(!m.try_lock());
  PROMISE(!m.try_lock_for(0s) && !m.try_lock_for(-5s));
  PROMISE(!m.try_lock_until(std::chrono::system_clock::now() - 1h));
  PROMISE(!m.try_lock_until(std::chrono::steady_clock::time_point::min()));
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
  const auto waited = std::chrono::steady_clock::now();
  std::unique_lock<dibs::mutex> lock(m, SHORT);

  PROMISE(!lock.owns_lock());
  CHECK(std::chrono::steady_clock::now() - waited >= SHORT);
  PROMISE(!m.try_lock_until(std::chrono::system_clock::now() + SHORT));
}

static void waits_longer_than_the_library_takes_are_had()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::mutex m(mine, "long"), other(theirs, "long");

  other.lock();
  side waiter([&] {
    CHECK(m.try_lock_for(std::chrono::hours::max()));
    m.unlock();
    CHECK(m.try_lock_until(std::chrono::steady_clock::time_point::max()));
    m.unlock();
    CHECK(m.try_lock_until(std::chrono::system_clock::time_point::max()));
    m.unlock();
  });

  expect_waiters("long", 1);
  other.unlock();
  waiter.join();
}

/* ---- the standard's locks ---- */

static void lock_guard_and_unique_lock_exclude_other_clients()
{
  dibs::client client = connect();
  dibs::mutex m(client, "plain");

  {
    const std::lock_guard guard(m);

    CHECK(!is_free("plain"));
  }
  CHECK(is_free("plain"));
  {
    std::unique_lock lock(m, 1s);

    CHECK(lock.owns_lock() && !is_free("plain"));
    lock.unlock();
    CHECK(is_free("plain"));
    CHECK(lock.try_lock());
  }
  CHECK(is_free("plain") && m.last_release() == DIBS_OK);
}

static void scoped_locks_in_opposite_order_do_not_deadlock()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::mutex a(mine, "a"), b(mine, "b"), a2(theirs, "a"), b2(theirs, "b");
  long together = 0;
  const auto work = [&together](dibs::mutex &first, dibs::mutex &second) {
    for (int i = 0; i < 20; i++) {
      const std::scoped_lock both(first, second);

      together++;
    }
  };
  side one([&] { work(a, b); });
  side two([&] { work(b, a); });
  side three([&] { work(b2, a2); });

  one.join();
  two.join();
  three.join();
  PROMISE(together == 60);
  CHECK(is_free("a") && is_free("b"));
}

static void one_object_serves_many_threads()
{
  dibs::client client = connect();
  dibs::mutex m(client, "threads");
  long count = 0;
  const auto work = [&] {
    for (int i = 0; i < 50; i++) {
      const std::lock_guard guard(m);
      const long seen = count;

      std::this_thread::yield();
      count = seen + 1;
    }
    CHECK(m.last_release() == DIBS_OK);
  };
  side one(work), two(work), three(work), four(work);

  one.join();
  two.join();
  three.join();
  four.join();
  CHECK(count == 200 && is_free("threads"));
}

static void condition_variables_wait_with_it()
{
  dibs::client client = connect();
  dibs::mutex m(client, "condition");
  std::condition_variable_any changed;
  bool is_ready = false;
  side waiter([&] {
    std::unique_lock lock(m);

    CHECK(changed.wait_for(lock, LONG, [&] { return is_ready; }));
    CHECK(lock.owns_lock() && m.state() == DIBS_HOLD_HELD);
  });

  {
    const std::lock_guard guard(m);

    is_ready = true;
  }
  changed.notify_one();
  waiter.join();
  CHECK(is_free("condition"));
}

/* ---- what the standard leaves undefined ---- */

static void locking_twice_is_refused_instead_of_waiting_for_oneself()
{
  dibs::client client = connect();
  dibs::mutex m(client, "twice"), same_name(client, "twice");
  const std::lock_guard guard(m);

  CHECK(thrown_by([&] { m.lock(); }) == DIBS_WOULD_DEADLOCK);
  CHECK(thrown_by([&] { same_name.lock(); }) == DIBS_WOULD_DEADLOCK);
  CHECK(!m.try_lock() && !m.try_lock_for(SHORT));
  CHECK(m.lock(std::nothrow) == DIBS_WOULD_DEADLOCK);
  try {
    m.lock();
  } catch (const std::system_error &e) {
    CHECK(e.code() == std::errc::resource_deadlock_would_occur);
    CHECK(std::string(e.what()).find("twice") != std::string::npos);
  }
  CHECK(m.state() == DIBS_HOLD_HELD);
}

static void a_recursive_mutex_is_released_by_its_last_unlock()
{
  dibs::client client = connect();
  dibs::recursive_mutex m(client, "recursive");

  m.lock();
  CHECK(m.try_lock() && m.try_lock_for(1s));
  m.unlock();
  m.unlock();
  CHECK(!is_free("recursive") && m.fence() > 0);
  m.unlock();
  CHECK(is_free("recursive") && m.fence() == 0);
}

static void a_thread_that_has_not_locked_unlocks_nothing()
{
  dibs::client client = connect();
  dibs::mutex m(client, "stranger");
  const std::lock_guard guard(m);
  side stranger([&] {
    m.unlock();
    CHECK(m.last_release() == DIBS_ERR_STALE && m.state() == DIBS_HOLD_GONE);
  });

  stranger.join();
  CHECK(m.state() == DIBS_HOLD_HELD && !is_free("stranger"));
}

/* The loser and its successor share one object, and each unlocks its own. */
static void a_thread_with_the_id_of_one_that_ended_unlocks_nothing()
{
  dibs::client client = connect();
  dibs::mutex m(client, "reused");
  std::thread::id first;
  bool is_reused = false;

  std::thread([&] {
    m.lock();
    first = std::this_thread::get_id();
  }).join();
  for (int i = 0; i < 100 && !is_reused; i++)
    std::thread([&] {
      is_reused = std::this_thread::get_id() == first;
      m.unlock();
    }).join();
  PROMISE(!is_free("reused"));
}

static void a_late_unlock_does_not_release_the_next_holder()
{
  dibs::client client = connect();
  dibs::mutex m(client, "late");
  std::atomic<bool> is_taken{false}, may_end{false};

  m.lock();
  const std::uint64_t fence = m.fence();

  break_lease("late");
  CHECK(until([&] { return m.state() == DIBS_HOLD_GONE; }));
  side next([&] {
    m.lock();
    const std::uint64_t later = m.fence();

    is_taken = true;
    CHECK(until([&] { return may_end.load(); }));
    PROMISE(later > fence);
    CHECK(m.fence() == later && m.state() == DIBS_HOLD_HELD);
    m.unlock();
    CHECK(m.last_release() == DIBS_OK);
  });

  CHECK(until([&] { return is_taken.load(); }));
  m.unlock();
  const dibs_status ended = m.last_release();

  CHECK(ended == DIBS_LOST || ended == DIBS_TAKEN);
  CHECK(!is_free("late"));
  may_end = true;
  next.join();
  CHECK(m.last_release() == ended);      /* this thread's */
  {
    const std::lock_guard guard(m);
  }
  CHECK(m.last_release() == DIBS_OK);
}

static void a_name_is_all_of_its_bytes()
{
  dibs::client one = connect(), other = connect();
  const std::string first("zero\0one", 8), second("zero\0two", 8);
  dibs::mutex a(one, first), b(other, second), cut(other, "zero");
  const std::lock_guard guard(a);

  CHECK(dibs::hold(b.acquire(dibs::at_once)) && dibs::hold(cut.acquire(dibs::at_once)));
  CHECK(!dibs::lock_many(other, {second, first}, dibs::at_once));
  CHECK(dibs::lock_many(other, {second, "zero"}, dibs::at_once));

  dibs_inspection *found = nullptr;
  CHECK(dibs_inspect(other.get(), dibs_bytes{first.data(), first.size()}, &found) == DIBS_OK);
  CHECK(found->is_held);
  dibs_inspection_free(found);
}

static dibs::mutex *unlocked;
static std::atomic<bool> is_handled;

static void unlock_here(int)
{
  unlocked->unlock();
  is_handled = true;
}

static void what_a_handler_cannot_unlock_stays_locked()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::mutex m(mine, "unlocked"), awaited(mine, "awaited");
  dibs::hold theirs_now(theirs, "awaited");
  std::atomic<pthread_t> waits{};
  side waiter([&] {
    const std::lock_guard guard(m);

    waits = pthread_self();
    const std::lock_guard later(awaited);

    CHECK(m.last_release() == DIBS_ERR_WOULD_BLOCK && m.state() == DIBS_HOLD_HELD);
  });

  unlocked = &m;
  std::signal(SIGUSR1, unlock_here);
  expect_waiters("awaited", 1);
  pthread_kill(waits, SIGUSR1);
  CHECK(until([&] { return is_handled.load(); }));
  CHECK(theirs_now.release() == DIBS_OK);
  waiter.join();
  CHECK(is_free("unlocked"));
}

/* ---- faults ---- */

static void faults_throw_with_the_words_of_the_library()
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.connect_timeout_ms = 100;
  dibs::client nowhere("unix:///nonexistent/socket", &options);
  dibs::mutex m(nowhere, "nothing");

  try {
    m.lock();
    throw std::logic_error("locked without a server");
  } catch (const dibs::error &e) {
    CHECK(e.status() == DIBS_ERR_UNREACHABLE && e.text()[0] != 0);
    CHECK(e.code() == std::errc::host_unreachable);
    CHECK(std::string(e.what()).find("DIBS_ERR_UNREACHABLE") != std::string::npos);
  }
  CHECK(thrown_by([&] { (void)m.try_lock(); }) == DIBS_ERR_UNREACHABLE);
  CHECK(thrown_by([&] { nowhere.ping(); }) == DIBS_ERR_UNREACHABLE);
  CHECK(m.lock(std::nothrow) == DIBS_ERR_UNREACHABLE);
  CHECK(thrown_by([] { dibs::client("gopher://nowhere"); }) == DIBS_ERR_CONFIG);
}

static void error_codes_of_two_libraries_are_equal()
{
  CHECK(timed_out_elsewhere() == std::error_code(DIBS_TIMED_OUT, dibs::category()));
}

static void clients_open_without_exceptions_too()
{
  dibs_status status = DIBS_OK;
  dibs_error why = DIBS_ERROR_INIT;
  dibs::client none = dibs::client::open(status, "gopher://nowhere", nullptr, &why);

  CHECK(!none && status == DIBS_ERR_CONFIG && why.text[0] != 0);
  dibs::client one = dibs::client::open(status, test_server_url(server));

  CHECK(one && status == DIBS_OK && one.ping() > 0us);
  dibs::client moved = std::move(one);

  CHECK(!one && moved && moved.info().connects >= 1);
  moved = connect();
  CHECK(moved.ping() > 0us);
}

int main()
{
  const CMUnitTest tests[] = {
    TEST(waits_become_milliseconds_that_the_library_takes),
    TEST(short_waits_end_in_time),
    TEST(waits_longer_than_the_library_takes_are_had),
    TEST(lock_guard_and_unique_lock_exclude_other_clients),
    TEST(scoped_locks_in_opposite_order_do_not_deadlock),
    TEST(one_object_serves_many_threads),
    TEST(condition_variables_wait_with_it),
    TEST(locking_twice_is_refused_instead_of_waiting_for_oneself),
    TEST(a_recursive_mutex_is_released_by_its_last_unlock),
    TEST(a_thread_that_has_not_locked_unlocks_nothing),
    TEST(a_thread_with_the_id_of_one_that_ended_unlocks_nothing),
    TEST(a_late_unlock_does_not_release_the_next_holder),
    TEST(a_name_is_all_of_its_bytes),
    TEST(what_a_handler_cannot_unlock_stays_locked),
    TEST(faults_throw_with_the_words_of_the_library),
    TEST(error_codes_of_two_libraries_are_equal),
    TEST(clients_open_without_exceptions_too),
  };

  return RUN(tests);
}
