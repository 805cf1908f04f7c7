-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a set    ARGV and answers as in shared/page.lua
--@include page
return page('SSCAN')
