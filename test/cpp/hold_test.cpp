/* SPDX-License-Identifier: MIT */
/* test/cpp/hold_test.cpp - dibs::hold releases itself once, and tells its loss: by a function,
 * and with C++20 by a std::stop_token. */
#include <poll.h>
#include <pthread.h>

#include <csignal>
#include <type_traits>

#include "world.hpp"

static_assert(!std::is_copy_constructible_v<dibs::hold>);
static_assert(!std::is_copy_assignable_v<dibs::hold>);
static_assert(std::is_nothrow_move_constructible_v<dibs::hold>);
static_assert(std::is_nothrow_move_assignable_v<dibs::hold>);
static_assert(std::is_nothrow_destructible_v<dibs::hold>);

static void a_hold_ends_with_its_scope()
{
  dibs::client client = connect();
  std::uint64_t first = 0;

  {
    const dibs::hold hold(client, "scope");

    first = hold.fence();
    CHECK(hold.why().empty());
    CHECK(hold && hold.is_held() && hold.state() == DIBS_HOLD_HELD && first > 0);
    CHECK(hold.valid_for() > 20s && hold.units() == 1 && hold.depth() == 1);
    PROMISE(!is_free("scope"));
  }
  CHECK(is_free("scope"));
  dibs::hold again(client, "scope");

  PROMISE(again.fence() > first);
  CHECK(again.release() == DIBS_OK && !again && again.fence() == 0);
  CHECK(again.release() == DIBS_ERR_STALE);
}

static void moves_carry_the_hold_along()
{
  dibs::client client = connect();
  dibs::hold a(client, "from"), b(client, "to");
  const std::uint64_t fence = a.fence();

  b = std::move(a);
  CHECK(!a && b.fence() == fence && is_free("to"));
  PROMISE(!is_free("from"));
  dibs::hold &same = b;

  b = std::move(same);
  CHECK(b.fence() == fence);
  side elsewhere([&] { CHECK(b.release() == DIBS_OK); });

  elsewhere.join();
  CHECK(is_free("from"));
  b = dibs::hold();
  CHECK(!b.is_held());
}

static void what_others_have_is_an_empty_hold_or_a_status()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::mutex m(mine, "others");
  const dibs::hold theirs_now(theirs, "others");
  dibs_status status = DIBS_OK;

  PROMISE(!m.acquire(dibs::at_once) && !m.acquire(SHORT));
  PROMISE(!m.acquire(std::chrono::system_clock::now() + SHORT));
  PROMISE(!m.acquire(dibs::at_once, status));
  CHECK(status == DIBS_BUSY);
  PROMISE(!m.acquire(SHORT, status));
  CHECK(status == DIBS_TIMED_OUT);
}

static void an_assignment_to_an_empty_hold_leaves_the_error_of_the_call()
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.connect_timeout_ms = 100;
  dibs::client nowhere("unix:///nonexistent/socket", &options);
  dibs::mutex m(nowhere, "nothing");
  dibs_status status = DIBS_OK;
  dibs::hold hold;

  hold = m.acquire(SHORT, status);
  CHECK(status != DIBS_OK && nowhere.last_error().status == status);
  CHECK(nowhere.last_error().text[0] != 0);
}

static void options_reach_the_library()
{
  dibs::client client = connect();
  dibs::lock_options options;
  dibs_status status = DIBS_OK;

  options.ttl = 5s;
  options.note = "tea break";
  dibs::mutex noted(client, "options", options);
  const dibs::hold hold = noted.acquire();
  dibs_inspection *found = inspect(client, "options");

  CHECK(hold.valid_for() <= 5s && found->ttl_ms == 5000);
  CHECK(std::string(found->holder->note) == "tea break");
  dibs_inspection_free(found);
  options.ttl = 1ms;
  dibs::mutex refused(client, "options", options);

  CHECK(thrown_by([&] { refused.lock(); }) == DIBS_ERR_ARGUMENT);
  options.ttl = std::chrono::hours(1000);
  dibs::mutex too_long(client, "options", options);

  CHECK(!too_long.acquire(dibs::forever, status) && status == DIBS_ERR_ARGUMENT);
}

static void a_token_goes_on_after_detach()
{
  dibs::client client = connect();
  dibs::hold hold(client, "token");
  const std::string token = hold.token();

  CHECK(hold.detach() == DIBS_OK && !hold && !is_free("token"));
  CHECK(dibs_token_release(client.get(), token.c_str()) == DIBS_OK && is_free("token"));
}

