/* SPDX-License-Identifier: MIT */
/* test/cpp/coordination_test.cpp - the thin classes reach the C functions: semaphores, sets of
 * locks, latches, barriers, elections. What those promise is tested in C. */
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "world.hpp"

static void permits_come_and_go_with_their_holds()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::semaphore seats(mine, "seats"), same(theirs, "seats");
  dibs_status status = DIBS_OK;

  CHECK(thrown_by([&] { (void)seats.acquire(1, dibs::at_once); }) == DIBS_ERR_NOT_SET);
  seats.set(3);
  CHECK(same.set_if_absent(5) == 3);
  dibs::hold two = seats.acquire(2);

  CHECK(two.units() == 2);
  PROMISE(!same.acquire(2, SHORT) && !same.acquire(2, dibs::at_once));
  PROMISE(!same.acquire(2, dibs::at_once, status));
  CHECK(status == DIBS_BUSY);
  {
    const dibs::hold last = same.drain();

    PROMISE(last.units() == 1 && !same.drain());
  }
  CHECK(two.release() == DIBS_OK);
  CHECK(same.acquire(3, 1s).units() == 3);
  CHECK(thrown_by([&] { (void)seats.acquire(4); }) == DIBS_ERR_ARGUMENT);
}

static void a_set_of_locks_is_one_hold()
{
  dibs::client mine = connect(), theirs = connect();

  {
    const dibs::hold all = dibs::lock_many(mine, {"many a", "many b", "many a"});

    CHECK(all.fence() > 0);
    PROMISE(!is_free("many a") && !is_free("many b"));
    PROMISE((!dibs::lock_many(theirs, {"many b", "many c"}, SHORT)));
    PROMISE((!dibs::lock_many(theirs, {"many c", "many b"}, dibs::at_once)));
    CHECK(is_free("many c"));
  }
  CHECK(is_free("many a") && is_free("many b"));
  CHECK(thrown_by([&] { (void)dibs::lock_many(mine, {}); }) == DIBS_ERR_ARGUMENT);
}

static void what_was_done_is_read_back()
{
  dibs_options options = DIBS_OPTIONS_INIT;
  const dibs::client reader = connect();
  std::uint64_t granted = 0;

  options.history = DIBS_HISTORY_ALL;
  {
    dibs::client mine(reader.full_url(true), &options);
    dibs::mutex once(mine, "read back:1");

    CHECK(once.acquire().release() == DIBS_OK);
  }
  const dibs::fleet_ptr all = dibs::read_fleet(reader);

  for (std::size_t i = 0; i < all->count; i++)
    if (std::string(all->rows[i]->class_name) == "read?back")
      granted = all->rows[i]->waits[DIBS_FLEET_OK].count;
  CHECK(granted == 1);
  CHECK(dibs::read_history(reader)->count >= 1);
}

static void a_client_shows_what_it_counted()
{
  dibs::client mine = connect();
  dibs::mutex once(mine, "counted:1");

  CHECK(once.acquire().release() == DIBS_OK);
  const dibs::metrics_ptr own = dibs::read_metrics(mine);
  const std::string text = dibs::write_metrics(mine, DIBS_METRICS_PROMETHEUS);

  CHECK(own->count == 1 && own->rows[0]->waits[DIBS_FLEET_OK].count == 1);
  CHECK(text.find("dibs_holds{class=\"counted\",kind=\"lock\"} 0\n") != std::string::npos);
  CHECK(thrown_by([&] { (void)dibs::write_metrics(mine, 1u << 31); }) == DIBS_ERR_ARGUMENT);
}

static std::ptrdiff_t granted_in(const std::vector<std::string> &lines)
{
  return std::count(lines.begin(), lines.end(), "granted");
}

