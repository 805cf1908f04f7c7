/* SPDX-License-Identifier: MIT */
/* test/cpp/elsewhere.cpp - a library of the program that hides its symbols. */
#include <dibs/dibs.hpp>

DIBS_API std::error_code timed_out_elsewhere();

std::error_code timed_out_elsewhere()
{
  return {DIBS_TIMED_OUT, dibs::category()};
}
