/* SPDX-License-Identifier: MIT */
/* test/cpp/asio_test.cpp - co_await of locks in a loop of Boost.Asio; what all adapters have in
 * common is in test/live/event_loops_test.c. */
#include "world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <dibs/adapters/boost_asio.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace asio = boost::asio;

namespace {

/* A client in a loop of its own. */
struct looped {
  looped() : client(open())
  {
    CHECK(!adapter.attach(client.get(), loop.get_executor()));
  }

  ~looped()
  {
    adapter.detach();
    client.close();
    loop.restart();
    loop.poll();
  }

  static dibs::client open()
  {
    dibs_options options = DIBS_OPTIONS_INIT;

    options.flags = DIBS_CLIENT_NO_THREAD;
    options.renew_every_ms = 50;
    options.command_timeout_ms = 15000;
    return dibs::client(test_server_url(server), &options);
  }

  /* Runs a coroutine to its end; rethrows. */
  template <class Coroutine>
  void run(Coroutine &&coroutine)
  {
    std::exception_ptr thrown;
    bool is_done = false;

    asio::co_spawn(loop, std::forward<Coroutine>(coroutine), [&](std::exception_ptr how) {
      thrown = how;
      is_done = true;
    });
    turn_until([&] { return is_done; });
    if (thrown)
      std::rethrow_exception(thrown);
  }

  void turn_until(const std::function<bool()> &is_so)
  {
    const auto end = std::chrono::steady_clock::now() + LONG;

    loop.restart();
    while (!is_so()) {
      CHECK(std::chrono::steady_clock::now() < end);
      (void)loop.run_one_for(100ms);
    }
  }

