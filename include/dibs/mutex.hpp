/* SPDX-License-Identifier: MIT */
/* dibs/mutex.hpp - the standard library's mutexes, between machines: std::lock_guard,
 * scoped_lock, unique_lock, shared_lock and condition_variable_any work with them.
 *
 * One object may be used by all threads, or each takes an object of its own: what excludes is
 * the name. What a thread has locked it has to unlock itself; use acquire(), which answers a
 * dibs::hold, for what moves between threads, and to have the fence and the loss at hand. */
#ifndef DIBS_MUTEX_HPP
#define DIBS_MUTEX_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dibs/hold.hpp>

namespace dibs {
inline namespace DIBS_CPP {
namespace detail {

/* A thread, also beside all that have ended: their std::thread::id is used again. One counter
 * for all libraries of the program, whatever they hide. */
class this_thread_id {
 public:
  this_thread_id() noexcept : id_(std::this_thread::get_id()), number_(number()) {}

  bool operator==(const this_thread_id &other) const noexcept
  {
    return id_ == other.id_ && number_ == other.number_;
  }

 private:
  DIBS_API static std::uint64_t number() noexcept
  {
    static std::atomic<std::uint64_t> last{0};
    static thread_local const std::uint64_t mine = ++last;

    return mine;
  }

  std::thread::id id_;
  std::uint64_t number_;
};

/* Which thread has which holds of one mutex object. Two threads can have one at the same
 * time although it is exclusive: after a loss, until the loser has unlocked. */
class seats {
  struct seat {
    this_thread_id thread;
    bool is_shared;
    hold had;
  };

  struct ending {
    this_thread_id thread;
    dibs_status status;
  };

  template <class Endings>
  static auto ending_of(Endings &endings) noexcept
  {
    const this_thread_id me;

    return std::find_if(endings.begin(), endings.end(),
                        [me](const ending &e) { return e.thread == me; });
  }

 public:
  /* DIBS_ERR_NO_MEMORY: `had` was released again. */
  dibs_status add(hold &&had, bool is_shared) noexcept
  {
    const std::lock_guard<std::mutex> guard(guard_);

    try {
      seats_.push_back(seat{this_thread_id(), is_shared, std::move(had)});
    } catch (const std::bad_alloc &) {
      return DIBS_ERR_NO_MEMORY;
    }
    return DIBS_OK;
  }

  /* Releases what the calling thread took last. */
  dibs_status leave(bool is_shared) noexcept
  {
    hold had = remove(is_shared);
    const dibs_status status = had.release();   /* asks the server: without the guard */

    if (status == DIBS_ERR_WOULD_BLOCK)
      (void)add(std::move(had), is_shared);     /* there is room for what was removed */
    remember(status);
    return status;
  }

  /* How the last leave() of the calling thread ended. */
  dibs_status last() const noexcept
  {
    const std::lock_guard<std::mutex> guard(guard_);
    const auto found = ending_of(endings_);

    return found == endings_.end() ? DIBS_OK : found->status;
  }

  /* `look` gets what the calling thread took last, or an empty hold. */
  template <class Look>
  auto look(Look &&look) const
  {
    const std::lock_guard<std::mutex> guard(guard_);
    const this_thread_id me;
    const auto found = std::find_if(seats_.rbegin(), seats_.rend(),
                                    [me](const seat &s) { return s.thread == me; });

    return look(found == seats_.rend() ? nothing_ : found->had);
  }

  dibs_status downgrade() noexcept
  {
    const std::lock_guard<std::mutex> guard(guard_);
    const auto found = last_seat(false);

    if (found == seats_.rend())
      return DIBS_ERR_STALE;
    const dibs_status status = found->had.downgrade();

    found->is_shared = status == DIBS_OK;
    return status;
  }

 private:
  std::vector<seat>::reverse_iterator last_seat(bool is_shared) noexcept
  {
    const this_thread_id me;

    return std::find_if(seats_.rbegin(), seats_.rend(), [me, is_shared](const seat &s) {
      return s.thread == me && s.is_shared == is_shared;
    });
  }

  hold remove(bool is_shared) noexcept
  {
    const std::lock_guard<std::mutex> guard(guard_);
    const auto found = last_seat(is_shared);

    if (found == seats_.rend())
      return hold();
    hold had = std::move(found->had);

    seats_.erase(std::next(found).base());
    return had;
  }

  /* Only endings that went wrong are kept, so that threads which come and go leave nothing. */
  void remember(dibs_status status) noexcept
  {
    const std::lock_guard<std::mutex> guard(guard_);
    const auto found = ending_of(endings_);

    if (found != endings_.end() && status == DIBS_OK)
      endings_.erase(found);
    else if (found != endings_.end())
      found->status = status;
    else if (status != DIBS_OK)
      try {
        endings_.push_back(ending{this_thread_id(), status});
      } catch (const std::bad_alloc &) {
        return;                          /* last() is for the curious */
      }
  }

  mutable std::mutex guard_;
  std::vector<seat> seats_;
  std::vector<ending> endings_;
  const hold nothing_{};
};

/* What all mutexes share. */
class lockable {
 public:
  lockable(const lockable &) = delete;
  lockable &operator=(const lockable &) = delete;

  const std::string &name() const noexcept { return name_; }

  /* The result of the last unlock by the calling thread, because unlock() returns none:
   * DIBS_OK, or that the lock was lost before, as dibs::hold::release(); DIBS_ERR_STALE if
   * this thread had not locked. */
  dibs_status last_release() const noexcept { return seats_.last(); }

  /* Of what the calling thread has locked; 0 and DIBS_HOLD_GONE for nothing. */
  std::uint64_t fence() const noexcept
  {
    return seats_.look([](const hold &had) { return had.fence(); });
  }

  dibs_hold_condition state() const noexcept
  {
    return seats_.look([](const hold &had) { return had.state(); });
  }

  std::chrono::milliseconds valid_for() const noexcept
  {
    return seats_.look([](const hold &had) { return had.valid_for(); });
  }

#ifdef __cpp_lib_jthread
  std::stop_token lost() const noexcept
  {
    return seats_.look([](const hold &had) { return had.lost(); });
  }
#endif

 protected:
  lockable(client &of, std::string name, lock_options options)
      : client_(of.get()), name_(std::move(name)), options_(std::move(options))
  {
  }

  ~lockable() = default;

  hold take(const way &by, longest_wait wait, dibs_status &ret_status) noexcept
  {
    return detail::take(options_, wait, ret_status, [&](auto *c, auto **had) {
      return by(client_, name_, c, had);
    });
  }

  hold take(const way &by, longest_wait wait)
  {
    return take_or_throw(client_, name_, [&](dibs_status &status) {
      return take(by, wait, status);
    });
  }

  dibs_status enter(const way &by, bool is_shared, longest_wait wait) noexcept
  {
    dibs_status status = DIBS_OK;
    hold had = take(by, wait, status);

    return status == DIBS_OK ? seats_.add(std::move(had), is_shared) : status;
  }

  void lock_by(const way &by, bool is_shared)
  {
    check(client_, enter(by, is_shared, forever), name_);
  }

  /* A thread that would wait for itself does not get it, however long it waits. */
  bool try_by(const way &by, bool is_shared, longest_wait wait)
  {
    const dibs_status status = enter(by, is_shared, wait);

    if (is_had_by_others(status) || status == DIBS_CANCELLED ||
        status == DIBS_WOULD_DEADLOCK)
      return false;
    check(client_, status, name_);
    return true;
  }

  dibs_client *client_;
  std::string name_;
  lock_options options_;
  seats seats_;
};

template <bool is_recursive>
class basic_mutex : public lockable {
 public:
  basic_mutex(client &of, std::string name, lock_options options = {})
      : lockable(of, std::move(name), with_flags(std::move(options)))
  {
  }

  /* Waits as long as it takes. Throws dibs::error for faults, for a wait that was cancelled,
   * and where this thread has it already: std::errc::resource_deadlock_would_occur. */
  void lock() { this->lock_by(exclusive, false); }
  /* False: another client or thread holds it, or this thread, or the wait was cancelled.
   * Throws faults. So std::lock() and std::scoped_lock of two objects of one name try
   * for ever: lock_many() takes names that may be equal. */
  [[nodiscard]] bool try_lock() { return this->try_by(exclusive, false, at_once); }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &wait)
  {
    return this->try_by(exclusive, false, wait);
  }

  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until)
  {
    return this->try_by(exclusive, false, until);
  }

  /* Releases without a result; see last_release(). */
  void unlock() noexcept { (void)this->seats_.leave(false); }

  /* The same without exceptions. */
  [[nodiscard]] dibs_status lock(std::nothrow_t) noexcept
  {
    return this->enter(exclusive, false, forever);
  }

  /* The same lock as a hold of its own. Empty if others held it for all of `wait`. Other
   * results throw, or are written to `ret_status`. */
  [[nodiscard]] hold acquire(longest_wait wait = forever)
  {
    return this->take(exclusive, wait);
  }

  [[nodiscard]] hold acquire(longest_wait wait, dibs_status &ret_status) noexcept
  {
    return this->take(exclusive, wait, ret_status);
  }

 private:
  static lock_options with_flags(lock_options options)
  {
    if (!is_recursive)
      options.flags |= DIBS_LOCK_NO_REENTRY;
    return options;
  }
};

}  // namespace detail

