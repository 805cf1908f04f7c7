/* SPDX-License-Identifier: MIT */
/* test/live/loops/boost_asio.cpp - the row of Boost.Asio; its coroutines are tested by
 * test/cpp/asio_test.cpp. */
#include "loop.h"

#define dibs_process counted_process
#include <dibs/adapters/boost_asio.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>

namespace {

std::unique_ptr<boost::asio::io_context> loop;
dibs::boost_asio adapter;

void open_loop() { loop = std::make_unique<boost::asio::io_context>(1); }

int attach(dibs_client *client)
{
  return adapter.attach(client, loop->get_executor()) ? -1 : 0;
}

void turn(int limit_ms)
{
  boost::asio::steady_timer timer(*loop, std::chrono::milliseconds(limit_ms));

  timer.async_wait([](const boost::system::error_code &) {});
  loop->restart();
  (void)loop->run_one();
  timer.cancel();
  (void)loop->poll();
}

void forked() { loop->notify_fork(boost::asio::execution_context::fork_child); }
dibs_status status() { return adapter.status(); }
void detach() { adapter.detach(); }

/* Nothing of the adapter is left: the loop has no work. */
void close_loop()
{
  loop->restart();
  (void)loop->poll();
  if (!loop->stopped())
    std::abort();
  loop.reset();
}

}  // namespace

extern "C" const struct loop loop_boost_asio = {
  "boost_asio", open_loop, attach, turn, forked, status, detach, close_loop,
};
