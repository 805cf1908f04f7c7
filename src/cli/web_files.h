/* SPDX-License-Identifier: MIT */
/* cli/web_files.h - the files of the dashboard, which tools/embed.py makes part of the program. */
#ifndef CLI_WEB_FILES_H
#define CLI_WEB_FILES_H

#include <stddef.h>

extern const char web_html[], web_css[], web_js[], web_chart[];
extern const size_t web_html_size, web_css_size, web_js_size;
extern const size_t web_chart_size;    /* 0: built without libjs-chart.js */

#endif
