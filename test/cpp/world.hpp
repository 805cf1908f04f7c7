/* SPDX-License-Identifier: MIT */
/* test/cpp/world.hpp - what the C++ tests share: one private server for each program, tests
 * that fail by an exception (so that destructors run), losses made by dibs_break(). */
#ifndef TEST_CPP_WORLD_HPP
#define TEST_CPP_WORLD_HPP

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <dibs/dibs.hpp>

extern "C" {
#include <cmocka.h>

#include "promise.h"
#include "server.h"
}

using namespace std::chrono_literals;

inline constexpr auto SHORT = 200ms;  /* a limit: a server answers in it, and no hold ends */
inline constexpr auto LONG = 15s;     /* how long an effect may take that surely comes */

#define CHECK(condition) \
  do { \
    if (!(condition)) \
      throw std::logic_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + \
                             ": not so: " #condition); \
  } while (false)

/* Of what no slow machine is an excuse for: test/lib/promise.h. */
#define PROMISE(condition) \
  promise_kept(static_cast<bool>(condition), "%s", PROMISE_HERE ": not so: " #condition)

/* The status of the exception that `call` throws; DIBS_OK: none. */
template <class Call>
dibs_status thrown_by(Call &&call)
{
  try {
    call();
  } catch (const dibs::error &e) {
    return e.status();
  }
  return DIBS_OK;
}

/* Looks every millisecond until it is so; false: not within LONG. */
inline bool until(const std::function<bool()> &is_so)
{
  const auto end = std::chrono::steady_clock::now() + LONG;

  while (!is_so())
    if (std::chrono::steady_clock::now() > end)
      return false;
    else
      std::this_thread::sleep_for(1ms);
  return true;
}

inline struct test_server *server = nullptr;

/* Renews often, so that a client which waits for nothing, and so hears no messages, learns of
 * a broken lease at once too. */
inline dibs::client connect()
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.renew_every_ms = 50;
  return dibs::client(test_server_url(server), &options);
}

inline dibs_inspection *inspect(dibs::client &client, const std::string &name)
{
  dibs_inspection *found = nullptr;

  CHECK(dibs_inspect(client.get(), dibs_text(name.c_str()), &found) == DIBS_OK);
  return found;
}

/* Takes the lease of `name` away from whoever has it. */
inline void break_lease(const std::string &name)
{
  dibs::client other = connect();
  dibs_inspection *found = inspect(other, name);
  const dibs_status status = dibs_break(other.get(), dibs_text(name.c_str()), found->lease);

  dibs_inspection_free(found);
  CHECK(status == DIBS_OK);
}

/* Within LONG `count` clients wait for `name`. */
inline void expect_waiters(const std::string &name, std::size_t count)
{
  dibs::client other = connect();

  CHECK(until([&] {
    dibs_inspection *found = inspect(other, name);
    const std::size_t waiters = found->waiter_count;

    dibs_inspection_free(found);
    return waiters == count;
  }));
}

inline bool is_free(const std::string &name)
{
  dibs::client other = connect();
  dibs::mutex same(other, name);
  const dibs::hold had = same.acquire(dibs::at_once);

  return static_cast<bool>(had);
}

/* A thread whose exception fails the test that joins it. */
class side {
 public:
  template <class Body>
  explicit side(Body body)
      : thread_([this, body] {
          try {
            body();
          } catch (const std::exception &e) {
            fault_ = e.what();
          }
        })
  {
  }

  ~side()
  {
    if (thread_.joinable())
      thread_.join();
  }

  void join()
  {
    thread_.join();
    if (!fault_.empty())
      throw std::logic_error(fault_);
  }

 private:
  std::string fault_;
  std::thread thread_;
};

template <void (*body)()>
void test(void **)
{
  static char fault[1000];

  fault[0] = 0;
  try {
    body();
  } catch (const std::exception &e) {
    std::snprintf(fault, sizeof(fault), "%s", e.what());
  }
  if (fault[0] != 0)
    fail_msg("%s", fault);               /* jumps: nothing may be left to destroy */
}

#define TEST(body) { #body, test<body>, nullptr, nullptr, nullptr }

inline int start_server(void **)
{
  server = test_server_start();
  return 0;
}

inline int stop_server(void **)
{
  server = test_server_stop(server);
  return 0;
}

#define RUN(tests) cmocka_run_group_tests(tests, start_server, stop_server)

#endif
