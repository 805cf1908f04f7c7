-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a hash    ARGV and answers as in shared/page.lua: fields and values
--@include page
return page('HSCAN')
