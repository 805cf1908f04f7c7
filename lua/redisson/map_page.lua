-- SPDX-License-Identifier: MIT
--@function no-writes
-- KEYS 1 a hash    ARGV and answers as shared/page.lua says: field and value in turn
--@include page
return page('HSCAN')
