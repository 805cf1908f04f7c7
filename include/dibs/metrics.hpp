/* SPDX-License-Identifier: MIT */
/* dibs/metrics.hpp - the numbers of one client, freed by themselves, and their text; metrics.h says
 * all the rest. Both functions throw dibs::error. */
#ifndef DIBS_METRICS_HPP
#define DIBS_METRICS_HPP

#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include <dibs/client.hpp>
#include <dibs/metrics.h>

namespace dibs {
inline namespace DIBS_CPP {

namespace detail {
struct metrics_delete {
  void operator()(dibs_metrics *read) const noexcept { (void)dibs_metrics_free(read); }
};

/* No exception leaves a callback of C: the text is refused as a whole. */
struct metrics_text {
  std::string text;
  bool has_memory = true;

  static bool add(const char *piece, std::size_t size, void *data) noexcept
  {
    metrics_text *of = static_cast<metrics_text *>(data);

    try {
      of->text.append(piece, size);
    } catch (...) {
      of->has_memory = false;
    }
    return of->has_memory;
  }
};
}  // namespace detail

using metrics_ptr = std::unique_ptr<dibs_metrics, detail::metrics_delete>;

/* As dibs_metrics_read(). */
[[nodiscard]] inline metrics_ptr read_metrics(const client &of)
{
  dibs_metrics *read = nullptr;

  detail::check(of.get(), dibs_metrics_read(of.get(), &read), "dibs::read_metrics");
  return metrics_ptr(read);
}

/* As dibs_metrics_write(), for the page of a program. */
[[nodiscard]] inline std::string write_metrics(const client &of, std::uint32_t flags = 0)
{
  detail::metrics_text out;

  detail::check(of.get(), dibs_metrics_write(of.get(), flags, detail::metrics_text::add, &out),
                "dibs::write_metrics");
  if (!out.has_memory)
    throw std::bad_alloc();
  return out.text;
}

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
