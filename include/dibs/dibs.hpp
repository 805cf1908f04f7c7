/* SPDX-License-Identifier: MIT */
/* dibs/dibs.hpp - dibs in C++17 and newer: nothing but headers over the C library.
 *
 *   dibs::client client;                           // DIBS_URL, or the private server
 *   dibs::mutex stock(client, "stock");
 *
 *   const std::scoped_lock lock(stock);            // as with any mutex
 *
 *   dibs::hold hold = stock.acquire();             // or: knowing what one has
 *   write(hold.fence());
 *
 * Guide: doc/guide/cpp.md. */
#ifndef DIBS_DIBS_HPP
#define DIBS_DIBS_HPP

#include <dibs/client.hpp>
#include <dibs/coordination.hpp>
#include <dibs/data.hpp>
#include <dibs/dibs.h>
#include <dibs/error.hpp>
#include <dibs/fleet.hpp>
#include <dibs/hold.hpp>
#include <dibs/log.hpp>
#include <dibs/metrics.hpp>
#include <dibs/mutex.hpp>

#endif
