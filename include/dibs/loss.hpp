/* SPDX-License-Identifier: MIT */
/* dibs/loss.hpp - inside dibs/hold.hpp: from the library's callback to std::function and
 * std::stop_token. Nothing in here is for programs. */
#ifndef DIBS_LOSS_HPP
#define DIBS_LOSS_HPP

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <dibs/error.hpp>
#include <dibs/lock.h>

namespace dibs {
inline namespace DIBS_CPP {
namespace detail {

/* What happens when one hold changes, or is lost. */
class loss {
 public:
  loss(std::function<void(const dibs_loss &)> on_lost,
       std::function<void(const dibs_hold_info &, dibs_change)> on_change)
      : on_lost_(std::move(on_lost)), on_change_(std::move(on_change))
  {
  }

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

  void tell_change(const dibs_hold_info &now, dibs_change why) noexcept
  {
    const std::lock_guard<std::mutex> guard(telling_);

    if (is_over_)
      return;
    teller_ = std::this_thread::get_id();
    on_change_(now, why);
    teller_ = std::thread::id();
  }

  bool wants_changes() const noexcept { return static_cast<bool>(on_change_); }

  /* After this, neither begins any more, and one that runs is waited for, except in itself. */
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
  std::function<void(const dibs_hold_info &, dibs_change)> on_change_;
#ifdef __cpp_lib_jthread
  std::stop_source source_;
#endif
};

/* The receiver of one hold, or of none. The library's callbacks may still run when the release has
 * returned, so the library owns shares of it, too, which on_lost_free and on_change_free end. Move
 * only. */
class loss_watch {
 public:
  loss_watch() noexcept = default;

  loss_watch(const std::function<void(const dibs_loss &)> &on_lost,
             const std::function<void(const dibs_hold_info &, dibs_change)> &on_change)
  {
#ifndef __cpp_lib_jthread
    if (!on_lost && !on_change)
      return;
#endif
    loss_ = std::make_shared<loss>(on_lost, on_change);
  }

  loss_watch(loss_watch &&other) noexcept : loss_(std::move(other.loss_)) {}

  loss_watch &operator=(loss_watch &&other) noexcept
  {
    loss_.swap(other.loss_);
    return *this;
  }

  ~loss_watch() { end(DIBS_OK); }

  /* For one call with these options. */
  void watch(dibs_lock_options &options) const
  {
    if (loss_ == nullptr)
      return;

    auto lost = std::make_unique<share>(loss_);

    if (loss_->wants_changes()) {
      options.on_change_data = new share(loss_);
      options.on_change = on_change;
      options.on_change_free = share_free;
    }
    options.on_lost_data = lost.release();
    options.on_lost = on_lost;
    options.on_lost_free = share_free;
  }

  /* How the release ended: the owner of the token learns of a loss from that too. In a forked
   * child the locks in here may be locked forever, and in a signal handler that interrupted a call
   * an on_lost that runs may wait for that call; so there they are not used. */
  void end(dibs_status released) noexcept
  {
    if (loss_ == nullptr)
      return;
    if (released != DIBS_ERR_FORKED && released != DIBS_ERR_WOULD_BLOCK)
      loss_->end();
    if (dibs_status_is_lost(released))
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
  using share = std::shared_ptr<loss>;

  static void on_lost(dibs_hold *, const dibs_loss *lost, void *data) noexcept
  {
    (*static_cast<share *>(data))->tell(*lost);
  }

  static void on_change(dibs_hold *, const dibs_hold_info *now, dibs_change why,
                        void *data) noexcept
  {
    (*static_cast<share *>(data))->tell_change(*now, why);
  }

  static void share_free(void *data) noexcept { delete static_cast<share *>(data); }

  share loss_;
};

}  // namespace detail
}  // namespace DIBS_CPP
}  // namespace dibs

#endif
