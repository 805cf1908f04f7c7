/* SPDX-License-Identifier: MIT */
/* dibs/log.hpp - the lines of a client go to a function object; log.h says all the rest. */
#ifndef DIBS_LOG_HPP
#define DIBS_LOG_HPP

#include <functional>
#include <memory>
#include <utility>

#include <dibs/client.hpp>
#include <dibs/log.h>

namespace dibs {
inline namespace DIBS_CPP {

/* Gets one line, which is borrowed until it returns. An exception that leaves it ends the program:
 * std::terminate(). */
using log_function = std::function<void(const dibs_log_line &)>;

namespace detail {
inline void log_call(const dibs_log_line *line, void *data) noexcept
{
  (*static_cast<log_function *>(data))(*line);
}

inline void log_free(void *data) noexcept { delete static_cast<log_function *>(data); }
}  // namespace detail

/* As dibs_client_set_log(): `on_line` replaces what was set before; an empty one: no lines any
 * more. It is destroyed when it cannot run any more. Throws dibs::error; then what was set before
 * stays. */
inline void set_log(const client &of, log_function on_line,
                    const dibs_log_options *options = nullptr)
{
  const dibs_log_callback callback = on_line ? detail::log_call : nullptr;
  auto data = std::make_unique<log_function>(std::move(on_line));

  detail::check(of.get(),
                dibs_client_set_log(of.get(), options, callback, data.release(),
                                    detail::log_free),
                "dibs::set_log");
}

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