static void a_log_gets_the_lines_until_it_is_replaced()
{
  std::vector<std::string> lines, later;
  const auto owned = std::make_shared<int>(1);
  const auto into = [&owned](std::vector<std::string> &all) {
    return [&all, owned](const dibs_log_line &line) { all.push_back(line.event); };
  };
  dibs_log_options options = DIBS_LOG_OPTIONS_INIT;
  dibs::client mine = connect();
  dibs::mutex once(mine, "logged:1");

  options.level = DIBS_LOG_DEBUG + 1;
  CHECK(thrown_by([&] { dibs::set_log(mine, into(lines), &options); }) == DIBS_ERR_ARGUMENT);
  CHECK(owned.use_count() == 1);         /* what was refused is destroyed */
  options.level = DIBS_LOG_DEBUG;
  dibs::set_log(mine, into(lines), &options);
  CHECK(owned.use_count() == 2);
  CHECK(once.acquire().release() == DIBS_OK);
  dibs::set_log(mine, into(later), &options);
  CHECK(once.acquire().release() == DIBS_OK);
  CHECK(once.acquire().release() == DIBS_OK);
  dibs::set_log(mine, nullptr);
  CHECK(once.acquire().release() == DIBS_OK);
  mine.close();
  CHECK(owned.use_count() == 1);
  CHECK(granted_in(lines) == 1 && granted_in(later) == 2);
}

static void a_latch_opens_at_zero()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::latch latch(mine, "latch"), same(theirs, "latch");

  CHECK(latch.set(2) && !same.set(5) && same.count() == 2);
  CHECK(!latch.wait(dibs::at_once) && !latch.wait(SHORT));
  side waiter([&] { CHECK(same.wait(LONG)); });

  CHECK(latch.count_down(1, "job 1") == 1 && latch.count_down(1, "job 1") == 1);
  CHECK(latch.count_down() == 0);
  waiter.join();
  CHECK(latch.wait() && latch.wait(dibs::at_once));
  CHECK(thrown_by([&] { (void)latch.count_down(); }) == DIBS_ERR_NOT_SET);
}

static void a_barrier_lets_all_go_on_together()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::barrier barrier(mine, "barrier", 2), same(theirs, "barrier", 2);

  for (std::uint64_t round = 0; round < 3; round++) {
    side other([&] { CHECK(same.arrive_and_wait(LONG).generation == round); });

    CHECK(barrier.arrive_and_wait(LONG).generation == round);
    other.join();
  }
  CHECK(thrown_by([&] { (void)barrier.arrive_and_wait(SHORT); }) == DIBS_TIMED_OUT);
  CHECK(thrown_by([&] { (void)same.arrive_and_wait(LONG); }) == DIBS_BROKEN);
  barrier.reset();
  side other([&] { (void)same.arrive_and_wait(LONG); });

  (void)barrier.arrive_and_wait(LONG);
  other.join();
}

/* The C functions take these names as C strings, which end there. */
static void a_name_with_a_zero_byte_is_refused_where_it_would_be_cut()
{
  dibs::client client = connect();
  const std::string cut("cut\0off", 7);

  CHECK(thrown_by([&] { dibs::latch(client, cut); }) == DIBS_ERR_ARGUMENT);
  CHECK(thrown_by([&] { dibs::barrier(client, cut, 2); }) == DIBS_ERR_ARGUMENT);
  CHECK(thrown_by([&] { dibs::rate_limiter(client, cut); }) == DIBS_ERR_ARGUMENT);
  CHECK(thrown_by([&] { dibs::election(client, cut); }) == DIBS_ERR_ARGUMENT);
  CHECK(thrown_by([&] { dibs::observer(client, cut, [](const dibs_leader &) {}); }) ==
        DIBS_ERR_ARGUMENT);
  CHECK(thrown_by([&] { dibs::map(client, cut); }) == DIBS_ERR_ARGUMENT);
  try {
    CHECK(thrown_by([&] { const dibs::hold never(client, ""); }) == DIBS_ERR_ARGUMENT);
    dibs::latch(client, cut);
  } catch (const dibs::error &e) {       /* not the reason of the call before */
    CHECK(std::string(e.text()) == "a name with a zero byte in it");
  }
  CHECK(thrown_by([&] { (void)dibs::election(client, "led").campaign(cut); }) ==
        DIBS_ERR_ARGUMENT);
  dibs::semaphore seats(client, cut), others(client, "cut");
  seats.set(1);
  CHECK(thrown_by([&] { (void)others.acquire(1, dibs::at_once); }) == DIBS_ERR_NOT_SET);
}