static void a_refused_detach_leaves_the_hold()
{
  dibs::client client = connect();
  dibs::lock_options options;

  options.owner = "me";
  dibs::hold outer(client, "nested", options);
  dibs::hold inner(client, "nested", options);

  CHECK(outer.detach() == DIBS_ERR_ARGUMENT && outer);
  CHECK(inner.release() == DIBS_OK);
  CHECK(outer.release() == DIBS_OK && is_free("nested"));
}

static void holds_may_outlive_their_client()
{
  dibs::hold late;

  {
    dibs::client client = connect();

    late = dibs::hold(client, "outlived");
    client.close();
  }
  CHECK(!late.is_held() && late.release() == DIBS_ERR_STALE && is_free("outlived"));
}

static void a_wait_is_cancelled_from_another_thread()
{
  dibs::client mine = connect(), theirs = connect();
  const dibs::hold theirs_now(theirs, "cancelled");
  dibs::canceller end;
  dibs::lock_options options;

  options.cancel = end.get();
  side waiter([&] {
    CHECK(thrown_by([&] { const dibs::hold never(mine, "cancelled", options); }) ==
          DIBS_CANCELLED);
  });

  expect_waiters("cancelled", 1);
  end.cancel();
  waiter.join();
}

static dibs::hold *handled, *aside;
static std::atomic<int> refused;

static void let_go_here(int)
{
  int count = 0;

  count += handled->release() == DIBS_ERR_WOULD_BLOCK;
  count += handled->detach() == DIBS_ERR_WOULD_BLOCK;
  *handled = std::move(*aside);
  count += aside->release() == DIBS_ERR_WOULD_BLOCK;
  *handled = std::move(*aside);
  refused = count;
}

/* What threw the handle away then left a lock that was renewed for ever. */
static void a_hold_that_a_handler_cannot_release_is_held_as_before()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::hold held(mine, "kept"), none, theirs_now(theirs, "awaited");
  std::atomic<pthread_t> waits{};
  side waiter([&] {
    waits = pthread_self();
    const dibs::hold later(mine, "awaited");
  });

  handled = &held;
  aside = &none;
  std::signal(SIGUSR1, let_go_here);
  expect_waiters("awaited", 1);
  pthread_kill(waits, SIGUSR1);
  CHECK(until([&] { return refused != 0; }));
  CHECK(theirs_now.release() == DIBS_OK);
  waiter.join();
  CHECK(refused == 3 && held.is_held() && !none);
  CHECK(held.release() == DIBS_OK && is_free("kept"));
}

/* ---- losses ---- */

static void on_lost_runs_once_and_not_after_the_release()
{
  dibs::client client = connect();
  std::atomic<int> losses{0};
  dibs::lock_options options;

  options.on_lost = [&losses](const dibs_loss &) { losses++; };
  {
    dibs::hold kept(client, "kept", options);
    dibs::hold lost(client, "lost", options);
    pollfd readable{lost.lost_fd(), POLLIN, 0};

    break_lease("lost");
    CHECK(poll(&readable, 1, 15000) == 1);
    CHECK(until([&] { return losses == 1; }));
    CHECK(!lost.is_held() && kept.is_held());
    const dibs_status status = lost.release();

    CHECK(status == DIBS_LOST);
    CHECK(kept.release() == DIBS_OK);
  }
  client.close();
  CHECK(losses == 1);
}

/* The lease of a fixed length is not renewed: both come in any case. */
static void a_hold_that_ends_is_told_so_before()
{
  dibs::client client = connect();
  std::mutex is_told;
  std::vector<dibs_change> changes;
  dibs::lock_options options;

  options.ttl = 600ms;
  options.warn = 400ms;
  options.flags = DIBS_LOCK_FIXED;
  options.on_change = [&](const dibs_hold_info &now, dibs_change why) {
    const std::lock_guard guard(is_told);

    CHECK(why != DIBS_CHANGE_LOST || now.valid_ms == 0);
    CHECK(now.valid_ms <= 400);
    changes.push_back(why);
  };
  dibs::hold hold(client, "ends", options);

  CHECK(until([&] {
    const std::lock_guard guard(is_told);

    return !changes.empty() && changes.back() == DIBS_CHANGE_LOST;
  }));
  CHECK(hold.release() == DIBS_LOST);
  CHECK(changes.size() <= 2 && (changes.size() == 1 || changes[0] == DIBS_CHANGE_ENDS_SOON));
}

static void a_hold_may_be_released_in_its_own_on_lost()
{
  dibs::client client = connect();
  std::atomic<int> status{0};
  dibs::lock_options options;
  dibs::hold hold;
  std::mutex is_set;

  options.on_lost = [&](const dibs_loss &) {
    const std::lock_guard guard(is_set);

    status = hold.release();
  };
  {
    const std::lock_guard guard(is_set);

    hold = dibs::hold(client, "own", options);
  }
  break_lease("own");
  CHECK(until([&] { return status != 0; }));
  CHECK(status == DIBS_LOST);
}

