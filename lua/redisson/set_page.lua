-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a set    ARGV and answers as shared/page.lua says
--@include page
return page('SSCAN')
