/* SPDX-License-Identifier: MIT */
/* dibs/adapters/boost_asio.hpp - runs a client in a loop of Boost.Asio, 1.74 or newer:
 * dibs::async_lock(), and with C++20 co_await dibs::lock(). C++17; headers only.
 *
 * One client, opened with DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS, in one loop. Its
 * callbacks run in the loop. Everything here is for one thread at a time: an io_context that one
 * thread runs, or a strand. The adapter watches one descriptor for reading and starts no timer.
 * With DIBS_CLIENT_NO_THREAD, leases are renewed only while the loop runs. */
#ifndef DIBS_ADAPTERS_BOOST_ASIO_HPP
#define DIBS_ADAPTERS_BOOST_ASIO_HPP

#include <cerrno>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <dibs/async.h>
#include <dibs/hold.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace dibs {
inline namespace DIBS_CPP {

/* A client in a loop, from attach() until detach() or the end of this object; either comes before
 * dibs_close(), and may come in a callback of the client. */
class boost_asio {
 public:
  boost_asio() = default;
  boost_asio(const boost_asio &) = delete;
  boost_asio &operator=(const boost_asio &) = delete;
  ~boost_asio() { detach(); }

  /* Runs `client` (borrowed) by `executor`: of an io_context, or a strand. Returns no error, or
   * invalid_argument for a client without a descriptor, or an error of the system. */
  boost::system::error_code attach(dibs_client *client,
                                   const boost::asio::any_io_executor &executor)
  {
    const int fd = dibs_fd(client);

    detach();
    if (fd < 0)
      return boost::asio::error::invalid_argument;
    auto next = std::make_shared<watched>(*this, client, executor);
    const boost::system::error_code fault = next->watch(fd);
    if (fault)
      return fault;
    status_ = DIBS_OK;
    watched_ = std::move(next);
    watched_->wait(watched_);
    return {};
  }

  /* Stops. dibs_close() may come at once. Does nothing when detached. */
  void detach() noexcept
  {
    if (watched_ == nullptr)
      return;
    boost::system::error_code ignored;

    watched_->owner = nullptr;
    watched_->descriptor.close(ignored);
    watched_.reset();
  }

  /* DIBS_OK while attached; otherwise what dibs_process() returned when the adapter stopped:
   * DIBS_ERR_FORKED in a child, _CLOSED, _STALE. */
  dibs_status status() const noexcept { return status_; }

 private:
  /* Survives detach() until Asio has called its handler. */
  struct watched {
    watched(boost_asio &of, dibs_client *c, const boost::asio::any_io_executor &executor)
        : owner(&of), client(c), descriptor(executor)
    {
    }

    /* Asio closes what it is given: a second number of the same descriptor, close-on-exec and
     * above those of stdin, stdout and stderr as the first. */
    boost::system::error_code watch(int fd)
    {
      boost::system::error_code fault;
      const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

      if (own < 0)
        return {errno, boost::system::system_category()};
      descriptor.assign(own, fault);
      if (fault)
        ::close(own);
      return fault;
    }

    static void wait(const std::shared_ptr<watched> &self)
    {
      self->descriptor.async_wait(
        boost::asio::posix::stream_descriptor::wait_read,
        [self](const boost::system::error_code &fault) { ready(self, fault); });
    }

    static void ready(const std::shared_ptr<watched> &self, const boost::system::error_code &fault)
    {
      if (fault || self->owner == nullptr)
        return;
      const dibs_status status = dibs_process(self->client, nullptr);

      if (self->owner == nullptr)
        return;                                /* detached in a callback */
      if (status == DIBS_OK || status == DIBS_ERR_WOULD_BLOCK)
        wait(self);
      else
        self->owner->status_ = status;
    }

    boost_asio *owner;                         /* nullptr: detached */
    dibs_client *client;
    boost::asio::posix::stream_descriptor descriptor;
  };

  std::shared_ptr<watched> watched_;
  dibs_status status_ = DIBS_OK;
};

namespace detail {

/* One request: the library has its address until its callback has run. Its handler then runs by its
 * own executor, else by that of the request. */
template <class Handler>
struct asio_request {
  asio_request(Handler &&h, const boost::asio::any_io_executor &otherwise)
      : handler(std::move(h)),
        work(boost::asio::get_associated_executor(handler, otherwise))
  {
  }

  template <class... Results>
  void finish(Results &&...results)
  {
    auto all = std::make_tuple(std::move(results)...);

    boost::asio::post(work.get_executor(),
                      [h = std::move(handler), given = std::move(all)]() mutable {
                        std::apply(std::move(h), std::move(given));
                      });
  }

  Handler handler;
  boost::asio::executor_work_guard<
    boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>> work;
};

template <class Handler>
struct asio_lock : asio_request<Handler> {
  using asio_request<Handler>::asio_request;

  static void locked(const dibs_error *why, dibs_hold *had, void *data) noexcept
  {
    std::unique_ptr<asio_lock> self(static_cast<asio_lock *>(data));

    self->end(*why, hold_access::make(had, std::move(self->watch)));
  }

  void end(const dibs_error &why, hold &&had)
  {
    std::exception_ptr thrown;

    if (why.status != DIBS_OK && !is_had_by_others(why.status))
      thrown = std::make_exception_ptr(error(why, name));
    this->finish(std::move(thrown), std::move(had));
  }

  loss_watch watch;
  std::string name;
};

template <class Handler>
struct asio_release : asio_request<Handler> {
  using asio_request<Handler>::asio_request;

  static void released(const dibs_error *why, void *data) noexcept
  {
    std::unique_ptr<asio_release> self(static_cast<asio_release *>(data));

    self->end(why->status);
  }

  void end(dibs_status status)
  {
    hold_access::end(had, status);
    this->finish(std::move(status));
  }

  hold had;
};

}  // namespace detail

/* Takes the lock `name` of `of`, which an adapter runs; waits as long as `wait`, at most
 * DIBS_MS_MAX or `forever`. `token` is of Asio, with the signature (std::exception_ptr,
 * dibs::hold). The hold is empty when others had the lock for all of `wait`; every other end is
 * a dibs::error, also DIBS_CANCELLED after dibs_cancel() of options.cancel, and DIBS_ERR_CLOSED
 * in dibs_close(), which must come before the end of the io_context. The handler never runs
 * inside this call. Without options.owner there is no re-entry: a lock that this client has is
 * waited for, too. The destructor of the hold waits for the server's reply; async_release()
 * does not. */
template <class Token>
auto async_lock(client &of, const boost::asio::any_io_executor &executor, std::string name,
                longest_wait wait, lock_options options, Token &&token)
{
  return boost::asio::async_initiate<Token, void(std::exception_ptr, hold)>(
    [executor](auto handler, dibs_client *c, std::string of_name, longest_wait limit,
               const lock_options &chosen) {
      using request = detail::asio_lock<decltype(handler)>;
      auto self = std::make_unique<request>(std::move(handler), executor);
      dibs_lock_options plain = detail::c_options(chosen);

      self->name = std::move(of_name);
      self->watch = detail::loss_watch(chosen.on_lost, chosen.on_change);
      self->watch.watch(plain);
      plain.wait_ms = limit.ms();
      const dibs_bytes text = detail::all_of(self->name);
      const dibs_target target = detail::target_of(DIBS_TARGET_LOCK, &text);
      const dibs_status status =
        dibs_acquire_async(c, &target, &plain, request::locked, self.get(), nullptr);

      if (status == DIBS_OK) {
        (void)self.release();
        return;
      }
      dibs_error why = DIBS_ERROR_INIT;
      (void)dibs_client_error(c, 0, &why);
      why.status = status;
      self->end(why, hold());
    },
    token, of.get(), std::move(name), wait, std::move(options));
}

/* Releases `had`, and completes with what hold::release() returns. `token` is of Asio, with the
 * signature (dibs_status). */
template <class Token>
auto async_release(hold had, const boost::asio::any_io_executor &executor, Token &&token)
{
  return boost::asio::async_initiate<Token, void(dibs_status)>(
    [executor](auto handler, hold released) {
      using request = detail::asio_release<decltype(handler)>;
      auto self = std::make_unique<request>(std::move(handler), executor);

      self->had = std::move(released);
      const dibs_status status = dibs_release_async(detail::hold_access::give(self->had),
                                                    request::released, self.get());
      if (status == DIBS_OK)
        (void)self.release();
      else
        self->end(status);
    },
    token, std::move(had));
}

#ifdef BOOST_ASIO_HAS_CO_AWAIT
/* co_await dibs::lock(client, "name"): async_lock() in the executor of the coroutine. Give
 * `options` a name: GCC 12 frees a dibs::lock_options{} written within co_await twice. */
inline boost::asio::awaitable<hold> lock(client &of, std::string name, longest_wait wait,
                                         const lock_options &options)
{
  return async_lock(of, boost::asio::system_executor(), std::move(name), wait, options,
                    boost::asio::use_awaitable);
}

inline boost::asio::awaitable<hold> lock(client &of, std::string name,
                                         longest_wait wait = forever)
{
  return lock(of, std::move(name), wait, lock_options());
}

/* co_await dibs::release(std::move(hold)): async_release() in the executor of the coroutine. */
inline boost::asio::awaitable<dibs_status> release(hold had)
{
  return async_release(std::move(had), boost::asio::system_executor(),
                       boost::asio::use_awaitable);
}
#endif

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
