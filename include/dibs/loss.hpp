/* SPDX-License-Identifier: MIT */
/* dibs/loss.hpp - inside dibs/hold.hpp: from the library's callback to std::function and
 * std::stop_token. Nothing in here is for programs. */
#ifndef DIBS_LOSS_HPP
#define DIBS_LOSS_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <dibs/error.hpp>
#include <dibs/lock.h>

namespace dibs {
inline namespace DIBS_CPP {
namespace detail {

/* What happens when one hold is lost. */
class loss {
 public:
  explicit loss(std::function<void(const dibs_loss &)> on_lost) : on_lost_(std::move(on_lost)) {}

  void tell(const dibs_loss &lost) noexcept
  {
    {
      const std::lock_guard<std::mutex> guard(telling_);

      if (is_over_)
        return;
      is_over_ = true;
      if (on_lost_) {
        teller_ = std::this_thread::get_id();
        on_lost_(lost);
        teller_ = std::thread::id();
      }
    }
    stop();
  }

  /* After this, on_lost does not begin any more, and one that runs is waited for, except in
   * itself. */
  void end() noexcept
  {
    if (teller_.load() == std::this_thread::get_id())
      return;
    const std::lock_guard<std::mutex> guard(telling_);

    is_over_ = true;
  }

#ifdef __cpp_lib_jthread
  void stop() noexcept { source_.request_stop(); }
  std::stop_token token() const noexcept { return source_.get_token(); }
#else
  void stop() noexcept {}
#endif

 private:
  std::mutex telling_;
  bool is_over_ = false;
  std::atomic<std::thread::id> teller_{};
  std::function<void(const dibs_loss &)> on_lost_;
#ifdef __cpp_lib_jthread
  std::stop_source source_;
#endif
};

/* The library's callback may still run when the release of its hold has returned. So it
 * gets a number, not an address, and finds here whether there is still a receiver. */
class loss_registry {
 public:
  /* Never freed: a callback may come while the program ends. */
  static loss_registry &the()
  {
    static auto *const one = new loss_registry;

    return *one;
  }

  std::uintptr_t add(std::shared_ptr<loss> watched)
  {
    const std::lock_guard<std::mutex> guard(guard_);

    watched_.emplace(++last_, std::move(watched));
    return last_;
  }

  void remove(std::uintptr_t number) noexcept
  {
    const std::lock_guard<std::mutex> guard(guard_);

    watched_.erase(number);
  }

  static void on_lost(dibs_hold *, const dibs_loss *lost, void *data) noexcept
  {
    if (const std::shared_ptr<loss> found = the().find(reinterpret_cast<std::uintptr_t>(data)))
      found->tell(*lost);
  }

 private:
  std::shared_ptr<loss> find(std::uintptr_t number) noexcept
  {
    const std::lock_guard<std::mutex> guard(guard_);
    const auto found = watched_.find(number);

    return found == watched_.end() ? nullptr : found->second;
  }

  std::mutex guard_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<loss>> watched_;
  std::uintptr_t last_ = 0;
};

/* One hold's entry there. Move only; empty without a receiver. */
class loss_watch {
 public:
  loss_watch() noexcept = default;

  explicit loss_watch(const std::function<void(const dibs_loss &)> &on_lost)
  {
#ifndef __cpp_lib_jthread
    if (!on_lost)
      return;
#endif
    loss_ = std::make_shared<loss>(on_lost);
    number_ = loss_registry::the().add(loss_);
  }

  loss_watch(loss_watch &&other) noexcept
      : loss_(std::move(other.loss_)), number_(std::exchange(other.number_, 0))
  {
  }

  loss_watch &operator=(loss_watch &&other) noexcept
  {
    loss_.swap(other.loss_);
    std::swap(number_, other.number_);
    return *this;
  }

  ~loss_watch() { end(DIBS_OK); }

  void watch(dibs_lock_options &options) const noexcept
  {
    if (loss_ == nullptr)
      return;
    options.on_lost = loss_registry::on_lost;
    options.on_lost_data = reinterpret_cast<void *>(number_);
  }

  /* How the release ended: the owner of the token learns of a loss from that too. In a
   * forked child the locks in here may be locked forever; so it does not use them. */
  void end(dibs_status released) noexcept
  {
    if (loss_ == nullptr)
      return;
    if (released != DIBS_ERR_FORKED) {
      loss_registry::the().remove(number_);
      loss_->end();
    }
    if (released == DIBS_LOST || released == DIBS_EXPIRED || released == DIBS_TAKEN)
      loss_->stop();
    loss_.reset();
  }

#ifdef __cpp_lib_jthread
  std::stop_token token() const noexcept
  {
    return loss_ == nullptr ? std::stop_token() : loss_->token();
  }
#endif

 private:
  std::shared_ptr<loss> loss_;
  std::uintptr_t number_ = 0;
};

}  // namespace detail
}  // namespace DIBS_CPP
}  // namespace dibs

#endif
