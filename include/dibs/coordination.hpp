/* SPDX-License-Identifier: MIT */
/* dibs/coordination.hpp - semaphores, latches, barriers, rate limiters and elections: thin
 * classes over the C functions, which say all the rest. All of them throw dibs::error. */
#ifndef DIBS_COORDINATION_HPP
#define DIBS_COORDINATION_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dibs/barrier.h>
#include <dibs/hold.hpp>
#include <dibs/latch.h>
#include <dibs/rate.h>
#include <dibs/semaphore.h>

namespace dibs {
inline namespace DIBS_CPP {

class semaphore {
 public:
  semaphore(client &of, std::string name, lock_options options = {})
      : client_(of.get()), name_(std::move(name)), options_(std::move(options))
  {
  }

  void set(std::uint32_t permits) const
  {
    detail::check(client_,
                  dibs_semaphore_set(client_, detail::all_of(name_), permits, 0,
                                     nullptr), name_);
  }

  /* Returns the count that it has now. */
  std::uint32_t set_if_absent(std::uint32_t permits) const
  {
    std::uint32_t now = 0;

    detail::check(client_,
                  dibs_semaphore_set(client_, detail::all_of(name_), permits,
                                     DIBS_SEMAPHORE_IF_ABSENT, &now), name_);
    return now;
  }

  /* `count` permits at once, or none: an empty hold if there were not enough within
   * `wait`. Other results throw, or are written to `ret_status`. */
  [[nodiscard]] hold acquire(std::uint32_t count = 1, longest_wait wait = forever)
  {
    return detail::take_or_throw(client_, name_, [&](dibs_status &status) {
      return acquire(count, wait, status);
    });
  }

  [[nodiscard]] hold acquire(std::uint32_t count, longest_wait wait,
                             dibs_status &ret_status) noexcept
  {
    /* Both have a meaning in dibs_target; as a count they are refused. */
    if (count == 0 || count == DIBS_UNITS_ALL_FREE)
      count = DIBS_PERMITS_MAX + 1U;
    return take(count, wait, ret_status);
  }

  /* All that are free; hold::units() returns how many. Empty: there was none. */
  [[nodiscard]] hold drain()
  {
    return detail::take_or_throw(client_, name_, [&](dibs_status &status) {
      return take(DIBS_UNITS_ALL_FREE, at_once, status);
    });
  }

 private:
  hold take(std::uint32_t units, longest_wait wait, dibs_status &ret_status) noexcept
  {
    const dibs_bytes text = detail::all_of(name_);
    dibs_target target = detail::target_of(DIBS_TARGET_PERMITS, &text);

    target.units = units;
    return detail::take(options_, wait, ret_status, [&](auto *c, auto **had) {
      return dibs_acquire(client_, &target, c, had);
    });
  }

  dibs_client *client_;
  std::string name_;
  lock_options options_;
};

class latch {
 public:
  latch(client &of, std::string name) : client_(of.get()), name_(detail::c_name(std::move(name))) {}

  /* False: it is armed already, and nothing was changed. */
  [[nodiscard]] bool set(std::int64_t count) const
  {
    const dibs_status status = dibs_latch_set(client_, name_.c_str(), count);

    if (status != DIBS_BUSY)
      detail::check(client_, status, name_);
    return status == DIBS_OK;
  }

  /* Returns what is left. The same `id` counts once; nullptr: each call counts. */
  std::int64_t count_down(std::int64_t count = 1, const char *id = nullptr) const
  {
    std::int64_t left = 0;

    detail::check(client_, dibs_latch_down(client_, name_.c_str(), count, id, &left), name_);
    return left;
  }

  std::int64_t count() const
  {
    std::int64_t left = 0;

    detail::check(client_, dibs_latch_count(client_, name_.c_str(), &left), name_);
    return left;
  }

  /* Whether it came to zero in time. */
  bool wait(longest_wait wait = forever) const
  {
    dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
    dibs_status status = DIBS_OK;

    if (wait.is_at_once())
      return count() == 0;
    do {
      options.wait_ms = wait.ms();
      status = dibs_latch_await(client_, name_.c_str(), &options);
    } while (status == DIBS_TIMED_OUT && wait.goes_on());
    if (status != DIBS_TIMED_OUT)
      detail::check(client_, status, name_);
    return status == DIBS_OK;
  }

 private:
  dibs_client *client_;
  std::string name_;
};

class barrier {
 public:
  barrier(client &of, std::string name, std::uint32_t parties)
      : client_(of.get()), name_(detail::c_name(std::move(name))), parties_(parties)
  {
  }

  /* Throws when the barrier is broken (DIBS_BROKEN) or the wait is over (DIBS_TIMED_OUT, which
   * breaks it for the others), besides faults. */
  dibs_barrier_info arrive_and_wait(longest_wait wait = forever) const
  {
    dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
    dibs_barrier_info info{};

    info.size = sizeof(info);
    options.wait_ms = wait.ms();
    detail::check(client_,
                  dibs_barrier_await(client_, name_.c_str(), parties_, &options, &info),
                  name_);
    return info;
  }

  void reset() const
  {
    detail::check(client_, dibs_barrier_reset(client_, name_.c_str()), name_);
  }

 private:
  dibs_client *client_;
  std::string name_;
  std::uint32_t parties_;
};

class rate_limiter {
 public:
  rate_limiter(client &of, std::string name)
      : client_(of.get()), name_(detail::c_name(std::move(name)))
  {
  }

  /* `permits` in each `interval`. False: a rate is set already, and nothing was changed, which
   * DIBS_RATE_RESET and DIBS_RATE_UPDATE do. */
  bool set(std::int64_t permits, std::chrono::milliseconds interval,
           dibs_rate_how how = DIBS_RATE_IF_ABSENT, dibs_rate_type type = DIBS_RATE_OVERALL) const
  {
    dibs_rate rate = DIBS_RATE_INIT;

    rate.permits = permits;
    rate.interval_ms = interval.count();
    rate.type = type;
    return set(rate, how);
  }

  bool set(const dibs_rate &rate, dibs_rate_how how) const
  {
    const dibs_status status = dibs_rate_limiter_set(client_, name_.c_str(), &rate, how);

    if (status != DIBS_BUSY)
      detail::check(client_, status, name_);
    return status == DIBS_OK;
  }

  /* All `permits` or none. False: not in time. */
  bool acquire(std::uint32_t permits = 1, longest_wait wait = forever) const
  {
    dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
    dibs_status status = DIBS_OK;

    do {
      options.wait_ms = wait.ms();
      status = dibs_rate_limiter_acquire(client_, name_.c_str(), permits, &options, nullptr);
    } while (status == DIBS_TIMED_OUT && wait.goes_on());
    if (status != DIBS_TIMED_OUT && status != DIBS_BUSY)
      detail::check(client_, status, name_);
    return status == DIBS_OK;
  }

  /* Permits that were not used; returns how many came back. */
  std::int64_t release(std::uint32_t permits) const
  {
    std::int64_t given = 0;

    detail::check(client_, dibs_rate_limiter_release(client_, name_.c_str(), permits, &given),
                  name_);
    return given;
  }

  std::int64_t available() const
  {
    std::int64_t permits = 0;

    detail::check(client_, dibs_rate_limiter_get(client_, name_.c_str(), nullptr, &permits),
                  name_);
    return permits;
  }

  dibs_rate config() const
  {
    dibs_rate rate = DIBS_RATE_INIT;

    detail::check(client_, dibs_rate_limiter_get(client_, name_.c_str(), &rate, nullptr), name_);
    return rate;
  }

  void erase() const
  {
    detail::check(client_, dibs_rate_limiter_delete(client_, name_.c_str()), name_);
  }

 private:
  dibs_client *client_;
  std::string name_;
};

/* The leader; an empty value and epoch 0 if there never was one. */
struct leader {
  bool is_led = false;
  std::uint64_t epoch = 0;
  std::string value{};
  bool is_published = false;   /* `value` is, though it may be empty */

  static leader of(const dibs_leader &c)
  {
    return leader{c.is_led, c.epoch, std::string(c.value, c.value_size), c.is_published};
  }
};

class election {
 public:
  election(client &of, std::string name, lock_options options = {})
      : client_(of.get()), name_(detail::c_name(std::move(name))), options_(std::move(options))
  {
  }

  /* Leading, until the hold ends; its fence is the epoch. Empty when others led for all of
   * `wait`. */
  [[nodiscard]] hold campaign(const std::string &value, longest_wait wait = forever)
  {
    const dibs_bytes text = detail::all_of(name_);
    dibs_target target = detail::target_of(DIBS_TARGET_LEAD, &text);

    target.value = detail::all_of(value);
    return detail::take_or_throw(client_, name_, [&](dibs_status &status) {
      return detail::take(options_, wait, status, [&](auto *c, auto **had) {
        return dibs_acquire(client_, &target, c, had);
      });
    });
  }

  dibs::leader leader() const
  {
    dibs_leader *found = nullptr;

    detail::check(client_, dibs_get_leader(client_, name_.c_str(), &found), name_);
    const std::unique_ptr<dibs_leader, dibs_leader *(*)(dibs_leader *)> owned(
      found, dibs_leader_free);

    return dibs::leader::of(*found);
  }

 private:
  dibs_client *client_;
  std::string name_;
  lock_options options_;
};

/* Calls `on_change`, if there is one, with each state of an election, the present one first,
 * until this object ends; `on_end`, if there is one, once with the error that ends the
 * observation before; `on_unseen`, if there is one, once when the server cannot be seen, with
 * the reason and the last leader known: `on_change` follows when it is seen again. They must
 * not throw, and may not end the object. */
class observer {
 public:
  observer(client &of, const std::string &name,
           std::function<void(const dibs_leader &)> on_change,
           std::function<void(const dibs_error &)> on_end = {},
           std::function<void(const dibs_error &, const dibs_leader &)> on_unseen = {})
  {
    const std::string whole = detail::c_name(name);
    auto data = std::make_unique<functions>(
      functions{std::move(on_change), std::move(on_end), std::move(on_unseen)});

    detail::check(of.get(),
                  dibs_observe(of.get(), whole.c_str(), changed, data.release(), over, &observer_),
                  name);
  }

  observer(const observer &) = delete;
  observer &operator=(const observer &) = delete;
  ~observer() { dibs_observer_free(observer_); }

 private:
  /* They outlive an observer whose end is refused (DIBS_ERR_WOULD_BLOCK). */
  struct functions {
    std::function<void(const dibs_leader &)> on_change;
    std::function<void(const dibs_error &)> on_end;
    std::function<void(const dibs_error &, const dibs_leader &)> on_unseen;
  };

  static void changed(const dibs_error *error, const dibs_leader *now, void *data) noexcept
  {
    const functions *f = static_cast<const functions *>(data);

    if (now != nullptr && error->status == DIBS_OK && f->on_change)
      f->on_change(*now);
    else if (now != nullptr && error->status != DIBS_OK && f->on_unseen)
      f->on_unseen(*error, *now);
    else if (now == nullptr && f->on_end)
      f->on_end(*error);
  }

  static void over(void *data) noexcept { delete static_cast<functions *>(data); }

  dibs_observer *observer_ = nullptr;
};

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
