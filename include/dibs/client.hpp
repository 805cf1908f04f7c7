/* SPDX-License-Identifier: MIT */
/* dibs/client.hpp - a client that closes itself. Meant to be shared by all threads. */
#ifndef DIBS_CLIENT_HPP
#define DIBS_CLIENT_HPP

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <dibs/client.h>
#include <dibs/error.hpp>

namespace dibs {
inline namespace DIBS_CPP {
namespace detail {

/* Out of range stays out of range: the library refuses it and says why. */
inline std::int32_t option_ms(std::chrono::milliseconds value) noexcept
{
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  constexpr auto least = std::numeric_limits<std::int32_t>::min();

  if (value.count() > most)
    return most;
  return value.count() < least ? least : static_cast<std::int32_t>(value.count());
}

}  // namespace detail

class client {
 public:
  /* As dibs_open(); throws. Does not wait for the server. */
  explicit client(const char *url = nullptr, const dibs_options *options = nullptr)
  {
    dibs_error why = DIBS_ERROR_INIT;

    if (dibs_open(url, options, &client_, &why) != DIBS_OK)
      throw error(why, "dibs::client");
  }

  explicit client(const std::string &url, const dibs_options *options = nullptr)
      : client(url.c_str(), options)
  {
  }

  /* The same without exceptions: empty unless `ret_status` is DIBS_OK. `ret_error` may be
   * nullptr. */
  [[nodiscard]] static client open(dibs_status &ret_status, const char *url = nullptr,
                                   const dibs_options *options = nullptr,
                                   dibs_error *ret_error = nullptr) noexcept
  {
    dibs_client *opened = nullptr;

    ret_status = dibs_open(url, options, &opened, ret_error);
    return adopt(opened);
  }

  /* Takes over an open client; nullptr: an empty one, as after a move. */
  [[nodiscard]] static client adopt(dibs_client *open_client) noexcept
  {
    return client(adopted{open_client});
  }

  client(client &&other) noexcept : client_(std::exchange(other.client_, nullptr)) {}

  client &operator=(client &&other) noexcept
  {
    if (this != &other) {
      close();
      client_ = std::exchange(other.client_, nullptr);
    }
    return *this;
  }

  ~client() { close(); }

  /* As dibs_close(): releases what is held. Holds may outlive it, and are stale then;
   * mutexes and the like may outlive it too, but must not be used any more. */
  void close() noexcept { client_ = dibs_close(client_); }

  dibs_client *get() const noexcept { return client_; }
  explicit operator bool() const noexcept { return client_ != nullptr; }

  /* The round trip. Throws when there is no server within `wait`, 0: the connect timeout. */
  std::chrono::microseconds ping(std::chrono::milliseconds wait = {}) const
  {
    std::uint64_t took_us = 0;

    detail::check(client_, dibs_ping(client_, detail::option_ms(wait), &took_us),
                  "dibs::client::ping");
    return std::chrono::microseconds(took_us);
  }

  const char *url() const noexcept { return info().url; }
  /* As dibs_full_url(): what a program started by this one needs for the same locks. */
  std::string full_url(bool with_passwords) const
  {
    std::string text(DIBS_URL_SIZE, '\0');

    detail::check(client_, dibs_full_url(client_, with_passwords, &text[0], text.size()),
                  "dibs::client::full_url");
    text.resize(text.find('\0'));
    return text;
  }

  const char *id() const noexcept { return dibs_client_id(client_); }
  bool is_private() const noexcept { return info().is_private != 0; }
  bool is_connected() const noexcept { return dibs_is_connected(client_); }

  /* Of the last call of this thread; see dibs_client_error(). Exceptions carry their own. */
  dibs_error last_error() const noexcept
  {
    dibs_error last = DIBS_ERROR_INIT;

    (void)dibs_client_error(client_, 0, &last);
    return last;
  }

  /* As dibs_client_get_info(); of an empty client zero, and the URL "". */
  dibs_client_info info() const noexcept
  {
    dibs_client_info now = DIBS_CLIENT_INFO_INIT;

    (void)dibs_client_get_info(client_, &now);
    return now;
  }

 private:
  struct adopted {
    dibs_client *open_client;
  };

  explicit client(adopted from) noexcept : client_(from.open_client) {}

  dibs_client *client_ = nullptr;
};

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