/* What on_lost refers to may end right after the release. */
static void a_release_waits_for_an_on_lost_that_runs()
{
  dibs::client client = connect();
  std::atomic<bool> is_running{false}, is_over{false}, may_go_on{false};
  dibs::lock_options options;

  options.on_lost = [&](const dibs_loss &) {
    is_running = true;
    (void)until([&] { return may_go_on.load(); });
    is_over = true;
  };
  dibs::hold hold(client, "waits", options);

  break_lease("waits");
  CHECK(until([&] { return is_running.load(); }));
  side release([&] {
    (void)hold.release();
    CHECK(is_over);
  });

  std::this_thread::sleep_for(20ms);     /* a release that does not wait gets this long */
  may_go_on = true;
  release.join();
}

#ifdef __cpp_lib_jthread

static void a_loss_asks_the_stop_token_to_stop()
{
  dibs::client client = connect();
  dibs::hold hold(client, "token stops");
  const std::stop_token lost = hold.lost();
  std::atomic<bool> is_stopped{false};
  std::jthread work([&](std::stop_token own) {
    const std::stop_callback on_lost(lost, [&] { is_stopped = true; });

    while (!lost.stop_requested() && !own.stop_requested())
      std::this_thread::sleep_for(1ms);
  });

  CHECK(lost.stop_possible() && !lost.stop_requested());
  break_lease("token stops");
  CHECK(until([&] { return lost.stop_requested() && is_stopped; }));
  work.join();
  CHECK(!hold.is_held());
}

static void a_release_in_time_does_not_stop()
{
  dibs::client client = connect();
  dibs::hold hold(client, "in time");
  const std::stop_token lost = hold.lost();

  CHECK(hold.release() == DIBS_OK);
  CHECK(!lost.stop_requested() && !lost.stop_possible());
  CHECK(!dibs::hold().lost().stop_possible());
}

static void the_token_follows_a_moved_hold()
{
  dibs::client client = connect();
  dibs::hold first(client, "moved");
  const std::stop_token lost = first.lost();
  const dibs::hold second = std::move(first);

  break_lease("moved");
  CHECK(until([&] { return lost.stop_requested(); }));
  CHECK(second.lost() == lost);
}

static void a_scoped_mutex_has_the_token_of_its_thread()
{
  dibs::client client = connect();
  dibs::mutex m(client, "scoped");
  const std::lock_guard guard(m);
  const std::stop_token lost = m.lost();
  side other([&] { CHECK(!m.lost().stop_possible()); });

  other.join();
  break_lease("scoped");
  CHECK(until([&] { return lost.stop_requested(); }));
}

static void a_stop_token_cancels_a_wait()
{
  dibs::client mine = connect(), theirs = connect();
  const dibs::hold theirs_now(theirs, "stop cancels");
  std::atomic<int> status{0};

  {
    std::jthread waiter([&](std::stop_token stop) {
      dibs::canceller end;
      const std::stop_callback on_stop(stop, [&] { end.cancel(); });
      dibs::lock_options options{.cancel = end.get()};

      status = thrown_by([&] { const dibs::hold never(mine, "stop cancels", options); });
    });

    expect_waiters("stop cancels", 1);
  }
  CHECK(status == DIBS_CANCELLED);
}

#endif

int main()
{
  const CMUnitTest tests[] = {
    TEST(a_hold_ends_with_its_scope),
    TEST(moves_carry_the_hold_along),
    TEST(what_others_have_is_an_empty_hold_or_a_status),
    TEST(an_assignment_to_an_empty_hold_leaves_the_error_of_the_call),
    TEST(options_reach_the_library),
    TEST(a_token_goes_on_after_detach),
    TEST(a_refused_detach_leaves_the_hold),
    TEST(holds_may_outlive_their_client),
    TEST(a_wait_is_cancelled_from_another_thread),
    TEST(a_hold_that_a_handler_cannot_release_is_held_as_before),
    TEST(on_lost_runs_once_and_not_after_the_release),
    TEST(a_hold_that_ends_is_told_so_before),
    TEST(a_hold_may_be_released_in_its_own_on_lost),
    TEST(a_release_waits_for_an_on_lost_that_runs),
#ifdef __cpp_lib_jthread
    TEST(a_loss_asks_the_stop_token_to_stop),
    TEST(a_release_in_time_does_not_stop),
    TEST(the_token_follows_a_moved_hold),
    TEST(a_scoped_mutex_has_the_token_of_its_thread),
    TEST(a_stop_token_cancels_a_wait),
#endif
  };

  return RUN(tests);
}