static void observers_see_who_leads()
{
  dibs::client mine = connect(), theirs = connect();
  dibs::election here(mine, "leader"), there(theirs, "leader");
  std::mutex guard;
  dibs::leader seen;
  const dibs::observer observer(theirs, "leader", [&](const dibs_leader &now) {
    const std::lock_guard<std::mutex> lock(guard);

    seen = dibs::leader::of(now);
  });
  const auto sees = [&](const std::string &value) {
    return until([&] {
      const std::lock_guard<std::mutex> lock(guard);

      return seen.value == value && seen.is_led == !value.empty();
    });
  };

  CHECK(!there.leader().is_led);
  dibs::hold leading = here.campaign("host-a");

  CHECK(!there.campaign("host-b", dibs::at_once) && sees("host-a"));
  CHECK(there.leader().epoch == leading.fence() && there.leader().value == "host-a");
  CHECK(leading.publish("host-a:2") == DIBS_OK && sees("host-a:2"));
  CHECK(leading.release() == DIBS_OK && sees(""));
  CHECK(there.campaign("host-b", LONG));
  CHECK(!there.leader().is_led);         /* nobody kept that hold */
}

static void an_observer_without_functions_calls_none()
{
  dibs::client client = connect();
  dibs::election election(client, "not told");
  std::atomic<int> unseen{0}, seen{0};
  const dibs::observer none(client, "not told", nullptr),
    one(client, "not told", nullptr, {},
        [&](const dibs_error &, const dibs_leader &) { unseen++; }),
    told(client, "not told", [&](const dibs_leader &now) { seen += now.is_led; });
  const dibs::hold leading = election.campaign("host");

  CHECK(until([&] { return seen != 0; }));
  CHECK(unseen == 0);
}

static void an_observer_without_a_server_is_told_why()
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.connect_timeout_ms = 200;
  dibs::client nowhere("unix:///nonexistent/socket", &options);
  std::mutex guard;
  int changes = 0, faults = 0;
  dibs_status why = DIBS_OK;
  bool is_known = true;
  const dibs::observer observer(
    nowhere, "leader",
    [&](const dibs_leader &) {
      const std::lock_guard<std::mutex> lock(guard);

      changes++;
    },
    {},
    [&](const dibs_error &error, const dibs_leader &last) {
      const std::lock_guard<std::mutex> lock(guard);

      faults++;
      why = error.status;
      is_known = last.is_known;
    });

  CHECK(until([&] {
    const std::lock_guard<std::mutex> lock(guard);

    return faults == 1;
  }));
  const std::lock_guard<std::mutex> lock(guard);

  CHECK(why == DIBS_ERR_UNREACHABLE && !is_known && changes == 0);
}

/* ---- errors ---- */

/* How many of `rounds` calls throw another error than `wanted` with `word` in its text. */
template <class Call>
static int wrong_errors(int rounds, dibs_status wanted, const char *word, Call &&call)
{
  int wrong = 0;

  for (int i = 0; i < rounds; i++)
    try {
      call();
      wrong++;
    } catch (const dibs::error &e) {
      wrong += e.status() != wanted || std::string(e.text()).find(word) == std::string::npos ||
               std::string(e.what()).find(word) == std::string::npos;
    }
  return wrong;
}

static void an_exception_carries_the_error_of_its_own_thread()
{
  dibs::client client = connect();
  dibs::shared_mutex shared(client, "read and written");
  const dibs::hold reader = shared.acquire_shared();
  std::atomic<int> wrong{0};
  side one([&] {
    wrong += wrong_errors(1000, DIBS_ERR_WRONG_TYPE, "read/write", [&] {
      const dibs::hold never(client, "read and written");
    });
  });
  side other([&] {
    wrong += wrong_errors(1000, DIBS_ERR_NOT_SET, "semaphore", [&] {
      const dibs::hold never = dibs::semaphore(client, "no count").acquire();
    });
  });

  one.join();
  other.join();
  CHECK(wrong == 0);
}

int main()
{
  const CMUnitTest tests[] = {
    TEST(permits_come_and_go_with_their_holds),
    TEST(a_set_of_locks_is_one_hold),
    TEST(what_was_done_is_read_back),
    TEST(a_client_shows_what_it_counted),
    TEST(a_log_gets_the_lines_until_it_is_replaced),
    TEST(a_latch_opens_at_zero),
    TEST(a_barrier_lets_all_go_on_together),
    TEST(a_name_with_a_zero_byte_is_refused_where_it_would_be_cut),
    TEST(observers_see_who_leads),
    TEST(an_observer_without_functions_calls_none),
    TEST(an_observer_without_a_server_is_told_why),
    TEST(an_exception_carries_the_error_of_its_own_thread),
  };

  return RUN(tests);
}