/* TimedLockable, as std::timed_mutex: the lock of dibs_lock() with that name. */
using mutex = detail::basic_mutex<false>;

/* As std::recursive_timed_mutex: a thread that has it may lock again, without a round trip,
 * and has to unlock as often. */
using recursive_mutex = detail::basic_mutex<true>;

/* SharedTimedLockable, as std::shared_timed_mutex: DIBS_TARGET_READ and
 * DIBS_TARGET_WRITE. First come, first served. A thread that reads and wants to write would
 * wait for itself: lock() throws std::errc::resource_deadlock_would_occur. */
class shared_mutex : public detail::lockable {
 public:
  shared_mutex(client &of, std::string name, lock_options options = {})
      : lockable(of, std::move(name), std::move(options))
  {
    options_.flags |= DIBS_LOCK_NO_REENTRY;
  }

  void lock() { lock_by(detail::writing, false); }
  [[nodiscard]] bool try_lock() { return try_by(detail::writing, false, at_once); }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &wait)
  {
    return try_by(detail::writing, false, wait);
  }

  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until)
  {
    return try_by(detail::writing, false, until);
  }

  void unlock() noexcept { (void)seats_.leave(false); }

  void lock_shared() { lock_by(detail::reading, true); }
  [[nodiscard]] bool try_lock_shared() { return try_by(detail::reading, true, at_once); }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &wait)
  {
    return try_by(detail::reading, true, wait);
  }

  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(
    const std::chrono::time_point<Clock, Duration> &until)
  {
    return try_by(detail::reading, true, until);
  }

  void unlock_shared() noexcept { (void)seats_.leave(true); }

  [[nodiscard]] dibs_status lock(std::nothrow_t) noexcept
  {
    return enter(detail::writing, false, forever);
  }

  [[nodiscard]] dibs_status lock_shared(std::nothrow_t) noexcept
  {
    return enter(detail::reading, true, forever);
  }

  /* Turns the calling thread's lock() into a lock_shared() without another writer in between:
   * unlock_shared() ends it then. DIBS_ERR_STALE if this thread does not write. */
  [[nodiscard]] dibs_status downgrade() noexcept { return seats_.downgrade(); }

  [[nodiscard]] hold acquire(longest_wait wait = forever) { return take(detail::writing, wait); }
  [[nodiscard]] hold acquire(longest_wait wait, dibs_status &ret_status) noexcept
  {
    return take(detail::writing, wait, ret_status);
  }

  [[nodiscard]] hold acquire_shared(longest_wait wait = forever)
  {
    return take(detail::reading, wait);
  }

  [[nodiscard]] hold acquire_shared(longest_wait wait, dibs_status &ret_status) noexcept
  {
    return take(detail::reading, wait, ret_status);
  }
};

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
