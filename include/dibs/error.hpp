/* SPDX-License-Identifier: MIT */
/* dibs/error.hpp - how the C++ classes report faults: an exception, or a dibs_status.
 *
 * Each function that may throw dibs::error has a form beside it that does not, wherever
 * more than a programming error can go wrong. C++17 at least; with C++20 holds have a
 * std::stop_token. The two kinds live in inline namespaces of their own, so that parts of
 * one program may be compiled differently. */
#ifndef DIBS_ERROR_HPP
#define DIBS_ERROR_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "dibs/dibs.hpp wants C++17 or newer; dibs/dibs.h is enough for C and C++11"
#endif

#include <cstring>
#include <string>
#include <system_error>

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#define DIBS_CPP cpp20
#else
#define DIBS_CPP cpp17
#endif

#include <dibs/client.h>
#include <dibs/status.h>

namespace dibs {
inline namespace DIBS_CPP {

namespace detail {

class status_category final : public std::error_category {
 public:
  const char *name() const noexcept override { return "dibs"; }

  std::string message(int status) const override
  {
    const auto value = static_cast<dibs_status>(status);

    return std::string(dibs_status_name(value)) + ", " + dibs_status_text(value);
  }

  std::error_condition default_error_condition(int status) const noexcept override
  {
    switch (status) {
    case DIBS_BUSY: return std::errc::device_or_resource_busy;
    case DIBS_TIMED_OUT: return std::errc::timed_out;
    case DIBS_CANCELLED: return std::errc::operation_canceled;
    case DIBS_WOULD_DEADLOCK: return std::errc::resource_deadlock_would_occur;
    case DIBS_ERR_ARGUMENT: return std::errc::invalid_argument;
    case DIBS_ERR_NO_MEMORY: return std::errc::not_enough_memory;
    case DIBS_ERR_AUTH:
    case DIBS_ERR_DENIED: return std::errc::permission_denied;
    case DIBS_ERR_UNREACHABLE: return std::errc::host_unreachable;
    default: return {status, *this};
    }
  }
};

}  // namespace detail

/* The category of a dibs_status in std::error_code. One for all libraries of the program, whatever
 * they hide: categories are compared by address. */
DIBS_API inline const std::error_category &category() noexcept
{
  static const detail::status_category one;

  return one;
}

/* A call that did not end with DIBS_OK. `code()` compares with std::errc where there is
 * one that means the same: timed_out, resource_deadlock_would_occur, ... */
class error : public std::system_error {
 public:
  /* `what` was tried, by the last call of this thread, which returned `status`: its text comes
   * from dibs_client_error(). `client` may be nullptr: whatever client it was. */
  error(dibs_client *client, dibs_status status, const std::string &what)
      : error(found(client, status), what)
  {
  }

  error(const dibs_error &detail, const std::string &what)
      : std::system_error(static_cast<int>(detail.status), category(), words(detail, what)),
        detail_(detail)
  {
  }

  dibs_status status() const noexcept { return detail_.status; }
  /* The message of the server or the library, "" if the status is sufficient. */
  const char *text() const noexcept { return detail_.text; }
  /* The server's address, or "". */
  const char *node() const noexcept { return detail_.node; }

 private:
  static dibs_error found(dibs_client *client, dibs_status status)
  {
    dibs_error detail = DIBS_ERROR_INIT;

    (void)dibs_client_error(client, 0, &detail);
    if (detail.status != status)
      detail.node[0] = detail.text[0] = 0;   /* another call came between */
    detail.status = status;
    return detail;
  }

  static std::string words(const dibs_error &detail, const std::string &what)
  {
    return detail.text[0] == 0 ? what : what + ": " + detail.text;
  }

  dibs_error detail_;
};

namespace detail {

inline void check(dibs_client *client, dibs_status status, const std::string &what)
{
  if (status != DIBS_OK)
    throw error(client, status, what);
}

/* Of what the library was not asked: dibs_client_error() has the reason of an earlier call. */
[[noreturn]] inline void refuse(const char *text, const std::string &what)
{
  dibs_error why = DIBS_ERROR_INIT;

  why.status = DIBS_ERR_ARGUMENT;
  std::strncpy(why.text, text, sizeof(why.text) - 1);
  throw error(why, what);
}

/* All bytes of a text, for the functions that take any. */
inline dibs_bytes all_of(const std::string &text) noexcept
{
  return dibs_bytes{text.data(), text.size()};
}

/* A name for functions that take a C string: they would cut it at its first zero byte, and use
 * what another name stands for. */
inline std::string c_name(std::string name)
{
  if (std::memchr(name.data(), 0, name.size()) != nullptr)
    refuse("a name with a zero byte in it", name.c_str());
  return name;
}

}  // namespace detail
}  // namespace DIBS_CPP
}  // namespace dibs

#endif
