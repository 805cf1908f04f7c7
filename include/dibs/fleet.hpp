/* SPDX-License-Identifier: MIT */
/* dibs/fleet.hpp - the totals of the fleet and the history, freed by themselves; fleet.h says all
 * the rest. Both functions throw dibs::error. */
#ifndef DIBS_FLEET_HPP
#define DIBS_FLEET_HPP

#include <memory>

#include <dibs/client.hpp>
#include <dibs/fleet.h>

namespace dibs {
inline namespace DIBS_CPP {

namespace detail {
struct fleet_delete {
  void operator()(dibs_fleet *read) const noexcept { (void)dibs_fleet_free(read); }
};
struct history_delete {
  void operator()(dibs_history *read) const noexcept { (void)dibs_history_free(read); }
};
}  // namespace detail

using fleet_ptr = std::unique_ptr<dibs_fleet, detail::fleet_delete>;
using history_ptr = std::unique_ptr<dibs_history, detail::history_delete>;

/* As dibs_fleet_read(). */
[[nodiscard]] inline fleet_ptr read_fleet(const client &of)
{
  dibs_fleet *read = nullptr;

  detail::check(of.get(), dibs_fleet_read(of.get(), &read), "dibs::read_fleet");
  return fleet_ptr(read);
}

/* As dibs_history_read(). */
[[nodiscard]] inline history_ptr read_history(const client &of,
                                              const dibs_history_options *options = nullptr)
{
  dibs_history *read = nullptr;

  detail::check(of.get(), dibs_history_read(of.get(), options, &read), "dibs::read_history");
  return history_ptr(read);
}

}  // namespace DIBS_CPP
}  // namespace dibs

#endif
