/* SPDX-License-Identifier: MIT */
/* test/cpp/static_objects_test.cpp - a program with a static client, holds and an observer ends by
 * exit(), also in a signal handler that interrupted a call. */
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "world.hpp"

/* ThreadSanitizer: the destructors of a program that ends in a handler free memory there. */
extern "C" const char *__tsan_default_options();
extern "C" const char *__tsan_default_options()
{
  return "report_signal_unsafe=0:report_thread_leaks=0";
}

namespace {

constexpr int ENDED = 7;

void end_here(int)
{
  std::exit(ENDED);
}

/* A release that waits in the handler waits for longer than the test. */
dibs::client connect_patiently()
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.connect_timeout_ms = options.command_timeout_ms = 60000;
  return dibs::client(test_server_url(server), &options);
}

/* In a thread of its own, with the signal blocked: the main thread gets it. */
void interrupt_when_it_waits()
{
  dibs::client looks = connect();
  sigset_t signals;

  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (until([&] {
        dibs_inspection *found = nullptr;
        const bool waits = dibs_inspect(looks.get(), dibs_text("taken"), &found) == DIBS_OK &&
                           found->waiter_count == 1;

        dibs_inspection_free(found);
        return waits;
      }))
    kill(getpid(), SIGUSR1);
}

[[noreturn]] void hold_and_end(bool in_a_handler)
{
  static dibs::client mine = connect_patiently(), other = connect_patiently();
  static const dibs::observer watches(mine, "elected", [](const dibs_leader &) {});
  dibs::lock_options options;

  options.on_lost = [](const dibs_loss &) {};
  static const dibs::hold held(mine, "held", options), taken(other, "taken");
  static dibs::shared_mutex reads(mine, "read");

  reads.lock_shared();
  std::signal(SIGUSR1, end_here);
  if (!in_a_handler)
    std::exit(ENDED);
  std::thread(interrupt_when_it_waits).detach();
  dibs::hold never(mine, "taken");

  _exit(1);
}

/* Whether it ends by itself. */
void expect_end(bool in_a_handler)
{
  int status = 0;

  std::fflush(nullptr);
  const pid_t child = fork();

  if (child == 0)
    hold_and_end(in_a_handler);
  const bool ends = until([&] { return waitpid(child, &status, WNOHANG) == child; });

  if (!ends) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  CHECK(ends);
  CHECK(status == ENDED << 8);
}

void exit_releases_what_static_objects_hold()
{
  expect_end(false);
  CHECK(is_free("held") && is_free("taken"));
}

void exit_in_a_handler_ends_a_program_with_static_objects()
{
  expect_end(true);
}

}  // namespace

int main()
{
  const struct CMUnitTest tests[] = {
    TEST(exit_releases_what_static_objects_hold),
    TEST(exit_in_a_handler_ends_a_program_with_static_objects),
  };

  return RUN(tests);
}
