/* SPDX-License-Identifier: MIT */
/* test/cpp/data_test.cpp - the thin classes reach the C functions: maps, lists, sets and rate
 * limiters. What those promise is tested in C. */
#include <map>
#include <set>
#include <vector>

#include "world.hpp"

static const std::string zeros("a\0b", 3);

static void a_map_keeps_bytes()
{
  dibs::client client = connect();
  dibs::map map(client, "map");

  CHECK(!map.get("k") && !map.contains("k") && map.size() == 0 && map.ttl_ms() == -2);
  map.put("k", "v");
  CHECK(map.get("k") == "v" && map.contains("k") && map.size() == 1 && map.ttl_ms() == -1);
  CHECK(map.exchange("k", zeros) == "v" && map.get("k") == zeros);
  CHECK(!map.exchange(zeros, ""));
  CHECK(map.get(zeros) == "" && !map.put_if_absent("k", "w") && map.put_if_absent("n", "1"));
  CHECK(map.replace("n", "2") && !map.replace("none", "2") && map.replace_if("n", "2", "3"));
  CHECK(!map.replace_if("n", "2", "4") && !map.remove_if("n", "2") && map.remove_if("n", "3"));
  map.remove("k");
  CHECK(map.take(zeros) == "" && !map.take(zeros) && map.size() == 0);
  map.put("k", "v");
  CHECK(map.expire(60s) && map.ttl_ms() > 0 && map.persist() && map.erase() && !map.erase());
  CHECK(thrown_by([&] { map.put(std::string(DIBS_KEY_MAX + 1, 'x'), ""); }) ==
        DIBS_ERR_ARGUMENT);
}

static void walks_end_with_their_visitor()
{
  dibs::client client = connect();
  dibs::map map(client, "walked");
  std::map<std::string, std::string> seen;
  int visits = 0;

  for (int i = 0; i < 100; i++)
    map.put(std::to_string(i), zeros);
  map.each([&](std::string_view key, std::string_view value) { seen.emplace(key, value); });
  CHECK(seen.size() == 100 && seen["42"] == zeros);
  map.each([&](std::string_view, std::string_view) { return ++visits < 7; });
  CHECK(visits == 7);
  try {
    map.each([&](std::string_view, std::string_view) { throw std::runtime_error("enough"); });
    CHECK(false);
  } catch (const std::runtime_error &e) {
    CHECK(std::string(e.what()) == "enough");
  }
  CHECK(map.erase());
}

static void an_outdated_hold_writes_nothing()
{
  dibs::client mine = connect(), theirs = connect();
  const dibs::map map(mine, "guarded");
  const dibs::hold first(mine, "the map's");

  CHECK(map.put_guarded(first, "k", "first"));
  dibs_inspection *found = inspect(mine, "the map's");
  const dibs_status broken = dibs_break(mine.get(), dibs_text("the map's"), found->lease);

  dibs_inspection_free(found);
  CHECK(broken == DIBS_OK);
  const dibs::hold second(theirs, "the map's");

  CHECK(map.put_guarded(second, "k", "second"));
  CHECK(!map.put_guarded(first, "k", "late") && !map.remove_guarded(first, "k"));
  CHECK(map.get_guarded("k").first == "second");
  CHECK(map.get_guarded("k").second == second.fence());
  CHECK(!map.get_guarded("none").first);
  CHECK(map.get("k") == "second" && map.remove_guarded(second, "k") && !map.contains("k"));
  CHECK(thrown_by([&] { (void)map.put_guarded(second, zeros, ""); }) == DIBS_ERR_ARGUMENT);
  try {
    CHECK(thrown_by([&] { const dibs::hold never(mine, ""); }) == DIBS_ERR_ARGUMENT);
    (void)map.put_guarded(second, zeros, "");
  } catch (const dibs::error &e) {       /* not the reason of the call before */
    CHECK(std::string(e.text()) == "a key with a zero byte in it");
  }
}

static void the_lock_of_a_key_has_a_name()
{
  dibs::client client = connect();
  const dibs::map map(client, "users");
  const dibs::set same(client, "users");

  CHECK(map.lock_name("7").find("{users}:") == 0 && map.lock_name("7") == same.lock_name("7"));
  CHECK(map.lock_name("7", DIBS_KEY_RW_LOCK) != map.lock_name("7"));
}

static void a_list_is_a_queue_too()
{
  dibs::client client = connect();
  dibs::list list(client, "list");
  std::vector<std::string> seen;

  CHECK(list.add("b") == 1 && list.add_first("a") == 2 && list.add(zeros) == 3);
  CHECK(list.get(0) == "a" && list.get(-1) == zeros && !list.get(3));
  CHECK(list.set(1, "c") && list.insert(1, "b") && !list.set(9, "x") && list.size() == 4);
  list.each([&](std::uint64_t index, std::string_view element) {
    CHECK(index == seen.size());
    seen.emplace_back(element);
  });
  CHECK(seen == (std::vector<std::string>{"a", "b", "c", zeros}));
  seen.clear();
  list.each([&](std::uint64_t, std::string_view element) { seen.emplace_back(element); }, 1, 2);
  CHECK(seen == (std::vector<std::string>{"b", "c"}));
  CHECK(list.remove("b") == 1 && list.remove("b", 1) == 0 && list.remove_at(0));
  CHECK(list.pop_last() == zeros && list.pop_first() == "c" && !list.pop_first());
  CHECK(!list.take(SHORT) && !list.take(dibs::at_once));
  side giver([&] {
    dibs::client other = connect();

    CHECK(dibs::list(other, "list").add("at last") == 1);
  });

  CHECK(list.take(LONG) == "at last");
  giver.join();
}

static void a_set_has_each_once()
{
  dibs::client client = connect();
  dibs::set set(client, "set");
  std::set<std::string> seen;

  CHECK(set.add("a") && !set.add("a") && set.add(zeros) && set.size() == 2);
  CHECK(set.contains(zeros) && !set.contains("b"));
  set.each([&](std::string_view member) { seen.emplace(member); });
  CHECK(seen == (std::set<std::string>{"a", zeros}));
  CHECK(set.remove("a") && !set.remove("a") && set.pop() == zeros && !set.pop());
}

static void a_rate_is_for_all()
{
  dibs::client mine = connect(), theirs = connect();
  const dibs::rate_limiter here(mine, "rate"), there(theirs, "rate");

  CHECK(thrown_by([&] { (void)here.acquire(); }) == DIBS_ERR_NOT_SET);
  CHECK(here.set(3, 1h) && !there.set(5, 1h) && there.config().permits == 3);
  CHECK(here.acquire(2) && there.available() == 1 && !there.acquire(2, dibs::at_once));
  CHECK(!there.acquire(2, SHORT) && there.release(1) == 1 && there.acquire(2, LONG));
  CHECK(there.set(9, 1h, DIBS_RATE_UPDATE) && here.available() == 6);
  here.erase();
  CHECK(thrown_by([&] { (void)there.available(); }) == DIBS_ERR_NOT_SET);
}

int main()
{
  const CMUnitTest tests[] = {
    TEST(a_map_keeps_bytes),
    TEST(walks_end_with_their_visitor),
    TEST(an_outdated_hold_writes_nothing),
    TEST(the_lock_of_a_key_has_a_name),
    TEST(a_list_is_a_queue_too),
    TEST(a_set_has_each_once),
    TEST(a_rate_is_for_all),
  };

  return RUN(tests);
}
