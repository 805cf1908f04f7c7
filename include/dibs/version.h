/* SPDX-License-Identifier: MIT */
/* dibs/version.h - the version this program was compiled with, and the one it runs with. */
#ifndef DIBS_VERSION_H
#define DIBS_VERSION_H

#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIBS_VERSION_MAJOR 0
#define DIBS_VERSION_MINOR 6
#define DIBS_VERSION_PATCH 0
#define DIBS_VERSION "0.6.0"

/* Returns the version of the library in use, "MAJOR.MINOR.PATCH"; a constant string.
 *
 * Thread   any; also in a signal handler.
 * Since    0.1 */
DIBS_API const char *dibs_version(void);

#ifdef __cplusplus
}
#endif

#endif
