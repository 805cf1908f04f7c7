/* SPDX-License-Identifier: MIT */
/* dibs/hold.hpp - a hold that releases itself, how long to wait for one, and how to take it. */
#ifndef DIBS_HOLD_HPP
#define DIBS_HOLD_HPP

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <dibs/acquire.h>
#include <dibs/client.hpp>
#include <dibs/election.h>
#include <dibs/lock.h>
#include <dibs/loss.hpp>
#include <dibs/rwlock.h>

namespace dibs {
inline namespace DIBS_CPP {

namespace detail {
struct hold_access;
}

struct forever_t {};
struct at_once_t {};
inline constexpr forever_t forever{};
inline constexpr at_once_t at_once{};

/* The longest wait for something: a duration or a point in time of any clock, `forever`, or
 * `at_once`, as is any duration of 0 or less: then it waits only for the server's
 * reply. Rounded up to milliseconds. */
class longest_wait {
 public:
  template <class Rep, class Period>
  constexpr longest_wait(const std::chrono::duration<Rep, Period> &wait)
      : ms_(std::chrono::duration<double, std::milli>(wait).count())
  {
  }

  template <class Clock, class Duration>
  longest_wait(const std::chrono::time_point<Clock, Duration> &until)
      : ms_(since_epoch_ms(until) - since_epoch_ms(Clock::now()))
  {
  }

  constexpr longest_wait(forever_t) noexcept : ms_(std::numeric_limits<double>::infinity()) {}
  constexpr longest_wait(at_once_t) noexcept : ms_(0) {}

  bool is_at_once() const noexcept { return !(ms_ > 0); }

  /* As wait_ms in the C structs. Not more than they take at a time. */
  std::int32_t ms() const noexcept
  {
    if (std::isinf(ms_) && ms_ > 0)
      return DIBS_FOREVER;
    if (!(ms_ > 0))
      return 0;
    return ms_ < DIBS_MS_MAX ? static_cast<std::int32_t>(std::ceil(ms_)) : DIBS_MS_MAX;
  }

  /* After waiting ms(): whether there is more to wait. */
  bool goes_on() noexcept
  {
    ms_ -= ms();                         /* infinity stays what it is */
    return ms_ > 0;
  }

 private:
  /* In doubles, because differences of integers overflow for the first and last point in
   * time that a clock has. Their error is less than a microsecond. */
  template <class Clock, class Duration>
  static double since_epoch_ms(const std::chrono::time_point<Clock, Duration> &t)
  {
    return std::chrono::duration<double, std::milli>(t.time_since_epoch()).count();
  }

  double ms_;
};

/* linger of the options below: where it pays. */
inline constexpr std::chrono::milliseconds linger_auto{DIBS_LINGER_AUTO};

/* How to take a lock: dibs_lock_options in C++. Zero means the default. */
struct lock_options {
  std::chrono::milliseconds ttl{};        /* lease length, 30 s */
  std::chrono::milliseconds max_hold{};   /* renewal ends then, and the hold; 0: never */
  std::chrono::milliseconds linger{};     /* exclusive locks; see dibs_lock_options */
  std::uint32_t flags = 0;                /* DIBS_LOCK_* */
  std::string note{};                     /* shown with the holder */
  std::string owner{};                    /* may re-enter; "": the calling thread */
  dibs_canceller *cancel = nullptr;       /* borrowed */
  std::int32_t min_replicas = 0;          /* exclusive locks; or DIBS_REPLICAS_MAJORITY */
  std::chrono::milliseconds replicas_wait{};  /* the limit of that, 1 s; at most 3/4 of ttl */
  /* Runs at most once, on the thread dibs-callback (see dibs_lost_callback), and not any
   * more when the release has returned. Must not throw, nor may a copy of it, except
   * std::bad_alloc: each taking makes one. A release waits for one that runs, so it must not
   * wait for the thread that releases the hold. */
  std::function<void(const dibs_loss &lost)> on_lost{};
  /* The same for each change; see dibs_change_callback. */
  std::function<void(const dibs_hold_info &now, dibs_change why)> on_change{};
  std::chrono::milliseconds warn{};       /* before the end: DIBS_CHANGE_ENDS_SOON */
};

/* Something held, until release() or the end of this object. Move only; any thread may
 * release it. Empty when nothing was had: `if (dibs::hold h = m.acquire(50ms)) ...` */
class [[nodiscard]] hold {
 public:
  hold() noexcept = default;

  /* Takes the lock `name` (all its bytes, also zero ones), waiting for it as long as it takes;
   * throws dibs::error. The calling thread may do so again, as with dibs_lock(). */
  hold(client &of, const std::string &name, const lock_options &options = {});

  /* Takes over what a C function gave; nullptr: an empty one. The on_lost of the C options
   * reports its loss; lost() does not, and its stop_possible() is false. */
  explicit hold(dibs_hold *adopted) noexcept : hold_(adopted) {}

  hold(hold &&other) noexcept
      : hold_(std::exchange(other.hold_, nullptr)), watch_(std::move(other.watch_))
  {
  }

  /* `other` has this one's hold afterwards where its release is refused: see release(). */
  hold &operator=(hold &&other) noexcept
  {
    if (this != &other) {
      if (hold_ != nullptr)
        (void)release();
      std::swap(hold_, other.hold_);
      watch_ = std::move(other.watch_);
    }
    return *this;
  }

  ~hold()
  {
    if (hold_ != nullptr && release() == DIBS_ERR_WOULD_BLOCK)
      watch_.end(DIBS_ERR_WOULD_BLOCK);
  }

  /* Whether this is a hold, held still or lost; see state(). */
  explicit operator bool() const noexcept { return hold_ != nullptr; }

  /* As dibs_release(), and empty afterwards: DIBS_OK, or that it was lost before
   * (DIBS_LOST, DIBS_TAKEN), DIBS_UNKNOWN, DIBS_ERR_STALE for an empty one. Refused in a signal
   * handler (DIBS_ERR_WOULD_BLOCK), it is held as before.
   * The destructor does the same without a result. */
  [[nodiscard]] dibs_status release() noexcept
  {
    const dibs_status status = dibs_release(hold_);

    if (status == DIBS_ERR_WOULD_BLOCK)
      return status;
    hold_ = nullptr;
    watch_.end(status);
    return status;
  }

  std::uint64_t fence() const noexcept { return dibs_hold_fence(hold_); }
  dibs_hold_condition state() const noexcept { return dibs_hold_state(hold_); }
  bool is_held() const noexcept { return state() != DIBS_HOLD_GONE; }
  std::uint32_t units() const noexcept { return info().units; }
  int depth() const noexcept { return static_cast<int>(info().depth); }

  /* As dibs_hold_get_info(); of what is no hold any more zero, and DIBS_HOLD_GONE. */
  dibs_hold_info info() const noexcept
  {
    dibs_hold_info now = DIBS_HOLD_INFO_INIT;

    (void)dibs_hold_get_info(hold_, &now);
    return now;
  }

  /* For how long it may be believed if no further renewal succeeds. */
  std::chrono::milliseconds valid_for() const noexcept
  {
    return std::chrono::milliseconds(dibs_hold_valid_ms(hold_));
  }

#ifdef __cpp_lib_jthread
  /* Asked to stop when this hold is lost, or its release says that it was; not by a release
   * in time, and never of an adopted hold. Its callbacks run on the thread dibs-callback and must
   * not block there. */
  std::stop_token lost() const noexcept { return watch_.token(); }
#endif

  /* Readable when the hold is lost; ends with it. */
  int lost_fd() const noexcept { return dibs_hold_fd(hold_); }

  /* As dibs_hold_name(); of several names the one at `index`. Throws. */
  std::string name(std::size_t index = 0) const
  {
    std::string text(DIBS_NAME_MAX + 1, '\0');
    std::size_t size = 0;

    detail::check(nullptr, dibs_hold_name(hold_, index, text.data(), text.size(), &size),
                  "dibs::hold::name");
    text.resize(size);
    return text;
  }

  /* As dibs_hold_why(); empty for a stale hold, too. */
  std::string why() const
  {
    std::string text(512, '\0');

    if (dibs_hold_why(hold_, text.data(), text.size()) != DIBS_OK)
      return {};
    text.resize(text.find('\0'));
    return text;
  }

  /* For dibs_token_renew() and _release(), in any process. Throws. */
  std::string token() const
  {
    std::string text(DIBS_TOKEN_SIZE, '\0');

    detail::check(nullptr, dibs_hold_token(hold_, text.data(), text.size()),
                  "dibs::hold::token");
    text.resize(text.find('\0'));
    return text;
  }

  /* As dibs_hold_detach(): the lease runs out, or goes on by its token. Refused, it is held as
   * before. */
  dibs_status detach() noexcept
  {
    const dibs_status status = dibs_hold_detach(hold_);

    if (status == DIBS_ERR_ARGUMENT || status == DIBS_ERR_UNSUPPORTED ||
        status == DIBS_ERR_NO_MEMORY || status == DIBS_ERR_WOULD_BLOCK)
      return status;
    hold_ = nullptr;
    watch_.end(status);
    return status;
  }

  /* Of a write hold: dibs_downgrade(). Of leading: dibs_publish(). */
  [[nodiscard]] dibs_status downgrade() noexcept { return dibs_downgrade(hold_); }
  [[nodiscard]] dibs_status publish(const char *value) noexcept
  {
    return dibs_publish(hold_, value);
  }

  dibs_hold *get() const noexcept { return hold_; }

 private:
  friend struct detail::hold_access;

  hold(dibs_hold *had, detail::loss_watch &&watch) noexcept
      : hold_(had), watch_(std::move(watch))
  {
  }

  dibs_hold *hold_ = nullptr;
  detail::loss_watch watch_;
};

namespace detail {

struct hold_access {
  static hold make(dibs_hold *had, loss_watch &&watch) noexcept
  {
    return hold(had, std::move(watch));
  }

  /* Of an asynchronous release: the handle, and later how it ended. */
  static dibs_hold *give(hold &of) noexcept { return std::exchange(of.hold_, nullptr); }
  static void end(hold &of, dibs_status released) noexcept { of.watch_.end(released); }
};

inline dibs_target target_of(std::int32_t kind, const dibs_bytes *names, std::size_t count = 1)
{
  dibs_target target{};

  target.size = sizeof(target);
  target.kind = kind;
  target.names = names;
  target.name_count = count;
  return target;
}

/* Takes one name, as a DIBS_TARGET_*. */
struct way {
  std::int32_t kind;

  dibs_status operator()(dibs_client *client, const std::string &name,
                         const dibs_lock_options *options, dibs_hold **ret_hold) const
  {
    const dibs_bytes text = all_of(name);
    const dibs_target target = target_of(kind, &text);

    return dibs_acquire(client, &target, options, ret_hold);
  }
};

inline constexpr way exclusive{DIBS_TARGET_LOCK};
inline constexpr way writing{DIBS_TARGET_WRITE};
inline constexpr way reading{DIBS_TARGET_READ};

inline dibs_lock_options c_options(const lock_options &options) noexcept
{
  dibs_lock_options c = DIBS_LOCK_OPTIONS_INIT;

  c.flags = options.flags;
  c.ttl_ms = option_ms(options.ttl);
  c.max_hold_ms = option_ms(options.max_hold);
  c.linger_ms = option_ms(options.linger);
  c.note = options.note.empty() ? nullptr : options.note.c_str();
  c.owner = options.owner.empty() ? nullptr : options.owner.data();
  c.owner_size = options.owner.size();
  c.cancel = options.cancel;
  c.min_replicas = options.min_replicas;
  c.replicas_wait_ms = option_ms(options.replicas_wait);
  c.warn_ms = option_ms(options.warn);
  return c;
}

/* `call` asks the library: (options, ret_hold). Waits longer than it takes at a time
 * are cut into several. */
template <class Call>
hold take(const lock_options &options, longest_wait wait, dibs_status &ret_status,
          Call &&call) noexcept
{
  try {
    dibs_lock_options c = c_options(options);
    loss_watch watch(options.on_lost, options.on_change);
    dibs_hold *had = nullptr;

    do {
      c.wait_ms = wait.ms();
      watch.watch(c);
      ret_status = call(&c, &had);
    } while (ret_status == DIBS_TIMED_OUT && wait.goes_on());
    return ret_status == DIBS_OK ? hold_access::make(had, std::move(watch)) : hold();
  } catch (const std::bad_alloc &) {
    ret_status = DIBS_ERR_NO_MEMORY;
    return hold();
  }
}

/* Another client or thread has it. All other results except DIBS_OK must be handled. */
inline bool is_had_by_others(dibs_status status) noexcept
{
  return status == DIBS_BUSY || status == DIBS_TIMED_OUT;
}

/* The throwing form of a call that has a form with a status. */
template <class Call>
hold take_or_throw(dibs_client *client, const std::string &name, Call &&call)
{
  dibs_status status = DIBS_OK;
  hold had = call(status);

  if (!is_had_by_others(status))
    check(client, status, name);
  return had;
}

}  // namespace detail

inline hold::hold(client &of, const std::string &name, const lock_options &options)
{
  *this = detail::take_or_throw(of.get(), name, [&](dibs_status &ret_status) {
    return detail::take(options, forever, ret_status, [&](auto *c, auto **had) {
      return detail::exclusive(of.get(), name, c, had);
    });
  });
}

/* All locks of `names` as one hold: several names in one dibs_target. Empty when others had one of
 * them for all of `wait`; throws everything else. */
inline hold lock_many(client &of, const std::vector<std::string> &names,
                      longest_wait wait = forever, const lock_options &options = {})
{
  std::vector<dibs_bytes> texts;

  texts.reserve(names.size() + 1);           /* not NULL without names, which are refused */
  for (const std::string &name : names)
    texts.push_back(detail::all_of(name));
  if (texts.size() == 1)
    texts.push_back(texts.front());          /* a set of one, too, has no re-entry */

  const dibs_target target =
    detail::target_of(DIBS_TARGET_LOCK, texts.data(), texts.size());

  return detail::take_or_throw(of.get(), "dibs::lock_many", [&](dibs_status &ret_status) {
    return detail::take(options, wait, ret_status, [&](auto *c, auto **had) {
      return dibs_acquire(of.get(), &target, c, had);
    });
  });
}

/* Ends waiting calls whose lock_options name it, from any thread; with C++20 by a
 * std::stop_callback, say. Also from a signal handler. */
class canceller {
 public:
  canceller() { detail::check(nullptr, dibs_canceller_new(&canceller_), "dibs::canceller"); }
  canceller(const canceller &) = delete;
  canceller &operator=(const canceller &) = delete;
  ~canceller() { dibs_canceller_free(canceller_); }

  void cancel() noexcept { dibs_cancel(canceller_); }
  dibs_canceller *get() const noexcept { return canceller_; }

 private:
  dibs_canceller *canceller_ = nullptr;
};

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
