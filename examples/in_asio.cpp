/* SPDX-License-Identifier: MIT */
/* A loop of Boost.Asio in which ten coroutines compete for one lock, and a timer ticks meanwhile.
 * No thread, no callback: co_await dibs::lock(). */
#include <dibs/adapters/boost_asio.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>

namespace asio = boost::asio;
using namespace std::chrono_literals;

static int stock = 10, ticks;

static asio::awaitable<void> sell_one(dibs::client &client)
{
  asio::steady_timer work(co_await asio::this_coro::executor);
  dibs::hold hold = co_await dibs::lock(client, "stock", 10s);

  if (!hold)
    throw std::runtime_error("another client had the lock for 10 s");
  const int before = stock;
  work.expires_after(2ms);                        /* the other coroutines run now */
  co_await work.async_wait(asio::use_awaitable);
  stock = before - 1;
  if (co_await dibs::release(std::move(hold)) != DIBS_OK)
    throw std::runtime_error("the lock was lost before the sale was written");
}

static asio::awaitable<void> tick()
{
  asio::steady_timer timer(co_await asio::this_coro::executor);

  while (stock > 0) {
    timer.expires_after(1ms);
    co_await timer.async_wait(asio::use_awaitable);
    ticks++;
  }
}

static void stop_on_fault(std::exception_ptr fault)
{
  if (fault)
    std::rethrow_exception(fault);                /* out of run() */
}

int main()
{
  try {
    dibs_options options = DIBS_OPTIONS_INIT;
    options.flags = DIBS_CLIENT_NO_THREAD;
    asio::io_context loop(1);
    dibs::client client(nullptr, &options);       /* DIBS_URL, or the private server */
    dibs::boost_asio adapter;

    if (const auto fault = adapter.attach(client.get(), loop.get_executor()))
      throw boost::system::system_error(fault, "no client in the loop");
    asio::co_spawn(loop, tick(), stop_on_fault);
    for (int i = 0; i < 10; i++)
      asio::co_spawn(loop, sell_one(client),
                     [&](std::exception_ptr fault) {
                       stop_on_fault(fault);
                       if (stock == 0)
                         adapter.detach();        /* run() ends when nothing is left to do */
                     });
    loop.run();
    std::printf("%d left, the loop did other work meanwhile: %s\n", stock,
                ticks > 0 ? "yes" : "no");
    return stock == 0 && ticks > 0 ? 0 : 1;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