  asio::io_context loop{1};
  dibs::client client;
  dibs::boost_asio adapter;
};

std::size_t waiters_of(dibs::client &client, const std::string &name)
{
  dibs_inspection *found = inspect(client, name);
  const std::size_t count = found->waiter_count;

  dibs_inspection_free(found);
  return count;
}

void a_coroutine_takes_and_releases()
{
  looped in;

  in.run([&]() -> asio::awaitable<void> {
    dibs::hold hold = co_await dibs::lock(in.client, "simple");
    CHECK(hold && hold.is_held() && hold.fence() > 0);
    CHECK(co_await dibs::release(std::move(hold)) == DIBS_OK);
    CHECK(!hold);
  });
}

void a_thousand_coroutines_count_without_a_gap()
{
  looped in;
  int inside = 0, done = 0;

  for (int i = 0; i < 1000; i++)
    asio::co_spawn(in.loop, [&]() -> asio::awaitable<void> {
      dibs::hold hold = co_await dibs::lock(in.client, "one", 15s);
      CHECK(hold);
      PROMISE(++inside == 1);
      co_await asio::post(in.loop, asio::use_awaitable);
      inside--;
      CHECK(co_await dibs::release(std::move(hold)) == DIBS_OK);
      done++;
    }, asio::detached);
  in.turn_until([&] { return done == 1000; });
}

void what_another_client_has_is_an_empty_hold()
{
  looped in;
  dibs::client other = connect();
  dibs::hold theirs(other, "busy");

  in.run([&]() -> asio::awaitable<void> {
    PROMISE(!co_await dibs::lock(in.client, "busy", dibs::at_once));
    PROMISE(!co_await dibs::lock(in.client, "busy", 50ms));
  });
}

void a_name_has_all_its_bytes()
{
  looped in;
  dibs::client other = connect();
  const std::string name("of\0bytes", 8);
  dibs::hold theirs(other, name);

  in.run([&]() -> asio::awaitable<void> {
    PROMISE(!co_await dibs::lock(in.client, name, dibs::at_once));
  });
}

void a_cancelled_wait_throws_and_leaves_no_waiter()
{
  looped in;
  dibs::client other = connect();
  dibs::hold theirs(other, "cancelled");
  dibs::canceller end;
  dibs_status status = DIBS_OK;
  bool is_done = false;

  asio::co_spawn(in.loop, [&]() -> asio::awaitable<void> {
    const dibs::lock_options options{.cancel = end.get()};

    try {
      (void)co_await dibs::lock(in.client, "cancelled", dibs::forever, options);
    } catch (const dibs::error &e) {
      status = e.status();
    }
    is_done = true;
  }, asio::detached);
  in.turn_until([&] { return waiters_of(other, "cancelled") == 1; });
  end.cancel();
  in.turn_until([&] { return is_done; });
  CHECK(status == DIBS_CANCELLED);
  CHECK(until([&] { return waiters_of(other, "cancelled") == 0; }));
}

void a_loss_is_seen_by_the_coroutine()
{
  looped in;

  in.run([&]() -> asio::awaitable<void> {
    int lost = 0;
    dibs::lock_options options;
    options.on_lost = [&](const dibs_loss &) { lost++; };
    dibs::hold hold = co_await dibs::lock(in.client, "lost", dibs::forever, options);
    break_lease("lost");
    while (hold.is_held() || lost == 0)
      co_await asio::post(in.loop, asio::use_awaitable);
    CHECK(lost == 1 && hold.lost().stop_requested());
    CHECK(co_await dibs::release(std::move(hold)) != DIBS_OK);
  });
}

void bad_names_throw_where_they_are_awaited()
{
  looped in;

  CHECK(thrown_by([&] {
    in.run([&]() -> asio::awaitable<void> { (void)co_await dibs::lock(in.client, ""); });
  }) == DIBS_ERR_ARGUMENT);
}

void a_client_that_closes_ends_its_coroutines()
{
  looped in;
  dibs::client other = connect();
  dibs::hold theirs(other, "closing");
  int closed = 0;

  for (int i = 0; i < 10; i++)
    asio::co_spawn(in.loop, [&]() -> asio::awaitable<void> {
      try {
        (void)co_await dibs::lock(in.client, "closing");
      } catch (const dibs::error &e) {
        closed += e.status() == DIBS_ERR_CLOSED;
      }
    }, asio::detached);
  in.turn_until([&] { return waiters_of(other, "closing") == 1; });
  in.adapter.detach();
  in.client.close();
  in.turn_until([&] { return closed == 10; });
}

/* A hold that its coroutine never got is not kept. */
void a_loop_that_ends_before_its_handlers_releases()
{
  dibs::client other = connect();

  {
    looped in;
    dibs::hold got;
    bool is_granted = false;

    dibs::async_lock(in.client, in.loop.get_executor(), "dropped", dibs::forever, {},
                     [&](std::exception_ptr, dibs::hold hold) { is_granted = bool(hold); });
    in.turn_until([&] { return is_granted; });
  }
  CHECK(bool(dibs::mutex(other, "dropped").acquire(LONG)));
}

void an_idle_loop_uses_no_cpu()
{
  looped in;

  in.run([&]() -> asio::awaitable<void> {
    const dibs::lock_options options{.ttl = 60s};
    dibs::hold hold = co_await dibs::lock(in.client, "idle", dibs::forever, options);
    rusage before, after;
    asio::steady_timer timer(in.loop, 500ms);

    getrusage(RUSAGE_THREAD, &before);
    co_await timer.async_wait(asio::use_awaitable);
    getrusage(RUSAGE_THREAD, &after);
    const auto us = [](const timeval &t) { return t.tv_sec * 1000000 + t.tv_usec; };
    CHECK(us(after.ru_utime) + us(after.ru_stime) - us(before.ru_utime) - us(before.ru_stime) <
          50000);
    CHECK(co_await dibs::release(std::move(hold)) == DIBS_OK);
  });
}

/* As each of the library: a command inherits none, and none takes the place of stdin. */
void the_descriptor_of_the_adapter_is_close_on_exec_and_above_stdio()
{
  looped in;

  in.adapter.detach();
  in.loop.poll();
  const int input = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int lowest = ::fcntl(STDOUT_FILENO, F_DUPFD, 3);
  CHECK(input >= 3 && lowest >= 3);
  ::close(lowest);
  ::close(STDIN_FILENO);
  CHECK(!in.adapter.attach(in.client.get(), in.loop.get_executor()));
  const bool is_in_place_of_stdin = ::fcntl(STDIN_FILENO, F_GETFD) >= 0;
  const int flags = ::fcntl(lowest, F_GETFD);
  ::dup2(input, STDIN_FILENO);
  ::close(input);
  CHECK(!is_in_place_of_stdin);
  CHECK(flags == FD_CLOEXEC);
}

}  // namespace

int main()
{
  const CMUnitTest tests[] = {
    TEST(a_coroutine_takes_and_releases),
    TEST(a_thousand_coroutines_count_without_a_gap),
    TEST(what_another_client_has_is_an_empty_hold),
    TEST(a_name_has_all_its_bytes),
    TEST(a_cancelled_wait_throws_and_leaves_no_waiter),
    TEST(a_loss_is_seen_by_the_coroutine),
    TEST(bad_names_throw_where_they_are_awaited),
    TEST(a_client_that_closes_ends_its_coroutines),
    TEST(a_loop_that_ends_before_its_handlers_releases),
    TEST(an_idle_loop_uses_no_cpu),
    TEST(the_descriptor_of_the_adapter_is_close_on_exec_and_above_stdio),
  };

  return RUN(tests);
}
